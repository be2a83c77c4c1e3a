// Package executor runs the graphs of TVM's graph executor in the C core. Its contract is in executor.h.
package executor

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/device"
	_ "tvmgo/internal/core/loader"
	_ "tvmgo/internal/core/object"
	_ "tvmgo/internal/core/profile"
	_ "tvmgo/internal/core/vm"
)
