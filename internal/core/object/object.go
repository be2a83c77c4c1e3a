// Package object holds the base of the C core: counted objects, values, types, errors, and the state of a thread. Its
// contract is in object.h.
package object

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
#cgo LDFLAGS: -ldl -lpthread
*/
import "C"

import _ "tvmgo/include" // the headers, so that vendoring takes them along
