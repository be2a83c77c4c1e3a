// Package cpu implements the device interface for the CPU. Package runtime imports it, so that the CPU is always
// available.
//
// Its memory is aligned to 64 bytes. Its only stream is NULL, whose work is done when a call returns. Each thread has
// its own pool of workspaces, from which an allocation takes a few nanoseconds. The device is written in C and
// registered before any Go code runs, because C programs may call it before Go has started.
package cpu

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core -I${SRCDIR}/../../include
*/
import "C"

import _ "tvmgo/internal/core" // defines the functions that device.c calls
