package kernels

import (
	"context"
	"errors"
	"math"
	"os"
	"syscall"
	"time"

	"tvmgo/bench/blas"
	"tvmgo/bench/operators"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all" // the devices
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
	*operators.Arrays
	c    Case
	more []interface{ Close() error } // destinations of copies, and what libraries own
}

// NewArrays allocates the arrays of a case on a device. Check sets the inputs.
func NewArrays(c Case, device dlpack.Device) (*Arrays, error) {
	all, err := operators.NewArrays(c.Operator, device)
	if err != nil {
		return nil, err
	}
	return &Arrays{Arrays: all, c: c}, nil
}

// Close frees the arrays.
func (a *Arrays) Close() (err error) {
	for _, m := range a.more {
		err = errors.Join(err, m.Close())
	}
	a.more = nil
	return errors.Join(err, a.Arrays.Close())
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
	all := a.Tensors()
	first := all[0]
	switch by {
	case Copy:
		to, err := runtime.NewTensor(first.DType(), first.Shape(), a.Device)
		if err != nil {
			return nil, err
		}
		a.more = append(a.more, to)
		return &Kernel{arrays: a, call: func() error { return to.CopyFromTensor(first, nil) }, Bytes: 2 * first.Size(),
			silent: true}, nil
	case CuBLAS:
		p, err := blas.CuBLAS(all[0], all[1], all[2])
		if err != nil {
			return nil, err
		}
		a.more = append(a.more, p)
		return &Kernel{arrays: a, call: p.Call, Bytes: a.Bytes()}, nil
	}
	kind := a.Device.Type.String()
	file := fileOf(folder, kind, a.c, by)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m, err := runtime.LoadBytes(ctx, data, runtime.Name(file)) // which needs no signature
	if err != nil {
		return nil, err
	}
	f, err := m.Function(a.c.Function())
	if err != nil {
		return nil, err
	}
	args := a.Args()
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

// Check runs the kernel and compares the result with the reference, as package operators describes.
func (k *Kernel) Check(ctx context.Context) error {
	if k.silent {
		return nil
	}
	_, err := k.arrays.Check(ctx, func() error { return k.run(ctx, 1) })
	return err
}

// run queues a number of calls and waits for them.
func (k *Kernel) run(ctx context.Context, calls int) error {
	for range calls {
		if err := k.call(); err != nil {
			return err
		}
	}
	return runtime.SyncDevice(ctx, k.arrays.Device)
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
