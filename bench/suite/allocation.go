package suite

import (
	"context"
	"fmt"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/memory"
	"tvmgo/runtime"
)

// The sizes of allocations and workspaces.
var (
	allocationSizes = []int64{4 << 10, 1 << 20, 64 << 20}
	workspaceSizes  = []int64{4 << 10, 64 << 10, 1 << 20}
	nestedSizes     = []int64{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}
)

// sizeName returns a size as names have it: "64MiB".
func sizeName(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%dMiB", n>>20)
	}
	return fmt.Sprintf("%dKiB", n>>10)
}

// allocations returns the cases that allocate memory and free it. None of them touches the memory while it is timed.
func allocations() (list []*bench.Case) {
	add := func(family string, sizes []int64, doc string, by func(*bench.Device, *runtime.Stream) allocator) {
		for _, n := range sizes {
			k := launchCase(family+"_"+sizeName(n), doc+": "+memory.Text(n), openAllocation([]int64{n}, by))
			k.Family = "launch/" + family
			list = append(list, k)
		}
	}
	add("allocate_free", allocationSizes, "allocate memory of the device and free it",
		func(on *bench.Device, _ *runtime.Stream) allocator {
			return func(n int64) (*runtime.Tensor, error) {
				return runtime.NewTensor(dlpack.UInt8, []int64{n}, on.Handle)
			}
		})
	add("stream_allocate_free", allocationSizes, "allocate memory in the order of a stream and free it",
		func(_ *bench.Device, s *runtime.Stream) allocator {
			return func(n int64) (*runtime.Tensor, error) { return s.NewTensor(dlpack.UInt8, []int64{n}) }
		})
	workspace := func(on *bench.Device, s *runtime.Stream) allocator {
		return func(n int64) (*runtime.Tensor, error) {
			return runtime.NewWorkspace(dlpack.UInt8, []int64{n}, on.Handle, s)
		}
	}
	add("workspace", workspaceSizes, "take a workspace from the pool and return it", workspace)
	return append(list, launchCase("workspace_nested",
		"take workspaces of 4, 16, 64, 256 and 1024 KiB and return them in reverse order",
		openAllocation(nestedSizes, workspace)))
}

// allocator allocates a number of bytes.
type allocator func(n int64) (*runtime.Tensor, error)

// openAllocation prepares the allocation of memory of some sizes, which is freed in reverse order.
func openAllocation(sizes []int64, by func(*bench.Device, *runtime.Stream) allocator) opener {
	return func(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
		total := int64(0)
		for _, n := range sizes {
			total += n
		}
		if err := needMemory(on, total, 0); err != nil {
			return nil, err
		}
		s, err := keep(runtime.NewStream(on.Handle))(r)
		if err != nil {
			return nil, err
		}
		// Idle workspaces of the pool go back to the device when the case ends.
		*r = append(*r, func() error {
			_, err := runtime.TrimWorkspaces(on.Handle)
			return err
		})
		a := &allocation{allocate: by(on, s), sizes: sizes, stream: s, live: make([]*runtime.Tensor, 0, len(sizes))}
		*r = append(*r, func() error { return a.free(nil) }) // after an error
		if a.staging, err = keep(runtime.NewTensor(dlpack.UInt8, []int64{1}, runtime.CPU))(r); err != nil {
			return nil, err
		}
		wait := func(context.Context) error { return s.Sync(context.Background()) }
		return &latency{resources: r, operation: func() error { return a.run(nil) }, wait: wait,
			check: func(context.Context) (string, error) { return a.check() }}, nil
	}
}

// allocation allocates memory of some sizes and frees it.
type allocation struct {
	allocate allocator
	sizes    []int64
	live     []*runtime.Tensor
	stream   *runtime.Stream
	staging  *runtime.Tensor // a byte of the host
	seed     byte
}

// run allocates everything, calls use, unless it is nil, and frees everything.
func (a *allocation) run(use func() error) error {
	for _, n := range a.sizes {
		t, err := a.allocate(n)
		if err != nil {
			return a.free(err)
		}
		a.live = append(a.live, t)
	}
	if use != nil {
		if err := use(); err != nil {
			return a.free(err)
		}
	}
	return a.free(nil)
}

// free frees what is allocated, the last first, and returns err, or else the first error.
func (a *allocation) free(err error) error {
	for i := len(a.live) - 1; i >= 0; i-- {
		if e := a.live[i].Close(); err == nil {
			err = e
		}
	}
	a.live = a.live[:0]
	return err
}

// check writes the first and the last byte of all memory, each with another value, and reads them back.
func (a *allocation) check() (string, error) {
	return "the first and the last byte are written and read", a.run(func() error {
		for _, read := range []bool{false, true} {
			value := a.seed
			for i, t := range a.live {
				if t.Size() != a.sizes[i] {
					return wrong("an allocation of %d bytes has %d", a.sizes[i], t.Size())
				}
				for _, at := range []int64{0, t.Size() - 1} {
					value += 17
					if err := a.access(t, at, value, read); err != nil {
						return err
					}
				}
			}
			if read {
				a.seed = value
			}
		}
		return nil
	})
}

// access writes a byte, or compares it with a value.
func (a *allocation) access(t *runtime.Tensor, at int64, value byte, read bool) error {
	v, err := t.View(dlpack.UInt8, []int64{1}, nil, at)
	if err != nil {
		return err
	}
	defer v.Close()
	if !read {
		if err := a.staging.CopyFromBytes([]byte{value}); err != nil {
			return err
		}
		if err := v.CopyFromTensor(a.staging, a.stream); err != nil {
			return err
		}
		return a.stream.Sync(context.Background())
	}
	if err := a.staging.CopyFromBytes([]byte{^value}); err != nil {
		return err
	}
	if err := a.staging.CopyFromTensor(v, a.stream); err != nil {
		return err
	}
	if err := a.stream.Sync(context.Background()); err != nil {
		return err
	}
	var got [1]byte
	if err := a.staging.CopyToBytes(got[:]); err != nil {
		return err
	}
	if got[0] != value {
		return wrong("byte %d of %d is %d after %d was written", at, t.Size(), got[0], value)
	}
	return nil
}
