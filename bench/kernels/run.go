package kernels

import (
	"context"
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all" // the devices
	"tvmgo/te"
	"tvmgo/tir"
)

// Timer measures how long a sample takes.
type Timer func() time.Duration

// Wall is the time since some moment.
func Wall() time.Duration { return time.Duration(time.Now().UnixNano()) }

// CPU is the processor time of this process, with all its threads: those of a driver that runs kernels on the CPU, too.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no such error
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Arrays holds the inputs and the result of a case on a device, which its kernels share.
type Arrays struct {
	c      Case
	device dlpack.Device
	all    []*runtime.Tensor
	more   []*runtime.Tensor // destinations of copies
}

// Bytes returns the size of the inputs and of the result.
func (a *Arrays) Bytes() (n int64) {
	for _, t := range a.all {
		n += t.Size()
	}
	return n
}

// value returns an element of an input: between 0 and 1, with 10 bits, so that a float16 holds it.
func value(input, at int) float64 {
	h := uint32(at)*2654435761 + uint32(input)*40503
	h ^= h >> 15
	h *= 2246822519
	return float64(h>>13&1023) / 1024
}

// NewArrays allocates the arrays of a case on a device, and sets the inputs.
func NewArrays(c Case, device dlpack.Device) (*Arrays, error) {
	a := &Arrays{c: c, device: device}
	ins, out := c.build()
	for n, x := range append(ins, out) {
		shape := []int64{}
		for _, d := range x.ProducerShape() {
			shape = append(shape, d.(*tir.IntImm).Value)
		}
		t, err := runtime.NewTensor(dlpack.DataType(x.ProducerDType()), shape, device)
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		a.all = append(a.all, t)
		if n < len(ins) {
			if err := fill(t, n, x); err != nil {
				return nil, errors.Join(err, a.Close())
			}
		}
	}
	return a, nil
}

func fill(t *runtime.Tensor, input int, x *te.Tensor) error {
	if x.ProducerDType() == tir.Float16 {
		data := make([]dlpack.Float16Bits, t.Len())
		for i := range data {
			data[i] = dlpack.Float16Of(value(input, i))
		}
		return runtime.CopyFrom(t, data)
	}
	data := make([]float32, t.Len())
	for i := range data {
		data[i] = float32(value(input, i))
	}
	return runtime.CopyFrom(t, data)
}

// Close frees the arrays.
func (a *Arrays) Close() (err error) {
	for _, t := range append(a.all, a.more...) {
		err = errors.Join(err, t.Close())
	}
	return err
}

// Kernel is a function of a library of this package, bound to the arrays of its case; or what it is compared with.
type Kernel struct {
	arrays *Arrays
	call   func() error
	calls  int   // of a batch
	Bytes  int64 // that a call reads or writes, if each element is read or written once
	silent bool  // has no result
}

// Open loads a library that [Write] made, and binds its function. For [Copy] and [CuBLAS] there is no library.
func Open(ctx context.Context, folder string, a *Arrays, by By) (*Kernel, error) {
	first := a.all[0]
	switch by {
	case Copy:
		to, err := runtime.NewTensor(first.DType(), first.Shape(), a.device)
		a.more = append(a.more, to)
		return &Kernel{arrays: a, call: func() error { return to.CopyFromTensor(first, nil) }, Bytes: 2 * first.Size(),
			silent: true}, err
	case CuBLAS:
		call, err := openCuBLAS(a)
		return &Kernel{arrays: a, call: call, Bytes: a.Bytes()}, err
	}
	kind := a.device.Type.String()
	m, err := runtime.Load(ctx, fileOf(folder, kind, a.c, by))
	if err != nil {
		return nil, err
	}
	f, err := m.Function(functionOf(a.c))
	if err != nil {
		return nil, err
	}
	var args []any
	for _, t := range a.all {
		args = append(args, t)
	}
	k := &Kernel{arrays: a, Bytes: a.Bytes()}
	if by == Read {
		k.silent, k.Bytes, args = true, first.Size(), []any{first, first.Len()}
	}
	b, err := f.Bind(args...)
	if err != nil {
		return nil, err
	}
	k.call = b.Call
	return k, nil
}

// checked is the number of elements of a result that Check compares.
const checked = 64

// Check runs the kernel and compares elements of the result with what they should be.
func (k *Kernel) Check(ctx context.Context) error {
	if k.silent {
		return nil
	}
	out := k.arrays.all[len(k.arrays.all)-1]
	if err := out.CopyFromBytes(make([]byte, out.Size())); err != nil {
		return err
	}
	if err := k.run(ctx, 1); err != nil {
		return err
	}
	at, err := elementsOf(out)
	if err != nil {
		return err
	}
	n := int(out.Len())
	for i := range min(checked, n) {
		i = i * (n - 1) / max(1, min(checked, n)-1) // the first, the last, and between them
		want, got := k.arrays.c.expect(value, i), at(i)
		if !(math.Abs(got-want) <= 2e-3*max(1e-3, math.Abs(want))) {
			return fmt.Errorf("%s: element %d is %v: want %v", k.arrays.c.Name, i, got, want)
		}
	}
	return nil
}

func elementsOf(t *runtime.Tensor) (at func(i int) float64, err error) {
	if t.DType() == dlpack.Float16 {
		values, err := runtime.ToSlice[dlpack.Float16Bits](t)
		return func(i int) float64 { return float64(values[i].Float32()) }, err
	}
	values, err := runtime.ToSlice[float32](t)
	return func(i int) float64 { return float64(values[i]) }, err
}

// run queues a number of calls and waits for them.
func (k *Kernel) run(ctx context.Context, calls int) error {
	for range calls {
		if err := k.call(); err != nil {
			return err
		}
	}
	return runtime.SyncDevice(ctx, k.arrays.device)
}

// batches is the number of batches of a sample; the best counts.
const batches = 5

// Sample returns the nanoseconds of a call, in the best of five batches that together take at least a time.
func (k *Kernel) Sample(ctx context.Context, timer Timer, least time.Duration) (float64, error) {
	batch := func() (float64, error) {
		from := timer()
		err := k.run(ctx, k.calls)
		return float64(timer() - from), err
	}
	for k.calls == 0 {
		for k.calls = 1; ; k.calls *= 2 {
			took, err := batch()
			if err != nil {
				return 0, err
			}
			if took >= float64(least/batches) {
				break
			}
		}
	}
	best := math.Inf(1)
	for range batches {
		took, err := batch()
		if err != nil {
			return 0, err
		}
		best = min(best, took/float64(k.calls))
	}
	return best, nil
}
