// Package backend has the C that the packages of devices share, apart from kernels (package internal/kernels): the list
// of functions that a device implements (backend.h), counters of memory, page-locked memory, errors that all devices
// report alike, and handles for devices whose memory has no address (handle.h). It is for devices of this module: a
// device from outside needs tvmgo/device_api.h alone.
package backend

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../core -I${SRCDIR}/../../include
*/
import "C"

import _ "tvmgo/internal/core" // what the C files call
