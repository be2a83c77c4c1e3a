package dl

/*
#include <stdlib.h>
#include "dl.h"
*/
import "C"

import (
	"errors"
	"unsafe"
)

// Handle is an open library whose name was found at run time. Other libraries do not see its symbols (RTLD_LOCAL).
type Handle struct {
	at   unsafe.Pointer
	path string
}

// OpenFile opens a library, which is given by a path, or by a name that the dynamic linker searches for. The error
// contains the linker's message. OpenFile restores signal handlers that the library's constructors change.
func OpenFile(name string) (*Handle, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var path, why [4096]C.char
	at := C.tvmgo_dl_handle(text, &path[0], C.size_t(len(path)), &why[0], C.size_t(len(why)))
	if at == nil {
		return nil, errors.New(C.GoString(&why[0]))
	}
	return &Handle{at, C.GoString(&path[0])}, nil
}

// Path returns the path of the file that the linker found.
func (h *Handle) Path() string { return h.path }

// Symbol returns the address of a symbol; nil when the library does not have it.
func (h *Handle) Symbol(name string) unsafe.Pointer {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return C.tvmgo_dl_address(h.at, text)
}

// Close closes the library. Its addresses must not be used afterwards.
func (h *Handle) Close() { C.tvmgo_dl_drop(h.at) }

// Quietly calls f and then restores the program's signal handlers, which a vendor's code in f may replace.
func Quietly(f func()) {
	C.tvmgo_dl_quiet_begin()
	defer C.tvmgo_dl_quiet_end()
	f()
}
