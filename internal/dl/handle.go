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

// Handle is a library that was opened by a name found at run time. Its symbols stay its own (RTLD_LOCAL).
type Handle struct {
	at   unsafe.Pointer
	path string
}

// OpenFile opens a library: a path, or a name that the dynamic linker looks for. The error has the linker's words.
// Handlers of signals that the library's constructors set are put back.
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

// Path is the file, as the linker found it.
func (h *Handle) Path() string { return h.path }

// Symbol is an address in the library; nil when it has no symbol of this name.
func (h *Handle) Symbol(name string) unsafe.Pointer {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return C.tvmgo_dl_address(h.at, text)
}

// Close gives a library back that turned out to be the wrong one. No address of it may be used any more.
func (h *Handle) Close() { C.tvmgo_dl_drop(h.at) }

// Quietly calls f, in which code of a vendor may replace handlers of signals; those of the program are in force
// afterwards.
func Quietly(f func()) {
	C.tvmgo_dl_quiet_begin()
	defer C.tvmgo_dl_quiet_end()
	f()
}
