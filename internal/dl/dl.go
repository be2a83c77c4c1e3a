// Package dl opens the driver libraries of vendors when they are first needed, and holds the functions that the Go
// bindings and this project's own C are linked against instead. If a library is missing, those functions return an
// error code of their API, and this package says why and how to correct it. They are compiled with the build tag of
// their API.
//
// *_gen.c and the empty archives are written by build/gen.
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

	_ "tvmgo/build/include" // the headers, so that vendoring takes them along
)

// MissingError says that a vendor's library could not be opened, or not be used.
type MissingError struct {
	API   string // "OpenCL"
	Cause string
	Cure  string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not usable: %s: %s", e.API, e.Cause, e.Cure)
}

// open opens a library, if that has not been done; the answer is the same each time.
func open(lib *C.tvmgo_dl_library) error {
	if C.tvmgo_dl_open(lib) != 0 {
		return nil
	}
	return &MissingError{API: C.GoString(lib.title), Cause: C.GoString(&lib.why[0]), Cure: C.GoString(lib.cure)}
}

// path is the file that was opened; "" before and without success.
func path(lib *C.tvmgo_dl_library) string {
	if C.tvmgo_dl_is_open(lib) == 0 {
		return ""
	}
	return C.GoString(&lib.path[0])
}

// lacking are the functions of this project's specification that a library, which is open, does not have: it is older.
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
