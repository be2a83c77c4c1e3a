package suite

import (
	"context"
	"errors"
	"fmt"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/memory"
	"tvmgo/runtime"
)

// resources are what an operation owns, to be closed in reverse order.
type resources []func() error

// keep adds what has to be closed, unless there is an error: x, err := keep(runtime.NewStream(dev))(r).
func keep[T interface{ Close() error }](x T, err error) func(*resources) (T, error) {
	return func(r *resources) (T, error) {
		if err == nil {
			*r = append(*r, x.Close)
		}
		return x, err
	}
}

// Close closes all, the last one first.
func (r *resources) Close() (err error) {
	for i := len(*r) - 1; i >= 0; i-- {
		err = errors.Join(err, (*r)[i]())
	}
	*r = nil
	return err
}

// opener prepares an operation on a device; what it owns is added to r.
type opener func(ctx context.Context, on *bench.Device, r *resources) (bench.Work, error)

// variant is the only one of a case. If open fails, what it has allocated is freed.
func variant(open opener) []bench.Variant {
	return []bench.Variant{{Open: func(ctx context.Context, on *bench.Device) (bench.Work, error) {
		r := &resources{}
		w, err := open(ctx, on, r)
		if err != nil {
			if e := r.Close(); e != nil {
				err = errors.Join(err, e)
			}
			return nil, lacks(err)
		}
		return w, nil
	}}}
}

// lacks marks an error that means that the device or the machine lacks something, or that memory is full.
func lacks(err error) error {
	if !errors.Is(err, bench.ErrNotMeasured) &&
		(errors.Is(err, runtime.ErrNotSupported) || errors.Is(err, runtime.ErrOutOfMemory)) {
		return fmt.Errorf("%w: %w", bench.ErrNotMeasured, err)
	}
	return err
}

// notMeasured returns an ErrNotMeasured with a reason.
func notMeasured(format string, args ...any) error {
	return fmt.Errorf("%w: %s", bench.ErrNotMeasured, fmt.Sprintf(format, args...))
}

// wrong returns an ErrWrongResult that says what is wrong.
func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", bench.ErrWrongResult, fmt.Sprintf(format, args...))
}

// needMemory returns an ErrNotMeasured if numbers of bytes do not fit into the memory of a device, or of this process
// on the host: it names the memory, what is needed and what there is. Memory that a device does not report fits.
func needMemory(on *bench.Device, device, host int64) error {
	if on.Handle.Type == dlpack.CPU {
		host, device = host+device, 0
	}
	if have := memory.Available(); host > have {
		return notMeasured("the memory of the host is too small: %s are needed, and this process can allocate %s",
			memory.Text(host), memory.Text(have))
	}
	if device == 0 {
		return nil
	}
	total, free, err := deviceMemory(on.Handle)
	if err != nil {
		return fmt.Errorf("memory of %s: %w", on.Name, err)
	}
	if total > 0 && device > free {
		return notMeasured("the memory of %s is too small: %s are needed, and %s of %s are free", on.Name,
			memory.Text(device), memory.Text(free), memory.Text(total))
	}
	return nil
}

// deviceMemory returns the bytes of a device's memory, and how many of them are free as far as the device says; 0 if it
// says nothing.
func deviceMemory(dev dlpack.Device) (total, free int64, err error) {
	s, err := runtime.DeviceMemory(dev)
	if err != nil && !errors.Is(err, runtime.ErrNotSupported) {
		return 0, 0, err
	}
	if s.Total > 0 {
		if s.Free > 0 {
			return s.Total, s.Free, nil
		}
		return s.Total, max(0, s.Total-s.Data-s.Workspace), nil
	}
	v, err := runtime.DeviceAttr(dev, runtime.AttrTotalGlobalMemory)
	total, _ = v.(int64)
	return total, max(0, total-s.Data-s.Workspace), err
}
