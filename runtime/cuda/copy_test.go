//go:build cuda

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

var kinds = []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged}

// Every kind of memory can be copied to every other, on one device and between two.
func TestCopy_BetweenKinds(t *testing.T) {
	need(t)
	noLeaks(t)
	for _, from := range kinds {
		for _, to := range kinds {
			for _, there := range present() {
				a, b := on(from, first), on(to, there)
				t.Run(fmt.Sprintf("%v to %v", a, b), func(t *testing.T) {
					data := counting(1000, 5)
					x, y := tensor(t, a, data), tensor(t, b, make([]float32, 1000))
					require.NoError(t, y.CopyFromTensor(x, nil))
					require.NoError(t, runtime.SyncDevice(t.Context(), first))
					require.NoError(t, runtime.SyncDevice(t.Context(), there))
					require.Equal(t, data, slice(t, y))
					for _, dev := range []dlpack.Device{first, there} { // a stream of either device
						q := stream(t, dev)
						require.NoError(t, runtime.CopyFrom(y, make([]float32, 1000)))
						require.NoError(t, y.CopyFromTensor(x, q))
						require.NoError(t, q.Sync(t.Context()))
						require.Equal(t, data, slice(t, y))
						require.NoError(t, q.Close())
					}
					require.NoError(t, x.Close())
					require.NoError(t, y.Close())
				})
			}
		}
	}
}

// Source and destination of a copy may overlap, in both directions.
func TestCopy_Overlapping(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 1000
	for _, of := range kinds {
		for _, c := range []struct{ from, to int64 }{{0, 7}, {7, 0}, {3, 3}, {0, 500}, {500, 0}} {
			data := counting(n, 1)
			x := tensor(t, on(of, first), data)
			q := stream(t, first)
			from := must.Get(x.View(dlpack.Float32, []int64{n / 2}, nil, c.from*4))(t)
			to := must.Get(x.View(dlpack.Float32, []int64{n / 2}, nil, c.to*4))(t)
			require.NoError(t, to.CopyFromTensor(from, q))
			require.NoError(t, q.Sync(t.Context()))
			copy(data[c.to:c.to+n/2], data[c.from:c.from+n/2])
			require.Equal(t, data, slice(t, x), "%v: %d to %d", of, c.from, c.to)
			for _, v := range []*runtime.Tensor{from, to, x} {
				require.NoError(t, v.Close())
			}
			require.NoError(t, q.Close())
		}
	}
}

// A copy with memory of the CPU is done when the call returns, page-locked or not. A copy with memory of cuda_host is
// enqueued.
func TestCopy_HostMemory(t *testing.T) {
	driver := needFake(t)
	noLeaks(t)
	const n = 4096
	data := counting(n, 1)
	ordinary := must.Get(runtime.NewTensor(dlpack.Float32, []int64{n}, runtime.CPU))(t)
	locked := must.Get(runtime.NewPinnedTensor(dlpack.Float32, []int64{n}, first))(t)
	queued := tensor(t, on(dlpack.CUDAHost, first), data)
	x := tensor(t, first, make([]float32, n))
	q := stream(t, first)
	// With TVMGO_VALIDATE, events follow copies of page-locked memory, and freed memory is released later.
	done := func() bool { return os.Getenv("TVMGO_VALIDATE") != "" || driver.Pending() == 0 }
	driver.Set(t, "delay_us", 20000)
	defer driver.Set(t, "delay_us", 0)
	for name, host := range map[string]*runtime.Tensor{"ordinary": ordinary, "page-locked": locked} {
		require.NoError(t, runtime.CopyFrom(host, data))
		require.NoError(t, x.CopyFromTensor(host, q))
		require.True(t, done(), name)
		require.NoError(t, runtime.CopyFrom(host, make([]float32, n))) // the caller may change it now
		require.Equal(t, data, slice(t, x), name)
		require.NoError(t, host.CopyFromTensor(x, q))
		require.True(t, done(), name)
		require.Equal(t, data, slice(t, host), name)
	}
	require.NoError(t, x.CopyFromTensor(queued, q))
	require.NotZero(t, driver.Pending(), "a copy from cuda_host is enqueued")
	require.NoError(t, q.Sync(t.Context()))
	require.NoError(t, queued.CopyFromTensor(x, q))
	require.NotZero(t, driver.Pending(), "a copy to cuda_host is enqueued")
	require.NoError(t, queued.Close(), "freeing it waits for the copy")
	require.True(t, done())
	for _, c := range []*runtime.Tensor{ordinary, locked, x} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, q.Close())
}

// A copy between two devices on the default stream is ordered with the default streams of both.
func TestCopy_PeersOnDefaultStreams(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	const n = 1 << 18
	x, y := tensor(t, first, counting(n, 1)), tensor(t, second, make([]float32, n))
	z := tensor(t, second, counting(n, 9))
	for range 5 {
		require.NoError(t, y.CopyFromTensor(z, nil)) // within the second device
		require.NoError(t, y.CopyFromTensor(x, nil)) // between the devices, after the first copy
		require.NoError(t, z.CopyFromTensor(y, nil)) // within the second device, after the second copy
		require.NoError(t, runtime.SyncDevice(t.Context(), second))
		require.Equal(t, counting(n, 1), slice(t, z))
	}
	// x is freed while the other device reads it.
	q := stream(t, second)
	require.NoError(t, y.CopyFromTensor(x, q))
	require.NoError(t, x.Close())
	require.NoError(t, q.Sync(t.Context()))
	require.Equal(t, counting(n, 1), slice(t, y))
	for _, c := range []*runtime.Tensor{y, z} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, q.Close())
}

// Memory can be freed while a stream of its own or of another device copies it. The driver's free waits only for its
// own device, and for no device if the memory comes from a pool.
func TestFree_WhileAPeerCopies(t *testing.T) {
	driver := needFake(t)
	needTwo(t)
	noLeaks(t)
	const n = 1 << 12
	driver.Set(t, "delay_us", 20000)
	defer driver.Set(t, "delay_us", 0)
	for name, make := range map[string]func() *runtime.Tensor{
		"device":      func() *runtime.Tensor { return tensor(t, first, counting(n, 1)) },
		"cuda_host":   func() *runtime.Tensor { return tensor(t, on(dlpack.CUDAHost, first), counting(n, 1)) },
		"of a stream": func() *runtime.Tensor { return streamTensor(t, counting(n, 1)) },
	} {
		for _, dev := range present() {
			reports := len(driver.Reports())
			q := stream(t, dev)
			x, y := make(), tensor(t, dev, counting(n, 9))
			require.NoError(t, y.CopyFromTensor(x, q))
			require.NoError(t, x.Close())
			require.NoError(t, q.Sync(t.Context()))
			require.Equal(t, counting(n, 1), slice(t, y), name)
			require.Len(t, driver.Reports(), reports, "%s: %v", name, driver.Reports()[reports:])
			require.NoError(t, y.Close())
			require.NoError(t, q.Close())
		}
	}
}

// streamTensor returns memory of a stream that is closed.
func streamTensor(t *testing.T, data []float32) *runtime.Tensor {
	q := stream(t, first)
	x := must.Get(q.NewTensor(dlpack.Float32, []int64{int64(len(data))}))(t)
	require.NoError(t, q.Sync(t.Context()))
	require.NoError(t, q.Close())
	require.NoError(t, runtime.CopyFrom(x, data))
	return x
}

// Large copies of ordinary memory go in chunks through a few page-locked buffers. Each is done when the call returns,
// in the order of its stream, also if a call of the driver fails.
func TestCopy_Staged(t *testing.T) {
	driver := needFake(t)
	noLeaks(t)
	must.Get(cuda.Trim(0))(t)
	locked := func() (bytes int) {
		for _, text := range driver.Leaks(false) {
			var n int
			if _, err := fmt.Sscanf(text, "%d bytes of page-locked memory", &n); err == nil {
				bytes += n
			}
		}
		return bytes
	}
	before := locked()
	const n = 5<<18 + 7 // more than five chunks
	data := counting(n, 1)
	copyBoth := func(x *runtime.Tensor, q *runtime.Stream) error {
		host := must.Get(runtime.NewTensor(dlpack.Float32, []int64{n}, runtime.CPU))(t)
		defer host.Close()
		require.NoError(t, runtime.CopyFrom(host, data))
		if err := x.CopyFromTensor(host, q); err != nil {
			return err
		}
		require.NoError(t, runtime.CopyFrom(host, make([]float32, n))) // the caller may change it now
		if err := host.CopyFromTensor(x, q); err != nil {
			return err
		}
		require.Equal(t, data, slice(t, host))
		return nil
	}
	q := stream(t, first)
	for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAManaged} {
		x := tensor(t, on(of, first), make([]float32, n))
		executed := driver.Executed()
		require.NoError(t, copyBoth(x, q))
		require.GreaterOrEqual(t, driver.Executed()-executed, int64(12), "the copy consists of chunks")
		require.Positive(t, locked()-before)
		require.NoError(t, x.Close())
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		x, q := tensor(t, first, make([]float32, n)), stream(t, first)
		wg.Go(func() { errs[i] = copyBoth(x, q) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.LessOrEqual(t, locked()-before, 4<<20, "copies at the same time share the buffers")

	x := tensor(t, first, make([]float32, n))
	failed := 0
	for k := int64(1); ; k++ {
		driver.FailAt(k, 1, "cuMemcpy*", "cuEvent*", "cuStreamSynchronize", "cuMemHostAlloc")
		err := copyBoth(x, q)
		happened := driver.Failed()
		driver.FailAt(0, 0)
		if !happened {
			require.NoError(t, err)
			break
		}
		if err != nil {
			failed++
			require.ErrorContains(t, err, "CUDA_ERROR_INVALID_VALUE")
		}
		require.Zero(t, driver.Pending(), "nothing uses the buffers after call %d failed", k)
	}
	require.Greater(t, failed, 20)
	require.NoError(t, copyBoth(x, q))
	require.Empty(t, driver.Reports())
	require.NoError(t, x.Close())
	require.NoError(t, q.Close())
	must.Get(cuda.Trim(0))(t)
	require.Equal(t, before, locked(), "Trim frees the unused buffers")
}
