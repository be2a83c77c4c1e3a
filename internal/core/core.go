// Package core is the C core that every program of this module links. It imports the packages that make it up, each
// with a contract in its own header, and handles forks. It has no Go API; package runtime is the one above it.
package core

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR} -I${SRCDIR}/../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/bridge"
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/container"
	_ "tvmgo/internal/core/device"
	_ "tvmgo/internal/core/executor"
	_ "tvmgo/internal/core/loader"
	_ "tvmgo/internal/core/object"
	_ "tvmgo/internal/core/parallel"
	_ "tvmgo/internal/core/profile"
	_ "tvmgo/internal/core/record"
	_ "tvmgo/internal/core/target"
	_ "tvmgo/internal/core/vm"
)
