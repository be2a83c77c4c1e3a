// Package absent stands in for package reflect of the C core in a build with the tag noreflect. Its contract is in
// absent.h.
package absent

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../.. -I${SRCDIR}/../../../../include
*/
import "C"

import (
	_ "tvmgo/internal/core/call"
	_ "tvmgo/internal/core/reflect/names"
)
