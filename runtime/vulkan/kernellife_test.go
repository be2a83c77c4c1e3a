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

// Kernels run after their module is closed, and launches complete after their arguments are closed.
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
			require.NoError(t, x.Close(), "while the launch is enqueued")
		}
		require.NoError(t, k.Close(), "while the launch is enqueued")
	}
	require.Equal(t, numbers(n, func(int) float32 { return 32 }), values[float32](t, sum))
}

// A new stream may have the address of a freed one, and its batches the same numbers. Its batches still keep the
// pipelines that they run.
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
				require.NoError(t, k.Close(), "while the launch is enqueued")
			}
			require.NoError(t, s.Sync(t.Context()))
			require.NoError(t, s.Close())
		}
	}
	require.Equal(t, slices.Repeat([]uint32{20}, n), values[uint32](t, x))
}

// Many goroutines launch at once, on the default stream and on their own streams, with frequent garbage collections.
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

// Twenty thousand dispatches do not increase the memory of the process.
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
			values[uint32](t, x) // waits, because enqueued commands take memory
		}
		goruntime.GC()
	}
	run(20)
	const most = 8 << 20
	runs, grown := 1, int64(most)
	// A leak grows in every run; the heaps of Go and of the driver grow only sometimes.
	for ; grown >= most && runs < 6; runs++ {
		before := resident(t)
		run(20)
		grown = resident(t) - before
	}
	require.Less(t, grown, int64(most), "growth of the process in bytes")
	require.Equal(t, slices.Repeat([]uint32{uint32(runs) * 10000}, 64), values[uint32](t, x))
}

// resident returns the resident memory of this process, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var total, pages int64
	_, err = fmt.Sscan(string(text), &total, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}
