package kernels

/*
#include <stdlib.h>
#include "kernels.h"
*/
import "C"

import (
	"unsafe"

	"tvmgo/internal/gopanic"
	"tvmgo/runtime"
)

// Guard runs f for a caller in C. It returns 0, or raises f's error or panic on the calling thread and returns -1.
func Guard(f func() error) (rc int) {
	defer func() {
		if v := recover(); v != nil {
			p := gopanic.New(v)
			rc = raise("InternalError", p.Error(), p.Stack)
		}
	}()
	err := f()
	if err == nil {
		return 0
	}
	return raise(runtime.CodeOf(err), err.Error(), "")
}

func raise(code, text, backtrace string) int {
	kind := C.CString(code)
	defer C.free(unsafe.Pointer(kind))
	return int(C.tvmgo_raise_text(kind, (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)),
		(*C.char)(unsafe.Pointer(unsafe.StringData(backtrace))), C.size_t(len(backtrace))))
}
