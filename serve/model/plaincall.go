package model

import (
	"context"
	"fmt"
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/memory"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

func (f *plainFunction) run(ctx context.Context, in call) ([]*runtime.Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.op, err)
	}
	if f.isClosed.Load() {
		return nil, fault.IsClosed(f.op, "model")
	}
	if ctx.Done() == nil {
		return f.call(in)
	}
	for i, v := range in.values { // the caller may close its tensors when the context has ended
		t, ok := v.(*runtime.Tensor)
		if !ok {
			continue
		}
		own, err := t.View(t.DType(), t.Shape(), nil, 0)
		if err != nil {
			closeValues(in.values[:i])
			return nil, fmt.Errorf("%s: %w", f.op, err)
		}
		in.values[i] = own
	}
	var out []*runtime.Tensor
	var err error
	var isOver atomic.Bool // the call has ended, or else the context: whichever is first
	done := make(chan struct{})
	go func() {
		out, err = f.call(in)
		closeValues(in.values)
		if isOver.CompareAndSwap(false, true) {
			close(done)
			return
		}
		closeAll(out)
		f.left.Add(-1)
	}()
	select {
	case <-done:
		return out, err
	case <-ctx.Done():
	}
	f.left.Add(1)
	if isOver.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%s: %w", f.op, ctx.Err())
	}
	f.left.Add(-1)
	<-done
	return out, err
}

func closeValues(list []any) {
	for _, v := range list {
		value.Close(v)
	}
}

func (f *plainFunction) runBatch(ctx context.Context, in []call) ([][]*runtime.Tensor, error) {
	list := make([][]*runtime.Tensor, len(in))
	for i := range in {
		var err error
		if list[i], err = f.run(ctx, in[i]); err != nil {
			for _, l := range list {
				closeAll(l)
			}
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	return list, nil
}

// frame is a call with what it allocated.
type frame struct {
	f       *plainFunction
	taken   int64 // bytes
	closes  []*runtime.Tensor
	outputs []*runtime.Tensor // on the device
}

func (f *plainFunction) call(in call) (_ []*runtime.Tensor, err error) {
	c := &frame{f: f, outputs: make([]*runtime.Tensor, len(f.outputs))}
	defer func() {
		closeAll(c.closes)
		if err != nil {
			closeAll(c.outputs)
			err = fault.Wrap(f.op, runtime.KindOf(runtime.CodeOf(err)), err)
		}
		f.give(c.taken)
	}()
	dims, err := f.checks.ResultDims(f.params, in.arguments)
	if err != nil {
		return nil, fault.Wrap("", runtime.ErrInvalidArgument, err)
	}
	args := make([]any, len(f.args))
	for i, s := range f.args {
		if args[i], err = c.argument(&s, &in, dims); err != nil {
			return nil, err
		}
	}
	v, err := f.fn.Call(args...)
	if err != nil {
		return nil, err
	}
	last := len(f.outputs)
	if f.returns {
		last--
		if c.outputs[last], err = f.outputs[last].host(v); err != nil {
			return nil, err
		}
	} else {
		value.Close(v)
	}
	for i := range last {
		t := c.outputs[i]
		c.outputs[i] = nil
		if t, err = hostTensor(t); err != nil {
			return nil, err
		}
		c.outputs[i] = t
	}
	return c.outputs, nil
}

// argument makes the argument for a slot.
func (c *frame) argument(s *slot, in *call, dims [][]int64) (any, error) {
	switch {
	case s.symbol >= 0:
		return dims[s.symbol][0], nil
	case s.output >= 0:
		p := &c.f.outputs[s.output]
		t, err := c.allocate(p.DType, dims[s.output])
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", p.Name, err)
		}
		c.outputs[s.output] = t
		var from *runtime.Tensor
		if s.input >= 0 {
			from = in.values[s.input].(*runtime.Tensor)
		}
		return t, fill(t, from)
	}
	t, ok := in.values[s.input].(*runtime.Tensor)
	if !ok || c.f.dev.Type == dlpack.CPU {
		return in.values[s.input], nil
	}
	on, err := c.allocate(t.DType(), t.Shape())
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", c.f.ports[s.input].Name, err)
	}
	c.closes = append(c.closes, on)
	return on, on.CopyFromTensor(t, nil)
}

// fill copies a tensor of the CPU to another one; without one it fills it with zeros, so that a function that does not
// write every element does not answer with what others left in memory.
func fill(t, from *runtime.Tensor) error {
	if t.Device().Type == dlpack.CPU {
		to, err := t.Bytes()
		if err != nil {
			return err
		}
		if from == nil {
			clear(to)
			return nil
		}
		b, err := from.Bytes()
		copy(to, b)
		return err
	}
	if from == nil {
		zero, err := zeros(t.DType(), t.Shape())
		if err != nil {
			return err
		}
		defer zero.Close()
		from = zero
	}
	return t.CopyFromTensor(from, nil)
}

// allocate allocates a tensor on the device, within the limit.
func (c *frame) allocate(dtype dlpack.DataType, shape []int64) (*runtime.Tensor, error) {
	n, err := dlpack.DataSize(shape, dtype)
	if err != nil {
		return nil, fault.Wrap("", runtime.ErrInvalidArgument, err)
	}
	if err := memory.Check(n); err != nil {
		return nil, fault.Wrap("", runtime.ErrOutOfMemory, err)
	}
	if err := c.f.take(n); err != nil {
		return nil, err
	}
	c.taken += n
	return runtime.NewTensor(dtype, shape, c.f.dev)
}

func (f *plainFunction) take(n int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit > 0 && n > f.limit-f.counts.Live {
		return fault.New("", runtime.ErrOutOfMemory, "%d bytes are needed, and the calls of the model have %d of %d: send "+
			"smaller requests, or raise the limit", n, f.counts.Live, f.limit)
	}
	f.counts.Live += n
	f.counts.Peak = max(f.counts.Peak, f.counts.Live)
	f.counts.Storages++
	f.counts.Taken++
	return nil
}

func (f *plainFunction) give(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Live -= n
}

func (f *plainFunction) device() dlpack.Device { return f.dev }

func (f *plainFunction) memory() (runtime.ModelMemory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.counts
	m.Limit = f.limit
	return m, nil
}

func (f *plainFunction) wait(ctx context.Context) error { return f.left.Wait(ctx) }

func (f *plainFunction) close() error {
	f.isClosed.Store(true)
	return f.fn.Close()
}
