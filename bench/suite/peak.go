package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// Bounds of a launch of a peak kernel.
const (
	mostGroups  = 65535    // a grid of Vulkan
	mostResults = 64 << 20 // bytes
)

// kernelCall is a kernel of a program, on any device: a function of the host on a CPU, a launch elsewhere.
type kernelCall struct {
	module *runtime.Module
	host   *runtime.Function
	bound  *runtime.Bound // the last call that was bound to host; it keeps its arrays
	kernel *runtime.Kernel
	block  runtime.Dim3 // work items of a group
}

// openKernel builds a program for a device and looks its function up.
func openKernel(on *bench.Device, program *tir.IRModule, name string, block runtime.Dim3) (k *kernelCall,
	err error) {
	k = &kernelCall{block: block}
	if k.module, err = build(on, program); err != nil {
		return nil, err
	}
	if on.Handle.Type == dlpack.CPU {
		if err := needCompiler(); err != nil {
			return nil, errors.Join(err, k.Close())
		}
		k.host, err = k.module.Function(name)
	} else {
		k.kernel, err = k.module.Kernel(name + "_kernel")
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

// bind returns a function that queues one call with a number of groups, until the next bind or Close.
func (k *kernelCall) bind(groups int, arrays ...any) (func() error, error) {
	if k.host == nil {
		arguments := append(arrays, groups)
		return func() error {
			return k.kernel.Launch(nil, runtime.Dim3{groups}, k.block, arguments...)
		}, nil
	}
	b, err := k.host.Bind(append(arrays, groups)...)
	if err != nil {
		return nil, err
	}
	err = k.release()
	k.bound = b
	return b.Call, err
}

// release frees the bound call, and with it the arrays that it keeps.
func (k *kernelCall) release() (err error) {
	if k.bound != nil {
		err = k.bound.Close()
		k.bound = nil
	}
	return err
}

// Close frees the module, its function and the bound call.
func (k *kernelCall) Close() error {
	err := k.release()
	if k.host != nil {
		err = errors.Join(err, k.host.Close())
	}
	if k.kernel != nil {
		err = errors.Join(err, k.kernel.Close())
	}
	return errors.Join(err, k.module.Close())
}

// rateKernel is a kernel that computes without memory traffic. Its function peak has two arrays that it reads, the one
// in which it stores the results, and a number of groups.
type rateKernel interface {
	program() (*tir.IRModule, error)
	block() runtime.Dim3       // work items of a group
	types() (in, out tir.Type) // of the elements that are read, and of the results
	inputs() (first, second []float64)
	ops() float64         // of a group
	results() int         // of a group
	reference() []float64 // what each group stores
	facts() bench.Facts
}

// peakWork is a peak kernel on a device.
type peakWork struct {
	bench.Calls
	of      rateKernel
	groups  int
	results *runtime.Tensor
}

// openPeak builds a peak kernel for a device, and finds a number of groups for which a launch takes about the given
// time: a multiple of unit, the groups that occupy the device.
func openPeak(ctx context.Context, on *bench.Device, of rateKernel, unit int, aim time.Duration) (bench.Work, error) {
	program, err := of.program()
	if err != nil {
		return nil, err
	}
	k, err := openKernel(on, program, "peak", of.block())
	if err != nil {
		return nil, err
	}
	w := &peakWork{of: of}
	w.On, w.Known = on.Handle, of.facts()
	w.Free = append(w.Free, k.Close, func() error { return w.results.Close() })
	if t, err := Target(on); err == nil {
		maps.Copy(w.Known, facts.OfProgram(program, t, nil, k.module, on))
	}
	if err := w.open(ctx, k, unit, aim); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.Known["groups"] = w.groups
	return w, nil
}

func (w *peakWork) open(ctx context.Context, k *kernelCall, unit int, aim time.Duration) error {
	in, out := w.of.types()
	a, b := w.of.inputs()
	first, err := newArray(&w.Calls, in, a)
	if err != nil {
		return err
	}
	second, err := newArray(&w.Calls, in, b)
	if err != nil {
		return err
	}
	group := w.of.results() * int(out.Bits) / 8 // bytes
	most := min(mostGroups, mostResults/group) / unit * unit
	for w.groups = unit; ; {
		w.results, err = runtime.NewTensor(dlpack.DataType(out), []int64{int64(w.groups * w.of.results())}, w.On)
		if err != nil {
			return err
		}
		if w.Call, err = k.bind(w.groups, first, second, w.results); err != nil {
			return err
		}
		took, err := timeOf(ctx, &w.Calls)
		if err != nil {
			return err
		}
		more := min(float64(aim)/float64(took), 32)
		next := min(max(int(float64(w.groups)*more)/unit*unit, unit), most)
		if took >= aim/2 || next <= w.groups {
			w.Do = bench.Amount{Ops: w.of.ops() * float64(w.groups)}
			return nil
		}
		if err := w.results.Close(); err != nil {
			return err
		}
		w.groups = next
	}
}

// timeOf returns the time of a call, by the device's timer if there is one. The first call has costs of its own, and is
// not counted.
func timeOf(ctx context.Context, c *bench.Calls) (time.Duration, error) {
	if _, err := c.Run(ctx, 1); err != nil {
		return 0, err
	}
	took, err := c.Run(ctx, 1)
	if took.Device > 0 {
		took.Wall = took.Device
	}
	return max(took.Wall, time.Nanosecond), err
}

// Check compares all results with those that the CPU computes step by step.
func (w *peakWork) Check(ctx context.Context) (string, error) {
	if err := w.results.CopyFromBytes(make([]byte, w.results.Size())); err != nil {
		return "", err
	}
	if _, err := w.Run(ctx, 1); err != nil {
		return "", err
	}
	got, err := valuesOf(w.results)
	if err != nil {
		return "", err
	}
	want := w.of.reference()
	for i, v := range got {
		if of := want[i%len(want)]; v != of {
			return "", wrong("result %d is %v, and not %v", i, v, of)
		}
	}
	return fmt.Sprintf("%d elements, exact", len(got)), nil
}
