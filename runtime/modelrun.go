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
	"tvmgo/internal/value"
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
// for such calls. A context that cannot end costs nothing: the call runs on the calling goroutine.
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
	if ctx.Done() == nil {
		defer c.end()
		return c.invoke(ctx)
	}
	op := c.f.op
	var out Outputs
	var err error
	var state atomic.Int32
	done := make(chan struct{})
	go func() {
		out, err = c.invoke(ctx)
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

// RunBatch answers several requests of the function that Run calls, and returns the outputs of each, in order. It
// stacks the inputs of requests along their first dimension, runs the function once, and splits the results, so that
// each request has outputs of its own, which the caller closes. That is right for functions that compute each row
// alone, as those with a batch dimension do; the signature cannot show this, so do not call RunBatch for another
// function.
//
// Requests are stacked if the signature allows it: every result is a tensor whose first dimension is one symbol, such
// as batch, the inputs of which that is the first dimension are tensors, and the symbol is in no other dimension of a
// parameter or result and in no bound parameter. They may have different sizes in that dimension. In all other
// dimensions, in dtypes and in the inputs without the symbol, which must be the same tensors or equal numbers, the
// stacked requests agree; those that do not are run apart. If the signature does not allow it, as for a fixed first
// dimension, the requests run one after another.
//
// All inputs are checked before the first call. After an error, which names the request if it is of one, no outputs are
// left open. If ctx ends, RunBatch returns its error at once, as RunFunction does.
func (m *Model) RunBatch(ctx context.Context, requests []Inputs) ([]Outputs, error) {
	f, err := m.mainFunction()
	if err != nil {
		return nil, err
	}
	return m.runBatch(ctx, f, requests)
}

// RunFunctionBatch is RunBatch for a function by name.
func (m *Model) RunFunctionBatch(ctx context.Context, name string, requests []Inputs) ([]Outputs, error) {
	f, err := m.find("run "+name, name)
	if err != nil {
		return nil, err
	}
	return m.runBatch(ctx, f, requests)
}

func (m *Model) runBatch(ctx context.Context, f *modelFunction, requests []Inputs) (_ []Outputs, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.op, err)
	}
	calls, outputs := make([]*modelCall, len(requests)), make([]Outputs, len(requests))
	defer func() {
		for i, c := range calls {
			if c != nil {
				c.end()
			}
			if err != nil {
				outputs[i].Close()
			}
		}
	}()
	for i, in := range requests {
		if calls[i], err = f.prepare(in); err != nil {
			return nil, ofRequest(i, err)
		}
	}
	for _, group := range f.groups(calls) {
		if len(group) > 1 {
			err = m.runStacked(ctx, calls, outputs, group)
		} else {
			i := group[0]
			c := calls[i]
			calls[i] = nil
			outputs[i], err = m.finish(ctx, c)
			err = ofRequest(i, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

func ofRequest(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("request %d: %w", i, err)
}

// groups returns the numbers of the calls that are stacked, group by group.
func (f *modelFunction) groups(calls []*modelCall) [][]int {
	keys := make([]string, len(calls))
	for i, c := range calls {
		keys[i] = f.checks.StackKey(c.params, c.arguments)
	}
	return modelcall.Groups(keys)
}

// runStacked runs a group of calls as one, and sets their outputs.
func (m *Model) runStacked(ctx context.Context, calls []*modelCall, outputs []Outputs, group []int) error {
	first := calls[group[0]]
	c, err := first.f.begin()
	if err != nil {
		return err
	}
	c.params = first.params
	stacked := first.f.checks.Stacked()
	rows := make([]int64, len(group)) // of each request
	for i, v := range first.p.vals {
		if !stacked[first.params[i]] {
			if v.index >= indexObject {
				object(v.bits).retain()
				c.p.owned = append(c.p.owned, object(v.bits))
			}
			c.p.vals = append(c.p.vals, v)
			continue
		}
		parts := make([]object, len(group))
		for k, g := range group {
			parts[k], rows[k] = object(calls[g].p.vals[i].bits), calls[g].arguments[i].Dims[0]
		}
		t, err := stack(first.f.op, parts)
		if err != nil {
			c.end()
			return err
		}
		t.ref.obj.retain()
		err = c.p.own(t.ref.obj, nil)
		t.Close()
	}
	out, err := m.finish(ctx, c)
	if err != nil {
		return err
	}
	defer out.Close()
	for i, v := range out {
		pieces, err := split(first.f.op, i, v, rows)
		if err != nil {
			return err
		}
		for k, g := range group {
			outputs[g] = append(outputs[g], pieces[k])
		}
	}
	return nil
}

// stack returns a tensor with the rows of all parts, which differ only in the number of rows.
func stack(op string, parts []object) (*Tensor, error) {
	list := make([]*Tensor, len(parts))
	rows := int64(0)
	for i, o := range parts {
		o.retain()
		list[i] = newTensor(o)
		defer list[i].Close()
		rows += list[i].dims()[0]
	}
	whole, err := NewTensor(list[0].dtype(), append([]int64{rows}, list[0].dims()[1:]...), list[0].device())
	if err != nil {
		return nil, renamed(op, err)
	}
	at := int64(0)
	for _, t := range list {
		if err := copyRows(whole, at, t, false); err != nil {
			whole.Close()
			return nil, renamed(op, err)
		}
		at += t.dims()[0]
	}
	return whole, nil
}

// copyRows copies t to the rows of whole from row at on, or back.
func copyRows(whole *Tensor, at int64, t *Tensor, back bool) error {
	rows := t.dims()[0]
	if t.elements() == 0 {
		return nil
	}
	offset := t.nbytes() / rows * at
	part, err := whole.View(t.dtype(), t.dims(), nil, offset)
	if err != nil {
		return err
	}
	defer part.Close()
	if back {
		return t.CopyFromTensor(part, nil)
	}
	if !t.isCompact() && part.device().Type != dlpack.CPU { // devices copy compact tensors only
		compact, err := NewTensor(t.dtype(), t.dims(), CPU)
		if err != nil {
			return err
		}
		defer compact.Close()
		if err := compact.CopyFromTensor(t, nil); err != nil {
			return err
		}
		t = compact
	}
	return part.CopyFromTensor(t, nil)
}

// split returns tensors with these numbers of rows of output i.
func split(op string, i int, v any, rows []int64) (list []any, err error) {
	whole, ok := v.(*Tensor)
	total := int64(0)
	for _, n := range rows {
		total += n
	}
	if !ok || len(whole.dims()) == 0 || whole.dims()[0] != total {
		return nil, fault.New(op, ErrFailed, "output %d is %v, not a tensor with the %d rows of the stacked inputs", i, v,
			total)
	}
	defer func() {
		if err != nil {
			value.CloseAll(list)
		}
	}()
	at := int64(0)
	for _, n := range rows {
		t, err := NewTensor(whole.dtype(), append([]int64{n}, whole.dims()[1:]...), whole.device())
		if err != nil {
			return list, renamed(op, err)
		}
		list = append(list, t)
		if err := copyRows(whole, at, t, true); err != nil {
			return list, renamed(op, err)
		}
		at += n
	}
	return list, nil
}
