package runtime

/*
#include "bridge/bridge.h"
#include "call/deferred.h"
*/
import "C"

import (
	"os"
	"strings"
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
			f = missingBody(C.GoString(name), C.GoString(provider))
		}
		return callPacked(PackedFunc(f), unsafe.Slice((*anyValue)(unsafe.Pointer(args)), int(n)),
			(*anyValue)(unsafe.Pointer(out)))
	})
}

// missingBody returns the body of a function whose package is not linked. That of a loader first opens the file, so
// that a path that is wrong is not an error of the program.
func missingBody(name, provider string) globals.Function {
	return func(args ...any) (any, error) {
		if path, isText := append(args, nil)[0].(string); isText && strings.HasPrefix(name, "ffi.Module.load_from_file.") {
			file, err := os.Open(path)
			if err != nil {
				return nil, fault.Wrap("load "+path, ErrNotFound, err)
			}
			file.Close()
		}
		return nil, fault.New(name, ErrNotSupported, "this program has no body for it: import %s", provider)
	}
}
