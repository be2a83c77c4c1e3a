// Package cpu implements the device interface for the CPU. Package runtime imports it: the CPU is the device that
// always works.
//
// Its memory is aligned to 64 bytes; it has one stream, NULL, which is always done; its workspaces
// belong to a thread and cost a few nanoseconds. All of it is C, registered before any Go code
// runs, because C programs may call before Go has started.
package cpu

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core -I${SRCDIR}/../../include
*/
import "C"

import _ "tvmgo/internal/core" // the core that registers it
