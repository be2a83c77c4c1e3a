// Package record holds reflected fields of objects, and records, in the C core. Its contract is in record.h.
package record

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/container"
	_ "tvmgo/internal/core/object"
)
