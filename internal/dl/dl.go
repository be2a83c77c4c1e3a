// Package dl opens the driver libraries of vendors when they are first needed. It contains a function for each function
// of the APIs, with which the Go bindings and this project's C code are linked instead of the libraries. If a library
// is missing, these functions return an error code of their API, and MissingError has the cause and a remedy. The
// functions of an API are compiled with the API's build tag.
//
// build/gen writes *_gen.c and the empty archives.
package dl

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../build/include
#cgo LDFLAGS: -L${SRCDIR} -ldl -lpthread
#include "dl.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	_ "tvmgo/build/include" // the headers, so that "go mod vendor" copies them
)

// MissingError is the error when a vendor's library cannot be opened, or cannot be used.
type MissingError struct {
	API   string // "OpenCL"
	Cause string
	Cure  string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not usable: %s: %s", e.API, e.Cause, e.Cure)
}

// open opens a library if no call has tried to open it. All calls return the same result.
func open(lib *C.tvmgo_dl_library) error {
	if C.tvmgo_dl_open(lib) != 0 {
		return nil
	}
	return &MissingError{API: C.GoString(lib.title), Cause: C.GoString(&lib.why[0]), Cure: C.GoString(lib.cure)}
}

// path returns the path of an open library; "" when it is not open.
func path(lib *C.tvmgo_dl_library) string {
	if C.tvmgo_dl_is_open(lib) == 0 {
		return ""
	}
	return C.GoString(&lib.path[0])
}

// lacking returns the functions that an open library does not have, because it is older than the specification from
// which *_gen.c is generated.
func lacking(lib *C.tvmgo_dl_library) []string {
	if C.tvmgo_dl_is_open(lib) == 0 {
		return nil
	}
	var names []string
	for _, s := range unsafe.Slice(lib.symbols, lib.num_symbols) {
		if *s.slot == nil {
			names = append(names, C.GoString(s.name))
		}
	}
	return names
}
