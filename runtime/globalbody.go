package runtime

/*
#include "bridge/bridge.h"
#include "call/deferred.h"
*/
import "C"

import (
	"unsafe"

	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
)

func init() {
	globals.Declared = func(name string) bool {
		text, n := cText(name)
		return C.tvmgo_deferred_is_declared(text, n) != 0
	}
}

// tvmgoCallGlobal is the body of global functions that another package implements. C registers their names, and a call
// from C waits for Go's initialisation, so by then it is known whether the package is linked.
//
//export tvmgoCallGlobal
func tvmgoCallGlobal(name, provider *C.char, args *C.TVMFFIAny, n C.int32_t, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		f := globals.Get(C.GoString(name))
		if f == nil {
			return fault.New(C.GoString(name), ErrNotSupported, "this program has no body for it: import %s",
				C.GoString(provider))
		}
		return callPacked(PackedFunc(f), unsafe.Slice((*anyValue)(unsafe.Pointer(args)), int(n)),
			(*anyValue)(unsafe.Pointer(out)))
	})
}
