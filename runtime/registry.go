package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import "tvmgo/internal/fault"

// Global returns the global function of a name, which the caller closes. The error is ErrNotFound if there is none.
// Global functions are shared with C and with loaded modules.
func Global(name string) (*Function, error) {
	ptr, n := cText(name)
	o := object(uintptr(cPointer(C.tvmgo_global_get(ptr, n))))
	if o == 0 {
		return nil, fault.New("get global function", ErrNotFound, "there is no global function %q%s",
			name, suggest(name, GlobalNames()))
	}
	return newFunction(o), nil
}

// RegisterGlobal makes f a global function, which C and loaded modules find by name. The error is ErrFailed for a name
// that is in use unless override is set, and ErrInvalidArgument for an empty name. The registry keeps its own reference
// to f, which you may close.
func RegisterGlobal(name string, f *Function, override bool) error {
	const op = "register global function"
	if f == nil || !f.ref.acquire() {
		return fault.IsClosed(op, "function")
	}
	defer f.ref.release()
	ptr, n := cText(name)
	_, err := result(op, C.tvmgo_bridge_global_set(ptr, n, C.uintptr_t(f.ref.obj), cBool(override)))
	return err
}

// RemoveGlobal removes a global function, and reports whether there was one. Functions that were looked up before keep
// working.
func RemoveGlobal(name string) bool {
	ptr, n := cText(name)
	return C.tvmgo_global_remove(ptr, n) != 0
}

// GlobalNames lists the names of all global functions, sorted.
func GlobalNames() []string {
	o := object(uintptr(cPointer(C.tvmgo_global_names())))
	if o == 0 {
		return nil
	}
	return o.takeStrings()
}
