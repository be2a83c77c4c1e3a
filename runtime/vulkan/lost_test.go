package vulkan_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// A device is lost while 32 threads use it. Objects are destroyed only when the device does not use them any more. If
// that never happens, they are not destroyed, and no call waits longer than the time limit.
func TestDeviceLost_WhileItWorks(t *testing.T) {
	if !inChild() {
		need(t)
		env := []string{"TVMGO_VULKAN_LIBRARY=" + shim(t), "TVMGO_VULKAN_VALIDATION=0", "SHIM_LOST_ORDER=1"}
		passes(t, env...)
		passes(t, append(env, "SHIM_NEVER_IDLE=1")...)
		return
	}
	const n, threads = 4 << 20, 32
	type worker struct {
		s    *runtime.Stream
		x, y *runtime.Tensor
	}
	workers := make([]worker, threads)
	for i := range workers {
		var err error
		w := &workers[i]
		w.s, err = runtime.NewStream(second)
		require.NoError(t, err)
		for _, x := range []**runtime.Tensor{&w.x, &w.y} {
			*x, err = runtime.NewTensor(dlpack.UInt8, []int64{n}, second)
			require.NoError(t, err)
		}
	}
	var ready, all sync.WaitGroup
	ready.Add(threads)
	lost := make(chan struct{})
	for _, w := range workers {
		all.Go(func() {
			for range 20 { // enough copies for a submission
				_ = w.y.CopyFromTensor(w.x, w.s)
			}
			ready.Done()
			<-lost
			_ = w.y.CopyFromTensor(w.x, w.s)
			if err := w.s.Sync(t.Context()); err != nil {
				requireError(t, err, runtime.ErrDeviceUnavailable, "VK_ERROR_DEVICE_LOST")
			}
			require.NoError(t, w.x.Close())
			require.NoError(t, w.y.Close())
			require.NoError(t, w.s.Close())
		})
	}
	ready.Wait()
	t.Setenv("SHIM_FAIL_AT", "1,-4")
	close(lost)
	all.Wait()
}
