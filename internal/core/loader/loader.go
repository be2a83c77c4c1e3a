// Package loader opens shared libraries for their functions, and holds modules of the C core. Its contract is in
// loader.h.
package loader

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/container"
	_ "tvmgo/internal/core/device"
	_ "tvmgo/internal/core/object"
	_ "tvmgo/internal/core/parallel"
)
