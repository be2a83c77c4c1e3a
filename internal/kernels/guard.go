package kernels

/*
#include <stdlib.h>
#include "kernels.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"unsafe"

	"tvmgo/runtime"
)

// Guard runs f for C and raises its error or panic on the calling thread: 0, or -1.
func Guard(f func() error) (rc int) {
	defer func() {
		if v := recover(); v != nil {
			rc = raise("InternalError", fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	err := f()
	if err == nil {
		return 0
	}
	code := "RuntimeError"
	var e *runtime.Error
	if errors.As(err, &e) && e.Code != "" {
		code = e.Code
	}
	return raise(code, err.Error())
}

func raise(code, text string) int {
	kind := C.CString(code)
	defer C.free(unsafe.Pointer(kind))
	return int(C.tvmgo_raise_text(kind, (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))))
}
