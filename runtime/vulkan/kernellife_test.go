package vulkan_test

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

// Kernels and functions work after their module and their arguments are closed.
func TestKernel_OutlivesItsModule(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 1 << 16
	sum := array(t, first, make([]float32, n))
	for range 4 {
		m, err := runtime.NewDeviceModule("vulkan", "", words(t, "add"), types["add"]...)
		require.NoError(t, err)
		k, err := m.Kernel("add")
		require.NoError(t, err)
		require.NoError(t, m.Close())
		for range 8 {
			x := array(t, first, numbers(n, func(int) float32 { return 1 }))
			require.NoError(t, k.Launch(nil, runtime.Dim3{n / 64}, runtime.Dim3{64}, x, sum, sum, n))
			require.NoError(t, x.Close(), "while it is queued")
		}
		require.NoError(t, k.Close(), "while it is queued")
	}
	require.Equal(t, numbers(n, func(int) float32 { return 32 }), values[float32](t, sum))
}

// A stream may lie where another lay before, and counts its work anew: it holds what it runs all the same.
func TestKernel_OutlivesItsModuleOnStreamsThatComeAndGo(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 1 << 20
	x := array(t, first, make([]uint32, n))
	for range 5 {
		m, err := runtime.NewDeviceModule("vulkan", "", words(t, "two"), types["two"]...)
		require.NoError(t, err)
		k, err := m.Kernel("step")
		require.NoError(t, err)
		require.NoError(t, m.Close())
		for i := range 4 {
			s, err := runtime.NewStream(first)
			require.NoError(t, err)
			require.NoError(t, k.Launch(s, runtime.Dim3{n / 64}, runtime.Dim3{64}, x, 1, 1))
			if i == 3 {
				require.NoError(t, k.Close(), "while it is queued")
			}
			require.NoError(t, s.Sync(t.Context()))
			require.NoError(t, s.Close())
		}
	}
	require.Equal(t, slices.Repeat([]uint32{20}, n), values[uint32](t, x))
}

// Many goroutines launch at once, on streams of their own and on one, while the collector runs all the time; each
// kernel is made once.
func TestKernel_ManyAtOnce(t *testing.T) {
	need(t)
	noLeaks(t)
	defer gputest.Collect()()
	var all sync.WaitGroup
	step, many := shader(t, "two"), shader(t, "scalars")
	errs := make([]error, 8)
	xs, sums := make([]*runtime.Tensor, len(errs)), make([]*runtime.Tensor, len(errs))
	args, sum := twentyValues(5)
	for i := range errs {
		dev := present()[i%len(present())]
		xs[i], sums[i] = array(t, dev, make([]uint32, 64)), array(t, dev, make([]float32, 4))
		var s *runtime.Stream
		if i%2 == 1 {
			s = newStream(t, dev)
		}
		all.Go(func() {
			for j := range 50 {
				if err := step.Launch(s, one, runtime.Dim3{64}, xs[i], 3, uint32(i)); err != nil {
					errs[i] = err
				}
				if err := many.Launch(s, one, runtime.Dim3{4}, append([]any{sums[i]}, args...)...); err != nil {
					errs[i] = err
				}
				if s != nil && j%20 == 0 {
					if err := s.Sync(t.Context()); err != nil {
						errs[i] = err
					}
				}
			}
			if s != nil {
				errs[i] = s.Sync(t.Context())
			}
		})
	}
	all.Wait()
	for i := range errs {
		require.NoError(t, errs[i])
		var want uint32
		for range 50 {
			want = want*3 + uint32(i)
		}
		require.Equal(t, slices.Repeat([]uint32{want}, 64), values[uint32](t, xs[i]))
		require.Equal(t, slices.Repeat([]float32{sum}, 4), values[float32](t, sums[i]))
	}
}

// Twenty thousand dispatches leave the process as large as those before them did.
func TestKernel_NoGrowth(t *testing.T) {
	need(t)
	noLeaks(t)
	step, many := shader(t, "two"), shader(t, "scalars")
	x, y := array(t, first, make([]uint32, 64)), array(t, first, make([]float32, 4))
	args, _ := twentyValues(0)
	run := func(rounds int) {
		for range rounds {
			for range 500 {
				require.NoError(t, step.Launch(nil, one, runtime.Dim3{64}, x, 1, 1))
				require.NoError(t, many.Launch(nil, one, runtime.Dim3{4}, append([]any{y}, args...)...))
			}
			values[uint32](t, x) // waits: what is queued takes memory while it is
		}
		goruntime.GC()
	}
	run(20)
	const most = 8 << 20
	runs, grown := 1, int64(most)
	// what leaks grows every time, the heaps of Go and of the driver now and then
	for ; grown >= most && runs < 6; runs++ {
		before := resident(t)
		run(20)
		grown = resident(t) - before
	}
	require.Less(t, grown, int64(most), "bytes that the process grew by")
	require.Equal(t, slices.Repeat([]uint32{uint32(runs) * 10000}, 64), values[uint32](t, x))
}

// resident is the memory of this process, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var total, pages int64
	_, err = fmt.Sscan(string(text), &total, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}
