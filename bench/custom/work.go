package custom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// work is a call that was prepared for a device.
type work struct {
	bench.Calls
	kernel  *kernel
	on      *bench.Device
	file    string
	opened  *opened
	sure    bool // the file has code for the device
	args    []any
	bound   *runtime.Bound
	changed []restore // arrays that a second call changes again
	most    int       // calls between restores
}

// restore is an array and its contents before the first call.
type restore struct{ array, before *runtime.Tensor }

// prepare loads the function for a device, and makes its arguments.
func (k *kernel) prepare(ctx context.Context, s source, on *bench.Device) (*work, error) {
	need := bytesOf(k.arguments)
	if err := fits(on, need); err != nil {
		return nil, err
	}
	o, err := s.open(ctx, on, k.arguments)
	if err != nil {
		return nil, err
	}
	if o.idle {
		return nil, errors.Join(notMeasured("the launch of %s has no threads: a size is 0", s.function()), o.Close())
	}
	w := &work{kernel: k, on: on, file: s.path(), opened: o, sure: o.sure}
	w.On, w.Known, w.Free = on.Handle, o.facts, []func() error{o.Close}
	w.Do = bench.Amount{Ops: k.ops, Bytes: float64(need)}
	if w.args, err = tensors(k.arguments, on.Handle, o.classic); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.Free = append(w.Free, func() error { closeAll(w.args); return nil })
	if w.bound, err = o.fn.Bind(slices.Concat(w.args[:len(w.args)-o.launched], o.more)...); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.Call = w.bound.Call
	w.Free = append(w.Free, w.bound.Close)
	return w, nil
}

// once calls the function and waits for it. It returns the arrays, and the function's result.
func (w *work) once(ctx context.Context) (arrays [][]byte, result any, err error) {
	if err := w.Call(); err != nil {
		return nil, nil, err
	}
	if err := runtime.SyncDevice(ctx, w.On); err != nil {
		return nil, nil, err
	}
	if result, err = w.bound.Result(); err != nil {
		return nil, nil, err
	}
	if arrays, err = contents(w.args); err != nil {
		return nil, nil, err
	}
	result, err = value(ctx, result)
	return arrays, result, err
}

// value copies a result to the host: a tensor becomes an array, and other objects their type's name.
func value(ctx context.Context, result any) (any, error) {
	closer, is := result.(io.Closer)
	if !is {
		return result, nil
	}
	defer closer.Close()
	t, is := result.(*runtime.Tensor)
	if !is {
		return object(fmt.Sprintf("%T", result)), nil
	}
	if !t.IsContiguous() {
		return object("a tensor that is not contiguous"), nil
	}
	if err := runtime.SyncDevice(ctx, t.Device()); err != nil {
		return nil, err
	}
	list, err := contents([]any{t})
	return &Array{DType: t.DType(), Shape: t.Shape(), Data: list[0]}, err
}

// object is a result that cannot be compared.
type object string

// Check calls the function, and compares its arrays and its result with the reference.
func (w *work) Check(ctx context.Context) (string, error) {
	arrays, result, err := w.once(ctx)
	if err != nil {
		if !w.sure && w.On.Type == dlpack.CPU {
			return "", notMeasured("%s may have no code for the CPU: %v", w.file, err)
		}
		return "", err
	}
	how, err := w.kernel.verify(ctx, w, arrays, result)
	if err != nil {
		return how, err
	}
	return how, w.again(ctx, arrays)
}

// Facts returns what is known about the call.
func (w *work) Facts() bench.Facts { return w.Known }

// maxBetween bounds the calls between restores, and searchTime the time in which their number is found.
const (
	maxBetween = 256
	searchTime = 200 * time.Millisecond
)

// again finds out whether a second call computes something else. If it does, the arrays that change are restored
// between timed calls.
func (w *work) again(ctx context.Context, first [][]byte) error {
	second, _, err := w.once(ctx)
	if err != nil {
		return err
	}
	if equal(first, second) {
		return w.resetAll()
	}
	for i, a := range w.kernel.arguments {
		if a.array == nil || string(first[i]) == string(second[i]) {
			continue
		}
		t := w.args[i].(*runtime.Tensor)
		before, err := runtime.NewTensor(t.DType(), t.Shape(), w.On)
		if err != nil {
			return fmt.Errorf("a copy of %s, which the function changes: %w", title(i, a.name), err)
		}
		w.Free = append(w.Free, before.Close)
		if err := reset(before, a); err != nil {
			return err
		}
		w.changed = append(w.changed, restore{t, before})
	}
	began := time.Now()
	w.most = 1
	if finite(w.kernel.arguments, first, second) {
		w.most = 2
	}
	for w.most > 1 && w.most < maxBetween && time.Since(began) < searchTime {
		if err := w.restoreAll(); err != nil {
			return err
		}
		if _, err := w.Calls.Run(ctx, 2*w.most-1); err != nil {
			return err
		}
		last, _, err := w.once(ctx)
		if err != nil {
			return err
		}
		if !finite(w.kernel.arguments, first, last) {
			break
		}
		w.most *= 2
	}
	w.Known["calls between restores"] = w.most
	return w.resetAll()
}

// resetAll gives all arrays the contents that they had before the first call.
func (w *work) resetAll() error {
	for i, a := range w.kernel.arguments {
		if a.array != nil {
			if err := reset(w.args[i].(*runtime.Tensor), a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) restoreAll() error {
	for _, r := range w.changed {
		if err := r.array.CopyFromTensor(r.before, nil); err != nil {
			return err
		}
	}
	return nil
}

// Run calls the function n times. The time of restoring arrays is not part of the result.
func (w *work) Run(ctx context.Context, n int) (total bench.Elapsed, err error) {
	if w.changed == nil {
		return w.Calls.Run(ctx, n)
	}
	for n > 0 {
		k := min(n, w.most)
		if err := w.restoreAll(); err != nil {
			return total, err
		}
		if err := runtime.SyncDevice(ctx, w.On); err != nil {
			return total, err
		}
		took, err := w.Calls.Run(ctx, k)
		if err != nil {
			return total, err
		}
		total.Wall += took.Wall
		total.Device += took.Device
		n -= k
	}
	return total, nil
}
