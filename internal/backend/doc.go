// Package backend has the C code that device packages share, apart from kernels (package internal/kernels): the
// declarations of the functions that a device implements, counters of memory, the list of page-locked memory, errors
// that all devices report with the same text (all in backend.h), and handles for devices whose memory has no address
// (handle.h). It is for the devices of this repository. A device outside of it needs only tvmgo/device_api.h.
package backend

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../core -I${SRCDIR}/../../include
*/
import "C"

import _ "tvmgo/internal/core" // defines the functions that the C files call
