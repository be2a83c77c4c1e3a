//go:build cuda

package cuda_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

// A kernel may be used for the first time in a capture, and its module closed then: loading and unloading are not
// captured, and the graph keeps the kernels that it launches.
func TestKernel_FirstUsedInACapture(t *testing.T) {
	need(t)
	leavesNothing(t)
	m := must.Get(runtime.NewDeviceModule("cuda", "ptx", testdata(t, "kernels.ptx"), kernels...))(t)
	k := must.Get(m.Kernel("scale"))(t)
	unused := ptx(t, kernels...)
	x := tensor(t, first, []float32{1, 2})
	y := tensor(t, first, []float32{1})
	require.NoError(t, kernel(t, unused, "scale").Launch(nil, one, one, y, 1, 1))
	require.NoError(t, runtime.SyncDevice(t.Context(), first))
	s := stream(t, first)
	g, err := s.Capture(func() error {
		if err := k.Launch(s, one, runtime.Dim3{2}, x, 3, 2); err != nil {
			return err
		}
		return unused.Close()
	})
	require.NoError(t, err)
	require.NoError(t, k.Close())
	require.NoError(t, m.Close())
	for range 2 {
		require.NoError(t, g.Launch(s))
	}
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []float32{9, 18}, slice(t, x))
	require.NoError(t, g.Close())
}

// While another library captures in the global mode, on any device, allocating, freeing, trimming and waiting work, and
// do not affect the capture.
func TestOtherLibraryCaptures(t *testing.T) {
	driver := needFake(t)
	needTwo(t)
	noLeaks(t)
	for _, d := range present() { // creates the contexts
		x := tensor(t, d, counting(8, 1))
		require.NoError(t, x.Close())
	}
	for device := range present() {
		for _, blocking := range []bool{false, true} {
			reports := len(driver.Reports())
			q := stream(t, first)
			end := driver.Capture(t, device, blocking)
			require.NoError(t, everythingWithout(t, q, device == 0 && blocking))
			must.Get(cuda.Trim(0))(t)
			require.True(t, end(), "device %d, blocking %t: %v", device, blocking, driver.Reports()[reports:])
			require.Len(t, driver.Reports(), reports)
			require.NoError(t, q.Close())
		}
	}
}

// everythingWithout allocates, copies, waits and frees on the first device while streams capture. With noDefault,
// waiting for the default stream must be an error, because that would include a wait for a capturing stream.
func everythingWithout(t *testing.T, q *runtime.Stream, noDefault bool) error {
	for _, of := range kinds {
		x := empty(t, dlpack.Float32, []int64{64}, on(of, first))
		host := tensor(t, runtime.CPU, counting(64, 1))
		require.NoError(t, x.CopyFromTensor(host, q))
		require.NoError(t, q.Sync(t.Context()))
		if err := x.Close(); err != nil {
			return err
		}
	}
	x := must.Get(q.NewTensor(dlpack.Float32, []int64{64}))(t)
	pinned := must.Get(runtime.NewPinnedTensor(dlpack.Float32, []int64{64}, first))(t)
	require.NoError(t, x.CopyFromTensor(pinned, q))
	timer := must.Get(runtime.NewTimer(first))(t)
	require.NoError(t, timer.Start(q))
	require.NoError(t, timer.Stop(q))
	must.Get(timer.Elapsed())(t)
	err := runtime.SyncDevice(t.Context(), first)
	if noDefault {
		require.ErrorContains(t, err, "the default stream of cuda:0 waits for a stream that captures a graph: wait for it "+
			"after the end of the capture")
		err = nil
	}
	require.NoError(t, err)
	_, err = runtime.DeviceMemory(first)
	return errors.Join(err, timer.Close(), x.Close(), pinned.Close())
}

// If a stream captures, in this package or in another library, on any device, memory is freed after the captures end.
func TestFree_DeferredByCaptures(t *testing.T) {
	driver := needFake(t)
	needTwo(t)
	if os.Getenv("TVMGO_VALIDATE") != "" {
		t.Skip("validation delays the release of freed memory")
	}
	noLeaks(t)
	hosts := func() (n int) {
		for _, text := range driver.Leaks(false) {
			if strings.Contains(text, "page-locked") {
				n++
			}
		}
		return n
	}
	for _, d := range present() {
		require.NoError(t, tensor(t, d, counting(8, 1)).Close())
	}
	before := hosts()
	for device, d := range present() {
		x := must.Get(runtime.NewPinnedTensor(dlpack.Float32, []int64{64}, first))(t)
		require.Equal(t, before+1, hosts(), "%v", driver.Leaks(false))
		memory := must.Get(runtime.DeviceMemory(first))(t)
		end := driver.Capture(t, device, true)
		require.NoError(t, x.Close())
		require.Equal(t, before+1, hosts(), "another library captures on device %d", device)
		now := must.Get(runtime.DeviceMemory(first))(t)
		require.Equal(t, memory.Pinned-256, now.Pinned, "the statistics count it as freed")
		require.NoError(t, empty(t, dlpack.Float32, []int64{8}, first).Close())
		require.Equal(t, before+1, hosts())
		require.True(t, end())
		require.NoError(t, empty(t, dlpack.Float32, []int64{8}, d).Close())
		require.Equal(t, before, hosts(), "the next call frees it")

		x = must.Get(runtime.NewPinnedTensor(dlpack.Float32, []int64{64}, first))(t)
		q := stream(t, d)
		g, err := q.Capture(func() error {
			if err := x.Close(); err != nil {
				return err
			}
			require.Equal(t, before+1, hosts())
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, before, hosts(), "the end of the capture on %v frees it", d)
		require.NoError(t, g.Close())
		require.NoError(t, q.Close())
	}
}

// If the driver's free fails, the memory stays allocated and counted, and freeing it again works.
func TestFree_Fails(t *testing.T) {
	driver := needFake(t)
	if os.Getenv("TVMGO_VALIDATE") != "" {
		t.Skip("validation delays the release of freed memory")
	}
	noLeaks(t)
	for _, of := range kinds {
		dev := on(of, first)
		at := must.Get(gputest.Alloc(dev, 64))(t)
		before := must.Get(runtime.DeviceMemory(dev))(t)
		driver.Set(t, "refuse_free", 401)
		err := gputest.Free(dev, at)
		driver.Set(t, "refuse_free", 0)
		require.ErrorContains(t, err, ": it is still allocated, and can be freed again: ")
		require.ErrorContains(t, err, ", 401)")
		require.Equal(t, before, must.Get(runtime.DeviceMemory(dev))(t))
		require.NoError(t, gputest.Free(dev, at))
		require.ErrorContains(t, gputest.Free(dev, at), "or already freed")
	}
}
