package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	goruntime "runtime"
	"unsafe"

	"tvmgo/internal/fault"
	"tvmgo/internal/raise"
)

// Function is a function of a module, a global function, or a Go function that C can call. It is immutable and safe for
// use by many goroutines at once. It keeps its module alive until Close.
type Function struct{ ref *ref }

func newFunction(o object) *Function {
	f := &Function{ref: &ref{obj: o}}
	watch(f, f.ref)
	return f
}

// FunctionFromHandle takes over the caller's reference to a function of the C ABI (TVMFFIObjectHandle). The error for a
// handle of another type is ErrInvalidArgument; the caller then still owns the handle.
func FunctionFromHandle(handle unsafe.Pointer) (*Function, error) {
	o := object(uintptr(handle))
	if o == 0 || o.typeIndex() != indexFunction {
		return nil, fault.New("take function", ErrInvalidArgument, "the handle %p is no function", handle)
	}
	return newFunction(o), nil
}

// Close releases the function; calls in progress end normally. Closing twice is fine.
func (f *Function) Close() error {
	if f != nil {
		f.ref.close()
	}
	return nil
}

// Call calls the function on the default streams and returns its result: nil, bool, int64, float64, string, []byte,
// dlpack.DataType, dlpack.Device, Shape, []any, Map, Ptr, error, *Tensor, *Function, *Module, *target.Target,
// *target.Kind or *Object. Arguments have the same types, or any other numeric type of Go; the error for another type
// is ErrInvalidArgument. Generated kernels take their outputs as the last arguments. The caller closes results that are
// objects.
//
// A call that has begun cannot be canceled: the function runs to its end on the calling thread. Work that it queued on
// a stream continues after the call; Stream.Sync takes a context.
//
// An error of the function itself is an *Error with its kind and message. If a Go function returned it, errors.Is and
// errors.As find that error too.
func (f *Function) Call(args ...any) (any, error) {
	return f.CallOn(nil, args...)
}

// CallOn is Call with the work queued on a stream. The stream is the current one of its device for this call alone. A
// nil stream means the default streams.
func (f *Function) CallOn(s *Stream, args ...any) (any, error) {
	const op = "call function"
	if f == nil || !f.ref.acquire() {
		return nil, fault.IsClosed(op, "function")
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

// Bound is a call whose arguments are packed once. Each Call is one cgo call and allocates nothing. Only one goroutine
// at a time may use it; make one for each.
type Bound struct {
	c      *C.tvmgo_bound
	handle C.uintptr_t // the address of c, as a uintptr so that cgo does not check it; 0 = closed
	ref    *boundRef
}

type boundRef struct {
	handle C.uintptr_t
	stream *Stream
}

// Bind packs the arguments of a call and keeps them alive until Close: you may close a tensor afterwards. Elements that
// you change in between are seen by the next Call. Arguments have the types that Call takes.
func (f *Function) Bind(args ...any) (*Bound, error) { return f.BindOn(nil, args...) }

// BindOn is Bind for calls on a stream. The stream must not be closed before the bound call is.
func (f *Function) BindOn(s *Stream, args ...any) (*Bound, error) {
	const op = "bind function"
	if f == nil || !f.ref.acquire() {
		return nil, fault.IsClosed(op, "function")
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

// Call runs the bound call. Its errors are those of Function.Call.
func (b *Bound) Call() error {
	if b == nil || b.handle == 0 {
		return fault.IsClosed("call function", "bound call")
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
	o := uintptr(unsafe.Pointer(b.c.err))
	b.c.err = nil
	return raise.Take("call function", o)
}

// Result returns what the last successful Call returned, with the types of Function.Call; nil before the first. The
// caller closes an object.
func (b *Bound) Result() (any, error) {
	if b == nil || b.handle == 0 {
		return nil, fault.IsClosed("read result", "bound call")
	}
	v := *(*anyValue)(unsafe.Pointer(&b.c.result))
	if v.index >= indexObject {
		object(v.bits).retain()
	}
	goruntime.KeepAlive(b)
	return v.take()
}

// Close releases the arguments and the stream. Closing twice is fine.
func (b *Bound) Close() error {
	if b != nil {
		b.handle = 0
		b.ref.free()
	}
	return nil
}
