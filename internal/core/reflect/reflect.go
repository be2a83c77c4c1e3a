// Package reflect holds operations on whole values of the C core: text, order, copy, comparison, visits, JSON. Its
// contract is in reflect.h. A build with the tag noreflect leaves it out.
package reflect

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/container"
	_ "tvmgo/internal/core/device"
	_ "tvmgo/internal/core/object"
	_ "tvmgo/internal/core/record"
	_ "tvmgo/internal/core/reflect/names"
)
