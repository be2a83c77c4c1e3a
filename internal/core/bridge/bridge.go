// Package bridge holds what Go calls in the C core, each with one cgo call. Its contract is in bridge.h.
package bridge

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/device"
	_ "tvmgo/internal/core/loader"
	_ "tvmgo/internal/core/object"
)
