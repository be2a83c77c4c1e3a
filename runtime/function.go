package runtime

/*
#include "bridge.h"
*/
import "C"

import (
	goruntime "runtime"
	"unsafe"
)

// Function is a function of a module, a global function, or a Go function that C can call. It is
// immutable and safe for use by many goroutines at once.
//
// It keeps the module it came from alive. Close gives it up; calls in progress end normally.
type Function struct{ ref *ref }

func newFunction(o object) *Function {
	f := &Function{ref: &ref{obj: o}}
	watch(f, f.ref)
	return f
}

// FunctionFromHandle takes over a function of the C ABI, a TVMFFIObjectHandle: the caller's reference
// becomes the Function's.
func FunctionFromHandle(handle unsafe.Pointer) (*Function, error) {
	o := object(uintptr(handle))
	if o == 0 || o.typeIndex() != indexFunction {
		return nil, fail("take function", ErrInvalidArgument, "the handle %p is no function", handle)
	}
	return newFunction(o), nil
}

// Close gives the function up. Closing twice is fine.
func (f *Function) Close() error {
	if f != nil {
		f.ref.close()
	}
	return nil
}

// Call calls the function on the default stream of its devices and returns its result: nil, bool,
// int64, float64, string, []byte, dlpack.DataType, dlpack.Device, Shape, []any, Map, Ptr, error,
// *Tensor, *Function, *Module, *target.Target, *target.Kind or *Object. Arguments are of the same types, and of Go's other numbers.
// Generated kernels take their outputs as last arguments.
//
// A call that has begun cannot be cancelled: code of the function runs to its end on the calling thread. Work that it queues on a
// stream goes on by itself, and Stream.Sync takes a context.
//
// Results that refer to objects are the caller's to close. The error of the function itself is an
// *Error with its kind and message; errors of Go functions below it are found by errors.Is and As.
func (f *Function) Call(args ...any) (any, error) {
	return f.CallOn(nil, args...)
}

// CallOn is Call with the work queued on a stream: the stream's device is active and the stream
// current for this call alone. A nil stream leaves the defaults.
func (f *Function) CallOn(s *Stream, args ...any) (any, error) {
	const op = "call function"
	if f == nil || !f.ref.acquire() {
		return nil, closedError(op, "function")
	}
	defer f.ref.release()
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	var p packer
	var space [8]anyValue
	p.vals = space[:0]
	defer p.release()
	if err := p.addAll(op, args); err != nil {
		return nil, err
	}
	v, err := anyResult(op, C.tvmgo_bridge_call(C.uintptr_t(f.ref.obj), p.views(), C.int32_t(len(p.vals)), place))
	goruntime.KeepAlive(args)
	if err != nil {
		return nil, err
	}
	return v.take()
}

// Bound is a call with its arguments packed once. Calling it costs one passage into C and allocates
// nothing. It belongs to one goroutine at a time; make one for each.
type Bound struct {
	c      *C.tvmgo_bound
	handle C.uintptr_t // c, in the form that cgo neither checks nor escapes; 0 = closed
	ref    *boundRef
}

type boundRef struct {
	handle C.uintptr_t
	stream *Stream
}

// Bind packs the arguments of a call, which it keeps alive: closing a tensor afterwards does not
// harm it. Close gives them up.
func (f *Function) Bind(args ...any) (*Bound, error) { return f.BindOn(nil, args...) }

// BindOn is Bind for calls on a stream, which must not be closed before the bound call.
func (f *Function) BindOn(s *Stream, args ...any) (*Bound, error) {
	const op = "bind function"
	if f == nil || !f.ref.acquire() {
		return nil, closedError(op, "function")
	}
	defer f.ref.release()
	place, err := s.enter(op)
	if err != nil {
		return nil, err
	}
	var p packer
	defer p.release()
	if err := p.addAll(op, args); err != nil {
		s.leave()
		return nil, err
	}
	o, err := result(op, C.tvmgo_bound_new(C.uintptr_t(f.ref.obj), p.views(), C.int32_t(len(p.vals)), place))
	if err != nil {
		s.leave()
		return nil, err
	}
	b := &Bound{c: (*C.tvmgo_bound)(o.pointer()), handle: C.uintptr_t(o)}
	b.ref = &boundRef{handle: b.handle, stream: s}
	goruntime.AddCleanup(b, func(r *boundRef) { r.free() }, b.ref)
	return b, nil
}

func (r *boundRef) free() {
	if r.handle != 0 {
		C.tvmgo_bound_free(r.handle)
		r.handle = 0
		r.stream.leave()
	}
}

// Call runs the bound call.
func (b *Bound) Call() error {
	if b == nil || b.handle == 0 {
		return closedError("call function", "bound call")
	}
	rc := C.tvmgo_bound_call(b.handle)
	var err error
	if rc != 0 {
		err = b.takeError()
	}
	goruntime.KeepAlive(b)
	return err
}

func (b *Bound) takeError() error {
	o := object(uintptr(unsafe.Pointer(b.c.err)))
	b.c.err = nil
	return takeError("call function", o)
}

// Result is what the last successful Call returned, of the types that Function.Call returns.
func (b *Bound) Result() (any, error) {
	if b == nil || b.handle == 0 {
		return nil, closedError("read result", "bound call")
	}
	v := *(*anyValue)(unsafe.Pointer(&b.c.result))
	if v.index >= indexObject {
		object(v.bits).retain()
	}
	goruntime.KeepAlive(b)
	return v.take()
}

// Close gives the arguments up. Closing twice is fine.
func (b *Bound) Close() error {
	if b != nil {
		b.handle = 0
		b.ref.free()
	}
	return nil
}
