//go:build cuda

package cuda_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

func TestAbsentIndex(t *testing.T) {
	need(t)
	n := len(cuda.Loaded().Devices)
	for _, of := range kinds {
		_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, dlpack.Device{Type: of, ID: int32(n)})
		require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
		require.ErrorContains(t, err, fmt.Sprintf("there is no device cuda:%d: this machine has %d, from cuda:0 to cuda:%d",
			n, n, n-1))
	}
	require.ErrorIs(t, must.Fail(cuda.Trim(n)), runtime.ErrDeviceUnavailable)
	require.ErrorIs(t, must.Fail(cuda.Trim(-1)), runtime.ErrDeviceUnavailable)
}

// After a kernel fails, every call on its device returns an error, except those that free; other devices still work.
func TestError_Sticks(t *testing.T) {
	if !inChild() {
		needFake(t)
		child(t, t.Name(), "FAKECUDA_LIBRARY="+fakeLibrary)
		return
	}
	driver := needFake(t)
	x, y := tensor(t, first, counting(8, 1)), tensor(t, first, counting(8, 1))
	host := tensor(t, on(dlpack.CUDAHost, first), counting(8, 1))
	managed := tensor(t, on(dlpack.CUDAManaged, first), counting(8, 1))
	q := stream(t, first)
	ordered := must.Get(q.NewTensor(dlpack.Float32, []int64{8}))(t)
	timer := must.Get(runtime.NewTimer(first))(t)
	require.NoError(t, timer.Start(q))
	require.NoError(t, q.Sync(t.Context()))
	m := ptx(t, runtime.KernelType{Name: "scale", Args: []dlpack.DataType{handle, dlpack.Float32, dlpack.Int32}},
		runtime.KernelType{Name: "shape", Args: []dlpack.DataType{handle}})
	scale, shape, other := kernel(t, m, "scale"), kernel(t, m, "shape"), stream(t, first)
	ten := empty(t, dlpack.Int32, []int64{10}, first)
	require.NoError(t, shape.Launch(q, one, one, ten))
	require.NoError(t, q.Sync(t.Context()))
	driver.FailAsync(700)
	require.NoError(t, scale.Launch(q, one, one, x, 2, 1))
	err := q.Sync(t.Context())
	require.ErrorIs(t, err, runtime.ErrFailed)
	require.ErrorContains(t, err, ", on which these kernels were launched since the last wait (newest first): scale: ")
	err2 := other.Sync(t.Context())
	require.ErrorContains(t, err2, ", on which no kernel was launched since the last wait; the last kernels on other "+
		"streams (newest first): scale, shape: ")
	for _, part := range []string{"wait for stream 0x", " of cuda:0, ",
		"(CUDA_ERROR_ILLEGAL_ADDRESS, 700): work that was enqueued earlier failed", "other devices still work"} {
		require.ErrorContains(t, err, part)
	}
	for name, err := range map[string]error{
		"wait": runtime.SyncDevice(t.Context(), first), "copy": y.CopyFromTensor(x, q),
		"read": runtime.CopyTo(x, make([]float32, 8)),
	} {
		require.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS", name)
	}
	_, err = runtime.NewTensor(dlpack.Float32, []int64{8}, first)
	require.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS")
	for _, c := range []*runtime.Tensor{x, y, host, managed, ordered, ten} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, timer.Close())
	require.NoError(t, q.Close())
	z := tensor(t, second, counting(8, 1))
	require.Equal(t, counting(8, 1), slice(t, z))
	memory := must.Get(runtime.DeviceMemory(second))(t)
	require.EqualValues(t, 32, memory.Data)
	require.NoError(t, z.Close())
	leftBehind = true // the objects of a broken context cannot be freed
}

// A lost device returns ErrDeviceUnavailable, and other devices still work.
func TestError_DeviceLost(t *testing.T) {
	if !inChild() {
		needFake(t)
		child(t, t.Name(), "FAKECUDA_LIBRARY="+fakeLibrary)
		return
	}
	driver := needFake(t)
	x, z := tensor(t, first, counting(8, 1)), tensor(t, second, counting(8, 1))
	driver.LoseDevice(0, 46)
	err := runtime.CopyTo(x, make([]float32, 8))
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "(CUDA_ERROR_DEVICE_UNAVAILABLE, 46): the device is lost")
	require.NoError(t, x.Close())
	require.Equal(t, counting(8, 1), slice(t, z))
	require.NoError(t, z.Close())
	leftBehind = true
}

// After a failed start, the next call tries again.
func TestStart_TriedAgain(t *testing.T) {
	if !inChild() {
		needFake(t)
		child(t, t.Name(), "FAKECUDA_LIBRARY="+fakeLibrary)
		return
	}
	driver := openFake(t)
	for _, c := range []struct {
		code        int
		text, names string
	}{
		{100, "(CUDA_ERROR_NO_DEVICE, 100): nvidia-smi lists the GPUs of the machine; start a container with access to them",
			"cuInit"},
		{803, "(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803): the driver's library and its kernel module have different " +
			"versions", "cuInit"},
		{804, ", 804): the library of a newer driver", "cuInit"},
		{802, "start nvidia-fabricmanager", "cuInit"},
		{999, "ls /dev/nvidia*", "cuInit"},
		{34, "this is the stub library for linking programs", "cuInit"},
		{805, "start nvidia-cuda-mps-control", "cuInit"},
		{3, "count the devices of ", "cuDeviceGetCount"},
	} {
		k := int64(1)
		if c.code == 100 {
			k = 2 // the first call is made when the library is opened
		}
		driver.FailAt(k, c.code, c.names)
		_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, first)
		require.ErrorIs(t, err, runtime.ErrDeviceUnavailable, "%d", c.code)
		require.ErrorContains(t, err, c.text)
		require.True(t, driver.Failed())
		require.Empty(t, cuda.Loaded().Devices)
	}
	driver.FailAt(1, 2, "cuDevicePrimaryCtxRetain")
	_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, first)
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)
	require.ErrorContains(t, err, "start cuda:0: retain its primary context")
	driver.FailAt(1, 101, "cuCtxSetCurrent")
	require.ErrorIs(t, must.Fail(runtime.NewTensor(dlpack.Float32, []int64{1}, first)), runtime.ErrDeviceUnavailable)
	x := tensor(t, first, counting(8, 1))
	require.Equal(t, counting(8, 1), slice(t, x))
	require.NoError(t, x.Close())
	require.Len(t, cuda.Loaded().Devices, 2)
}

// A device whose properties cannot be queried keeps its number, and the other device works.
func TestStart_OneDeviceBroken(t *testing.T) {
	if !inChild() {
		needFake(t)
		child(t, t.Name(), "FAKECUDA_LIBRARY="+fakeLibrary)
		return
	}
	driver := openFake(t)
	driver.FailAt(1, 999, "cuDeviceTotalMem*")
	require.False(t, runtime.DeviceExists(first))
	require.True(t, driver.Failed())
	_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, first)
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "cuda:0 cannot be used: query its memory: ")
	x := tensor(t, second, counting(8, 1))
	require.Equal(t, counting(8, 1), slice(t, x))
	require.NoError(t, x.Close())
	require.Len(t, cuda.Loaded().LeftOut, 1)
	require.Contains(t, cuda.Loaded().LeftOut[0], "cuda:0: query its memory: ")
}

// everything uses each part of the device interface once, and returns the first error.
func everything(ctx context.Context) error {
	const n = 64
	var closers []func() error
	defer func() {
		for i := len(closers) - 1; i >= 0; i-- {
			_ = closers[i]()
		}
	}()
	var made []*runtime.Tensor
	keep := func(x *runtime.Tensor, err error) error {
		if err == nil {
			made = append(made, x)
			closers = append(closers, x.Close)
		}
		return err
	}
	q, err := runtime.NewStream(first)
	if err != nil {
		return err
	}
	closers = append(closers, q.Close)
	for _, of := range kinds {
		if err := keep(runtime.NewTensor(dlpack.Float32, []int64{n}, on(of, first))); err != nil {
			return err
		}
	}
	if err := keep(runtime.NewTensor(dlpack.Float32, []int64{n}, second)); err != nil {
		return err
	}
	if err := keep(q.NewTensor(dlpack.Float32, []int64{n})); err != nil {
		return err
	}
	if err := keep(runtime.NewPinnedTensor(dlpack.Float32, []int64{n}, first)); err != nil {
		return err
	}
	if err := keep(runtime.NewWorkspace(dlpack.Float32, []int64{n}, first, q)); err != nil {
		return err
	}
	if err := runtime.CopyFrom(made[0], counting(n, 1)); err != nil {
		return err
	}
	for _, x := range made[1:] {
		if err := x.CopyFromTensor(made[0], q); err != nil {
			return err
		}
		if err := q.Sync(ctx); err != nil {
			return err
		}
	}
	if err := made[3].CopyFromTensor(made[0], nil); err != nil {
		return err
	}
	if err := runtime.SyncDevice(ctx, second); err != nil {
		return err
	}
	a, err := made[0].View(dlpack.Float32, []int64{n / 2}, nil, 0)
	if err != nil {
		return err
	}
	closers = append(closers, a.Close)
	b, err := made[0].View(dlpack.Float32, []int64{n / 2}, nil, 64)
	if err != nil {
		return err
	}
	closers = append(closers, b.Close)
	if err := b.CopyFromTensor(a, q); err != nil {
		return err
	}
	timer, err := runtime.NewTimer(first)
	if err != nil {
		return err
	}
	closers = append(closers, timer.Close)
	if err := timer.Start(q); err != nil {
		return err
	}
	if err := timer.Stop(q); err != nil {
		return err
	}
	if _, err := timer.Elapsed(); err != nil {
		return err
	}
	urgent, err := runtime.NewStreamWithPriority(first, 0)
	if err != nil {
		return err
	}
	closers = append(closers, urgent.Close)
	if err := urgent.WaitFor(q); err != nil {
		return err
	}
	if err := urgent.Sync(ctx); err != nil {
		return err
	}
	g, err := q.Capture(func() error { return made[1].CopyFromTensor(made[0], q) })
	if err != nil {
		return err
	}
	closers = append(closers, g.Close)
	if err := g.Launch(q); err != nil {
		return err
	}
	if err := q.Sync(ctx); err != nil {
		return err
	}
	if _, err := runtime.DeviceMemory(first); err != nil {
		return err
	}
	for _, dev := range []dlpack.Device{first, second} {
		for kind := runtime.AttrExist; kind <= runtime.AttrImagePitchAlignment; kind++ {
			if _, err := runtime.DeviceAttr(dev, kind); err != nil {
				return err
			}
		}
		for _, p := range []string{"uuid", "pci_bus_id", "thread_warp_size"} {
			if _, err := runtime.TargetProperty(dev, p); err != nil {
				return err
			}
		}
	}
	return runtime.CopyTo(made[0], make([]float32, n))
}

// If any call of the driver fails, nothing crashes, nothing leaks, the driver is not misused, and the next use works.
func TestEveryCallMayFail(t *testing.T) {
	driver := needFake(t)
	needTwo(t)
	if os.Getenv("TVMGO_VALIDATE") != "" {
		t.Skip("after a failure, memory is closed while enqueued work uses it, which validation reports")
	}
	noLeaks(t)
	require.NoError(t, everything(t.Context()))
	failed := 0
	for _, code := range []int{1, 2, 999} {
		for k := int64(1); ; k++ {
			before := len(driver.Reports())
			driver.FailAt(k, code)
			err := everything(t.Context())
			if !driver.Failed() {
				driver.FailAt(0, 0)
				require.NoError(t, err)
				break
			}
			driver.FailAt(0, 0)
			if err != nil {
				failed++
				var e *runtime.Error
				require.ErrorAs(t, err, &e)
			}
			require.Len(t, driver.Reports(), before, "call %d returns %d: %v", k, code, err)
			require.NoError(t, everything(t.Context()), "after call %d returned %d: %v", k, code, err)
		}
	}
	require.Greater(t, failed, 200, "most failures are errors")
}

// Many goroutines use both devices, with frequent garbage collections.
func TestManyGoroutinesAndCollections(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	defer gputest.Collect()()
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for range 5 {
				if err := everything(context.Background()); err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// The same tests with older drivers: missing functions are replaced, or the error names them. Tests that take longest
// run with the oldest driver, and with all of them if TVMGO_TEST_ALL is set.
func TestOlderDrivers(t *testing.T) {
	needFake(t)
	if inChild() || os.Getenv("TVMGO_VALIDATE") != "" {
		return
	}
	pools := []string{"cuMemFreeAsync", "cuMemAllocFromPoolAsync", "cuMemPool*"}
	for name, c := range map[string]struct {
		version string
		without []string
	}{
		"11.0": {"11000", append([]string{"cuLaunchKernelEx", "cuGraphInstantiateWithFlags", "cuDeviceGetUuid_v2"},
			pools...)},
		"11.4": {"11040", []string{"cuLaunchKernelEx"}},
		"12.4": {"12040", nil},
	} {
		t.Run(name, func(t *testing.T) {
			library := fakecuda.Build(t, fakecuda.Without(c.without...))
			tests := []string{"TestGraph", "TestGraph_Rejected", "TestCopy_Overlapping", "TestAllocate_OutOfMemory",
				"TestStreamMemory_FreedAsPlainMemory", "TestManyGoroutinesAndCollections"}
			if name == "11.0" || os.Getenv("TVMGO_TEST_ALL") != "" {
				tests = append(tests, "TestDevice", "TestEveryCallMayFail")
			}
			for _, test := range tests {
				child(t, test, "FAKECUDA_LIBRARY="+library, "FAKECUDA_VERSION="+c.version)
			}
		})
	}
}
