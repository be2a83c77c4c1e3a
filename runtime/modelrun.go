package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
)

// Run calls the function main, or the only function, with the rules of RunFunction. If the model has several functions
// and none of them is main, the error is ErrNotFound and lists them.
func (m *Model) Run(ctx context.Context, inputs Inputs) (Outputs, error) {
	f, err := m.mainFunction()
	if err != nil {
		return nil, err
	}
	return m.run(ctx, f, inputs)
}

// RunFunction calls a function and returns its outputs, which the caller closes. Inputs may lie on any device: they are
// copied to where the function wants them. Symbolic dimensions may have other values in each call.
//
// The inputs are compared with the signature before the call: the error is ErrInvalidArgument, and names the parameter,
// what it expects and what it got, if a name is unknown, if an input is missing or surplus, if a type, dtype or
// dimension differs, and if two inputs disagree about a symbolic dimension. The function's own error is an *Error, as
// of Function.Call.
//
// If ctx ends, RunFunction returns its error at once. The call goes on: it keeps its own references to the inputs,
// which you may close but not change, until it and the device have finished, and releases its outputs. Model.Wait waits
// for such calls. A context that cannot end costs nothing: the call runs on the calling goroutine. So does a call from
// a Go function that a call runs, which goes to its end whatever the context.
func (m *Model) RunFunction(ctx context.Context, name string, inputs Inputs) (Outputs, error) {
	f, err := m.find("run "+name, name)
	if err != nil {
		return nil, err
	}
	return m.run(ctx, f, inputs)
}

func (m *Model) run(ctx context.Context, f *modelFunction, inputs Inputs) (Outputs, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.op, err)
	}
	c, err := f.prepare(inputs)
	if err != nil {
		return nil, err
	}
	return m.finish(ctx, c)
}

// modelFunction is a function of a model. It does not change.
type modelFunction struct {
	module *Module
	info   FunctionInfo
	checks *modelcall.Function
	fn     *Function
	op     string // in errors
}

// modelCall is a call with its arguments, which it keeps alive.
type modelCall struct {
	f         *modelFunction
	params    []int // of f that the arguments are for
	p         packer
	arguments []modelcall.Argument
}

var modelCalls = sync.Pool{New: func() any { return new(modelCall) }}

func (f *modelFunction) begin() (*modelCall, error) {
	if !f.module.ref.acquire() { // functions written in Go do not keep their module
		return nil, fault.IsClosed(f.op, "model")
	}
	if !f.fn.ref.acquire() {
		f.module.ref.release()
		return nil, fault.IsClosed(f.op, "model")
	}
	c := modelCalls.Get().(*modelCall)
	c.f = f
	return c, nil
}

// end releases the arguments. c must not be used afterwards.
func (c *modelCall) end() {
	c.p.release()
	c.f.fn.ref.release()
	c.f.module.ref.release()
	clear(c.p.used)
	clear(c.arguments)
	c.p.vals, c.p.used, c.p.owned, c.arguments = c.p.vals[:0], c.p.used[:0], c.p.owned[:0], c.arguments[:0]
	c.f, c.params = nil, nil
	modelCalls.Put(c)
}

// prepare makes a call of inputs that match the signature. The caller ends it.
func (f *modelFunction) prepare(inputs Inputs) (_ *modelCall, err error) {
	if inputs == nil {
		inputs = Ordered(nil)
	}
	list, err := inputs.arrange(f)
	if err != nil {
		return nil, fault.Wrap(f.op, ErrInvalidArgument, err)
	}
	params, err := f.checks.Parameters(len(list))
	if err != nil {
		return nil, fault.Wrap(f.op, ErrInvalidArgument, err)
	}
	c, err := f.begin()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	c.params = params
	for i, v := range list {
		if err := c.p.add(v); err != nil {
			return nil, &Error{Op: f.op, Kind: KindOf(CodeOf(err)), Code: CodeOf(err),
				Message: fmt.Sprintf("%s: %v", f.checks.Label(params[i]), err), Err: err}
		}
		c.arguments = append(c.arguments, c.p.vals[i].describe())
	}
	if err := f.checks.Check(params, c.arguments); err != nil {
		return nil, fault.Wrap(f.op, ErrInvalidArgument, err)
	}
	return c, nil
}

// describe describes a borrowed value; the slices are views of it.
func (v anyValue) describe() modelcall.Argument {
	a := modelcall.Argument{Identity: [2]uint64{uint64(v.index)<<32 | uint64(v.small), v.bits}}
	switch v.index {
	case indexNone:
		a.Kind = modelcall.None
	case indexInt, indexBool:
		a.Kind = modelcall.Int
	case indexFloat:
		a.Kind = modelcall.Float
	case indexTensor:
		dl := object(v.bits).dl()
		a.Kind, a.DType, a.Dims = modelcall.Tensor, goType(dl.dtype), views(dl.shape, dl.ndim)
		if dl.strides != nil && goDevice(dl.device).Type != dlpack.CPU {
			a.IsFixed = !dlpack.IsContiguous(a.Dims, views(dl.strides, dl.ndim))
		}
	case indexShape:
		cell := (*C.TVMFFIShapeCell)(unsafe.Add(object(v.bits).pointer(), C.sizeof_TVMFFIObject))
		a.Kind, a.Dims = modelcall.Shape, views(cell.data, C.int32_t(cell.size))
	case indexArray:
		a.Kind = modelcall.Tuple
		for _, item := range object(v.bits).items() {
			a.Items = append(a.Items, item.describe())
		}
	default:
		a.Kind, a.What = modelcall.Other, C.GoString(C.tvmgo_type_name(C.int32_t(v.index)))
		if v.index == indexFunction || v.index > indexDict { // closures are objects
			a.Kind = modelcall.Callable
		}
	}
	return a
}

func views(dims *C.int64_t, n C.int32_t) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(dims)), int(n))
}

// invoke makes the call on this thread, and records it if the context has a profile.
func (c *modelCall) invoke(ctx context.Context) (out Outputs, err error) {
	if p := ProfileFrom(ctx); p != nil {
		err = p.Do(func() error { out, err = c.call(); return err })
		return out, err
	}
	return c.call()
}

func (c *modelCall) call() (Outputs, error) {
	v, err := anyResult(c.f.op, C.tvmgo_bridge_call(C.uintptr_t(c.f.fn.ref.obj), c.p.views(),
		C.int32_t(len(c.p.vals)), C.tvmgo_place{}))
	if err != nil {
		return nil, err
	}
	got, err := v.take()
	if err != nil {
		return nil, err
	}
	if fields, ok := got.([]any); ok {
		return fields, nil
	}
	return Outputs{got}, nil
}

// The states of a call whose context can end.
const (
	callFinished = 1 + iota
	callLeft     // the context ended first
)

// finish makes a call and ends it, unless ctx ends first.
func (m *Model) finish(ctx context.Context, c *modelCall) (Outputs, error) {
	if ctx.Done() == nil || C.tvmgo_bridge_in_go() != 0 {
		defer c.end()
		return c.invoke(ctx)
	}
	op := c.f.op
	var out Outputs
	var err error
	var state atomic.Int32
	done := make(chan struct{})
	go func() {
		defer func() { // also after runtime.Goexit
			if state.CompareAndSwap(0, callFinished) {
				c.end()
				close(done)
				return
			}
			c.waitForDevices(out)
			out.Close()
			c.end()
			m.left.Add(-1)
		}()
		err = fault.New(op, ErrFailed, "a Go function ended the goroutine of the call with runtime.Goexit: return an error")
		out, err = c.invoke(ctx)
	}()
	select {
	case <-done:
		return out, err
	case <-ctx.Done():
	}
	m.left.Add(1)
	if state.CompareAndSwap(0, callLeft) {
		return nil, fmt.Errorf("%s: %w", op, ctx.Err())
	}
	m.left.Add(-1)
	<-done
	return out, err
}

// waitForDevices waits for the devices of the arguments and the outputs.
func (c *modelCall) waitForDevices(out Outputs) {
	devices := map[dlpack.Device]bool{CPU: true}
	wait := func(t *C.DLTensor) {
		if dev := goDevice(t.device); !devices[dev] {
			devices[dev] = true
			_, _ = result("", C.tvmgo_bridge_sync(t.device, 0)) // nobody is left to report an error to
		}
	}
	var arguments func(vals []anyValue)
	arguments = func(vals []anyValue) {
		for _, v := range vals {
			switch v.index {
			case indexTensor:
				wait(object(v.bits).dl())
			case indexArray:
				arguments(object(v.bits).items())
			}
		}
	}
	var outputs func(list []any)
	outputs = func(list []any) {
		for _, v := range list {
			switch v := v.(type) {
			case *Tensor:
				wait(v.dl())
			case []any:
				outputs(v)
			}
		}
	}
	arguments(c.p.vals)
	outputs(out)
}
