// Package container holds maps, lists and big integers of the C core, and hash and equality of values as keys. Its
// contract is in container.h.
package container

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/object"
)
