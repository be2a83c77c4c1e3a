//go:build cgo

package main

import (
	"context"
	"fmt"
	"io"
	"time"
	"unsafe"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/memory"
	"tvmgo/internal/npyfile"
	"tvmgo/runtime"
)

// parseDevice reads the name of a device and checks that the device exists.
func parseDevice(text string) (dlpack.Device, error) {
	dev, err := facts.Find(text)
	if err != nil {
		err = fmt.Errorf("--device %s: %w", text, err)
	}
	return dev, err
}

// call is a function with its arguments on a device.
type call struct {
	fn      *runtime.Function
	dev     dlpack.Device
	classic func() bool // reports whether the function has the classic generation
	args    []any
	tensors []*runtime.Tensor // the tensors of args
	of      map[*arguments.Array]*runtime.Tensor
}

func (c *call) close() {
	for _, t := range c.tensors {
		t.Close()
	}
}

// addArguments makes a tensor of each argument that is an array. Arrays without data are outputs, and are filled with
// zeros.
func (c *call) addArguments(args []any) error {
	for _, v := range args {
		a, ok := v.(*arguments.Array)
		if !ok {
			c.args = append(c.args, v)
			continue
		}
		if err := c.addTensor(a); err != nil {
			return fmt.Errorf("%s: %w", arguments.TypeText(a.DType, a.Shape), err)
		}
	}
	return nil
}

func (c *call) addTensor(a *arguments.Array) error {
	dtype := a.DType
	if dtype == dlpack.Bool && c.classic() {
		dtype = dlpack.ClassicBool
	}
	if c.dev.Type == dlpack.CPU {
		size, err := dlpack.DataSize(a.Shape, dtype)
		if err == nil {
			err = memory.Check(size)
		}
		if err != nil {
			return err
		}
	}
	t, err := runtime.NewTensor(dtype, a.Shape, c.dev)
	if err != nil {
		return err
	}
	c.tensors, c.args = append(c.tensors, t), append(c.args, t)
	if c.of == nil {
		c.of = map[*arguments.Array]*runtime.Tensor{}
	}
	c.of[a] = t
	if a.Data != nil {
		return t.CopyFromBytes(a.Data)
	}
	if host := hostBytes(t); host != nil {
		clear(host)
		return nil
	}
	zeros, err := memory.Make(t.Size())
	if err != nil {
		return err
	}
	defer memory.Free(zeros)
	return t.CopyFromBytes(zeros)
}

// hostBytes returns the elements of a CPU tensor; nil for other devices. They are valid until the tensor is closed.
func hostBytes(t *runtime.Tensor) []byte {
	if t.Device().Type != dlpack.CPU || t.Size() == 0 {
		return nil
	}
	address := t.Data()
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), t.Size())
}

// once calls the function, waits for the device, and returns the result as text; "" if there is none.
func (c *call) once(ctx context.Context) (string, error) {
	result, err := c.fn.Call(c.args...)
	if err != nil {
		return "", err
	}
	if err := runtime.SyncDevice(ctx, c.dev); err != nil {
		return "", err
	}
	if closer, ok := result.(io.Closer); ok {
		defer closer.Close()
	}
	switch v := result.(type) {
	case nil:
		return "", nil
	case string:
		return fmt.Sprintf("%q", v), nil
	case *runtime.Function, *runtime.Module, *runtime.Object:
		return fmt.Sprintf("%T", v), nil
	}
	return fmt.Sprint(result), nil
}

// write writes the current contents of an output as a .npy file.
func (c *call) write(w io.Writer, a *arguments.Array) error {
	if err := npyfile.WriteHeader(w, a.DType, a.Shape); err != nil {
		return err
	}
	t := c.of[a]
	data := hostBytes(t)
	if data == nil {
		copied, err := memory.Make(t.Size())
		if err != nil {
			return err
		}
		defer memory.Free(copied)
		if err := t.CopyToBytes(copied); err != nil {
			return err
		}
		data = copied
	}
	_, err := w.Write(data)
	return err
}

// sampleTime is the least duration of a sample: it consists of many calls, so that the time of reading the clock is
// negligible.
const sampleTime = 50 * time.Microsecond

// timedCall is a call as an operation of package bench. It was executed before.
type timedCall struct{ bench.Calls }

func (t *timedCall) Check(context.Context) (string, error) { return "", nil }

// measure takes samples of the call, which must have run before. It packs the arguments once.
func (c *call) measure(ctx context.Context, samples int) (*bench.Row, error) {
	bound, err := c.fn.Bind(c.args...)
	if err != nil {
		return nil, err
	}
	defer bound.Close()
	w := &timedCall{bench.Calls{On: c.dev, Call: bound.Call}}
	defer w.Close()
	return bench.Measure(ctx, bench.Config{Rounds: samples, Sample: sampleTime, WarmUp: sampleTime}, w)
}

// timesText describes the samples of a call.
func timesText(r *bench.Row) string {
	t := r.Times
	of := func(ns float64) string { return duration(ns / 1e9) }
	clock := "the wall clock"
	if r.Clock == bench.ClockDevice {
		clock = "the device's timer"
	}
	return fmt.Sprintf("time of a call: median %s, min %s, mean %s, p90 %s, p99 %s, max %s\nmeasured by %s: %d samples "+
		"of %s\n", of(t.P50), of(t.Min), of(t.Mean), of(t.P90), of(t.P99), of(t.Max), clock, t.Samples,
		count(r.Calls, "call"))
}

// duration prints seconds with three significant digits.
func duration(seconds float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if seconds >= u.size {
			return fmt.Sprintf("%s %s", threeDigits(seconds/u.size), u.name)
		}
	}
	return fmt.Sprintf("%s ns", threeDigits(seconds*1e9))
}

func threeDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
