// Package target holds targets as objects of the C core, and each thread's current targets. Its contract is in
// target.h.
package target

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/bridge"
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/record"
)
