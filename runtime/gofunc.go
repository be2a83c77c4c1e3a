package runtime

/*
#include "bridge/bridge.h"

int tvmgoCallGo(void* self, TVMFFIAny* args, int32_t n, TVMFFIAny* result);
void tvmgoReleaseHandle(void* handle);

static inline int tvmgo_go_call(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
	if (tvmgo_enter_go("a function written in Go") != 0) return -1;
	tvmgo_thread_get()->in_go++;
	int rc = tvmgoCallGo(self, (TVMFFIAny*)args, n, result);
	tvmgo_thread_get()->in_go--;
	return rc;
}

static inline void tvmgo_go_release(void* handle) {
	if (tvmgo_can_enter_go()) tvmgoReleaseHandle(handle);
}

static inline tvmgo_ret tvmgo_go_function(uintptr_t handle) {
	tvmgo_ret r = {0, 0};
	TVMFFIObjectHandle f = NULL;
	if (TVMFFIFunctionCreate((void*)handle, tvmgo_go_call, tvmgo_go_release, &f) != 0)
		r.err = (uintptr_t)tvmgo_error_take();
	r.value = (uintptr_t)f;
	return r;
}
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/raise"
	"tvmgo/internal/value"
)

// PackedFunc is a Go function that C and generated code can call.
//
// Its arguments are valid until it returns; objects among them are closed then. To keep a tensor, copy it. The result
// has one of the types that Function.Call takes, and must be open. The caller gets its own reference to the result, so
// you cannot close a tensor that you made for the result: the garbage collector frees it. The caller gets an error or a
// panic as its error. For a panic, the message is one line and Backtrace has the stack.
//
// Do not call runtime.Goexit in it, as FailNow of package testing does: the goroutine ends, and objects that its
// callers in C hold are never released.
type PackedFunc func(args ...any) (any, error)

// NewFunction makes a function from a Go function, which any thread, and many at once, may call. The error for a nil f
// is ErrInvalidArgument. The caller closes the function.
func NewFunction(f PackedFunc) (*Function, error) {
	if f == nil {
		return nil, fault.New("make function", ErrInvalidArgument, "the Go function is nil")
	}
	return newRawFunction(func(args []anyValue, out *anyValue) error {
		return callPacked(f, args, out)
	})
}

// rawFunc works on the values of the C ABI: args are borrowed, *out becomes an owned value.
type rawFunc func(args []anyValue, out *anyValue) error

func newRawFunction(f rawFunc) (*Function, error) {
	h := cgo.NewHandle(f)
	o, err := result("make function", C.tvmgo_go_function(C.uintptr_t(h)))
	if err != nil {
		h.Delete()
		return nil, err
	}
	return newFunction(o), nil
}

func callPacked(f PackedFunc, vals []anyValue, out *anyValue) error {
	args := make([]any, 0, len(vals))
	defer func() { value.CloseAll(args) }()
	for _, v := range vals {
		g, err := v.borrowed()
		if err != nil {
			return err
		}
		args = append(args, g)
	}
	r, err := f(args...)
	if err != nil {
		return err
	}
	if owned, ok := r.(globals.Owned); ok {
		defer value.Close(owned.Value)
		r = owned.Value
	}
	return giveValue(r, out)
}

// borrowed converts a borrowed value of any kind to a Go value with its own reference.
func (v anyValue) borrowed() (any, error) {
	if v.bits == 0 && (v.index >= indexObject || v.index == indexByteArray || v.index == indexDLTensor) {
		return nil, fault.New("", ErrInvalidArgument, "a value of type index %d is a NULL pointer", v.index)
	}
	if v.index >= indexObject {
		object(v.bits).retain()
	}
	return v.take()
}

// giveValue converts a Go value to an owned value.
func giveValue(g any, out *anyValue) error {
	var p packer
	defer p.release()
	if err := p.add(g); err != nil {
		return fault.New("return value", ErrInvalidArgument, "%v", err)
	}
	*out = p.vals[0]
	if out.index >= indexObject {
		object(out.bits).retain()
	}
	return nil
}

// guard runs f for C, and raises its error or panic.
func guard(f func() error) C.int { return C.int(raise.Guard(f)) }

//export tvmgoCallGo
func tvmgoCallGo(self unsafe.Pointer, args *C.TVMFFIAny, n C.int32_t, out *C.TVMFFIAny) C.int {
	return guard(func() error {
		f := cgo.Handle(uintptr(self)).Value().(rawFunc)
		return f(unsafe.Slice((*anyValue)(unsafe.Pointer(args)), int(n)), (*anyValue)(unsafe.Pointer(out)))
	})
}
