package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
	"tvmgo/internal/value"
)

// RunBatch answers several requests of the function that Run calls, and returns the outputs of each, in order. It
// stacks the inputs of requests along their first dimension, runs the function once, and splits the results, so that
// each request has outputs of its own, which the caller closes. That is right for functions that compute each row
// alone, as those with a batch dimension do; the signature cannot show this, so do not call RunBatch for another
// function.
//
// Requests are stacked if the signature allows it: every result is a tensor whose first dimension is one symbol, such
// as batch, the inputs of which that is the first dimension are tensors, and the symbol is in no other dimension of a
// parameter or result and in no bound parameter. Rows must not share bytes, as those of int4 may. Requests may have
// different sizes in that dimension. In all other dimensions, in dtypes and in the inputs without the symbol, which
// must be the same tensors or equal numbers, the stacked requests agree; those that do not are run apart. If the
// signature does not allow it, as for a fixed first dimension, the requests run one after another.
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
	rows := int64(0)
	for _, o := range parts {
		rows += o.dims()[0]
	}
	first := parts[0].dl()
	whole, err := NewTensor(goType(first.dtype), append([]int64{rows}, parts[0].dims()[1:]...), goDevice(first.device))
	if err != nil {
		return nil, renamed(op, err)
	}
	at := int64(0)
	for _, o := range parts {
		n := o.dims()[0]
		if err := copyPart(whole, at, n, o); err != nil {
			whole.Close()
			return nil, renamed(op, err)
		}
		at += n
	}
	return whole, nil
}

// copyPart copies a part with n rows to the rows of whole from row at on.
func copyPart(whole *Tensor, at, n int64, part object) error {
	to := whole.ref.obj.compactBytes()
	if from := part.compactBytes(); from != nil && to != nil {
		if n > 0 {
			copy(to[int64(len(from))/n*at:], from)
		}
		return nil
	}
	part.retain()
	t := newTensor(part)
	defer t.Close()
	return copyRows(whole, at, t, false)
}

// compactBytes is the memory of a tensor object; nil if it is not compact or on another device than the CPU.
func (o object) compactBytes() []byte {
	dl := o.dl()
	if dl.device.device_type != C.kDLCPU ||
		dl.strides != nil && !dlpack.IsContiguous(o.dims(), views(dl.strides, dl.ndim)) {
		return nil
	}
	n, _ := dlpack.DataSize(o.dims(), goType(dl.dtype)) // was checked when it was made
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(dl.data), dl.byte_offset)), n)
}

func (o object) dims() []int64 { return views(o.dl().shape, o.dl().ndim) }

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
	at, from := int64(0), whole.ref.obj.compactBytes()
	shape := slices.Clone(whole.dims())
	for _, n := range rows {
		shape[0] = n
		t, err := NewTensor(whole.dtype(), shape, whole.device())
		if err != nil {
			return list, renamed(op, err)
		}
		list = append(list, t)
		if from != nil {
			copy(t.ref.obj.compactBytes(), from[at*int64(len(from))/max(total, 1):])
		} else if err := copyRows(whole, at, t, true); err != nil {
			return list, renamed(op, err)
		}
		at += n
	}
	return list, nil
}
