// Package parallel holds the threads behind parallel launches of generated code. Its contract is in parallel.h.
package parallel

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/object"
)
