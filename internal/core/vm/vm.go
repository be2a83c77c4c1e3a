// Package vm is the virtual machine for executables of TVM's Relax compiler. Its contract is in vm.h.
package vm

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
)
