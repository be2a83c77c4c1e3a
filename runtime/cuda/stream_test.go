//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestStream_Priorities(t *testing.T) {
	need(t)
	noLeaks(t)
	for _, dev := range present() {
		least, greatest, err := runtime.StreamPriorities(dev)
		require.NoError(t, err)
		require.Less(t, greatest, least)
		x, y := tensor(t, dev, counting(100, 1)), tensor(t, dev, make([]float32, 100))
		for _, p := range []int{least, greatest} {
			q := must.Get(runtime.NewStreamWithPriority(dev, p))(t)
			require.NoError(t, y.CopyFromTensor(x, q))
			require.NoError(t, q.Sync(t.Context()))
			require.NoError(t, q.Close())
		}
		require.Equal(t, counting(100, 1), slice(t, y))
		for _, p := range []int{least + 1, greatest - 1} {
			_, err = runtime.NewStreamWithPriority(dev, p)
			require.ErrorIs(t, err, runtime.ErrInvalidArgument)
			require.ErrorContains(t, err, "is out of range: ")
		}
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
	}
}

// The three kinds of memory share streams, and streams of two devices can wait for each other.
func TestStream_Order(t *testing.T) {
	need(t)
	noLeaks(t)
	other := present()[len(present())-1]
	const n = 1 << 18
	x, y := tensor(t, first, counting(n, 3)), tensor(t, first, make([]float32, n))
	z := tensor(t, on(dlpack.CUDAManaged, other), make([]float32, n))
	a, b, c := stream(t, first), stream(t, on(dlpack.CUDAHost, first)), stream(t, on(dlpack.CUDAManaged, other))
	for range 3 {
		require.NoError(t, y.CopyFromTensor(x, a))
		require.NoError(t, b.WaitFor(a))
		require.NoError(t, c.WaitFor(b))
		require.NoError(t, z.CopyFromTensor(y, c))
		require.NoError(t, a.WaitFor(c))
	}
	require.NoError(t, c.Sync(t.Context()))
	require.NoError(t, a.Sync(t.Context()))
	require.Equal(t, counting(n, 3), slice(t, z))
	for _, q := range []*runtime.Stream{a, b, c} {
		require.NoError(t, q.Close())
	}
	for _, c := range []*runtime.Tensor{x, y, z} {
		require.NoError(t, c.Close())
	}
}

// A timer of one device cannot be used with a stream of another.
func TestTimer_OtherDevice(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	timer := must.Get(runtime.NewTimer(first))(t)
	q := stream(t, second)
	require.ErrorIs(t, timer.Start(q), runtime.ErrInvalidArgument)
	require.ErrorContains(t, timer.Stop(nil), "stop timer: it was not started")
	require.ErrorContains(t, must.Fail(timer.Elapsed()), "read timer: it was not stopped")
	require.NoError(t, timer.Close())
	require.NoError(t, q.Close())
}

// Each launch of a graph runs the captured work with the current data of its memory.
func TestGraph(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 1000
	for _, dev := range present() {
		q, other := stream(t, dev), stream(t, dev)
		in, out := tensor(t, on(dlpack.CUDAHost, dev), make([]float32, n)), tensor(t, on(dlpack.CUDAHost, dev),
			make([]float32, n))
		x, y := tensor(t, dev, make([]float32, n)), tensor(t, dev, make([]float32, n))
		locked := must.Get(runtime.NewPinnedTensor(dlpack.Float32, []int64{n}, dev))(t)
		g, err := q.Capture(func() error {
			for _, c := range [][2]*runtime.Tensor{{x, in}, {y, x}, {out, y}, {locked, y}} {
				if err := c[0].CopyFromTensor(c[1], q); err != nil {
					return err
				}
			}
			z, err := runtime.NewTensor(dlpack.Float32, []int64{n}, dev) // allocated at once, freed after the capture
			if err != nil {
				return err
			}
			return z.Close()
		})
		require.NoError(t, err)
		require.Equal(t, make([]float32, n), slice(t, x), "a capture runs nothing")
		for round, on := range []*runtime.Stream{q, other, nil} {
			data := counting(n, float32(round+1))
			require.NoError(t, runtime.CopyFrom(in, data))
			require.NoError(t, g.Launch(on))
			if on == nil {
				require.NoError(t, runtime.SyncDevice(t.Context(), dev))
			} else {
				require.NoError(t, on.Sync(t.Context()))
			}
			require.Equal(t, data, slice(t, out))
			require.Equal(t, data, slice(t, locked))
		}
		require.NoError(t, g.Launch(q))
		require.NoError(t, g.Close(), "while a launch is enqueued")
		require.NoError(t, q.Sync(t.Context()))
		for _, c := range []*runtime.Tensor{in, out, x, y, locked} {
			require.NoError(t, c.Close())
		}
		require.NoError(t, q.Close())
		require.NoError(t, other.Close())
	}
}

// Work that cannot be captured is an error, or ends the capture with an error. The stream still works afterwards.
func TestGraph_Rejected(t *testing.T) {
	need(t)
	noLeaks(t)
	q := stream(t, first)
	x := tensor(t, first, make([]float32, 8))
	host := must.Get(runtime.NewTensor(dlpack.Float32, []int64{8}, runtime.CPU))(t)
	works := func() {
		t.Helper()
		y := tensor(t, first, counting(8, 1))
		require.NoError(t, x.CopyFromTensor(y, q))
		require.NoError(t, q.Sync(t.Context()))
		require.Equal(t, counting(8, 1), slice(t, x))
		require.NoError(t, y.Close())
	}

	_, err := q.Capture(func() error { return x.CopyFromTensor(host, q) })
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err, "ordinary host memory cannot be copied: use page-locked memory")
	works()
	_, err = q.Capture(func() error {
		_, err := q.NewTensor(dlpack.Float32, []int64{8})
		return err
	})
	require.Error(t, err)
	works()
	_, err = q.Capture(func() error {
		_, err := q.Capture(func() error { return nil })
		return err
	})
	require.ErrorContains(t, err, "records already")
	works()
	require.Error(t, must.Fail((*runtime.Stream)(nil).Capture(func() error { return nil })))

	if fakeLibrary != "" { // errors as if other code had called the driver during the capture
		driver := needFake(t)
		for code, text := range map[int]string{901: "cannot be captured, such as a wait",
			904: "make this stream wait for that one"} {
			driver.FailAt(1, code, "cuStreamEndCapture")
			require.ErrorContains(t, must.Fail(q.Capture(func() error { return x.CopyFromTensor(x, q) })), text)
			require.True(t, driver.Failed())
			works()
		}
		driver.FailAt(1, 2, "cuGraphInstantiate*")
		require.ErrorIs(t, must.Fail(q.Capture(func() error { return x.CopyFromTensor(x, q) })), runtime.ErrOutOfMemory)
		require.True(t, driver.Failed())
	}
	works()
	require.NoError(t, x.Close())
	require.NoError(t, host.Close())
	require.NoError(t, q.Close())
}
