// Package device holds the C core's table of devices, with streams, memory, tensors, workspaces and recorded graphs.
// Its contract is in device.h.
package device

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

//go:generate go run ./devicenames

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/container"
	_ "tvmgo/internal/core/object"
	_ "tvmgo/internal/core/profile"
)
