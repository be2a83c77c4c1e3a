package vulkan_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/testequal"
	"tvmgo/runtime"
	"tvmgo/runtime/vulkan"
)

const childVariable = "TVMGO_TEST_CHILD"

func inChild() bool { return os.Getenv(childVariable) != "" }

// shim builds the loader of testdata/shim.c.
func shim(t *testing.T) string {
	t.Helper()
	needSources(t, "../../build/include/vulkan/tvmgo_vulkan.h")
	_, err := os.ReadFile("testdata/shim.c") // makes go test rerun the tests if the file changes
	require.NoError(t, err)
	library := filepath.Join(t.TempDir(), "libvulkan.so.1")
	out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-I../../build/include",
		"testdata/shim.c", "-o", library, "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return library
}

// child runs the current test in a new process.
func child(t *testing.T, env ...string) (string, error) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(append(os.Environ(), childVariable+"=1"), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// passes runs the current test in a new process, in which it must pass.
func passes(t *testing.T, env ...string) {
	t.Helper()
	out, err := child(t, env...)
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, "--- PASS: "+t.Name())
}

// count returns n consecutive numbers that begin with first.
func count(first, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(first + i)
	}
	return list
}

// work uses arrays, a stream and a timer of a device and checks the results. It returns the first error of a call.
func work(t *testing.T, dev dlpack.Device) (err error) {
	const n = 1000
	var open []interface{ Close() error }
	defer func() {
		for _, o := range open {
			if e := o.Close(); err == nil {
				err = e
			}
		}
	}()
	made := func(size int64) (*runtime.Tensor, error) {
		x, err := runtime.NewTensor(dlpack.Float32, []int64{size}, dev)
		if err == nil {
			open = append(open, x)
		}
		return x, err
	}
	x, err := made(n)
	if err != nil {
		return err
	}
	y, err := made(n)
	if err != nil {
		return err
	}
	s, err := runtime.NewStream(dev)
	if err != nil {
		return err
	}
	open = append(open, s)
	timer, err := runtime.NewTimer(dev)
	if err != nil {
		return err
	}
	open = append(open, timer)
	if err := timer.Start(s); err != nil {
		return err
	}
	for round := range 5 {
		if err := runtime.CopyFrom(x, count(round, n)); err != nil {
			return err
		}
		if err := y.CopyFromTensor(x, nil); err != nil {
			return err
		}
		got, err := runtime.ToSlice[float32](y)
		if err != nil {
			return err
		}
		if fmt.Sprint(got) != fmt.Sprint(count(round, n)) {
			t.Errorf("round %d: the result is wrong", round)
		}
	}
	if err := timer.Stop(s); err != nil {
		return err
	}
	if _, err := timer.Elapsed(); err != nil {
		return err
	}
	return s.Sync(t.Context())
}

// If any call of the driver runs out of memory, the operation returns an error, nothing leaks, and the next operation
// works.
func TestEveryCallFails(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "TVMGO_VULKAN_VALIDATION=0")
		return
	}
	need(t)
	for _, dev := range []dlpack.Device{first, second} {
		require.NoError(t, work(t, dev))
		before, memory := gputest.Live(t, []dlpack.Device{first, second})
		failed := 0
		for k := 1; k < 400; k++ {
			t.Setenv("SHIM_FAIL_AT", fmt.Sprintf("%d,-2", k))
			err := work(t, dev)
			t.Setenv("SHIM_FAIL_AT", "")
			if err != nil {
				failed++
				require.ErrorContains(t, err, "VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)", "call %d", k)
			}
			if t.Failed() {
				t.Fatalf("call %d of %v", k, dev)
			}
			require.NoError(t, work(t, dev), "after call %d failed", k)
			now, nowMemory := gputest.Live(t, []dlpack.Device{first, second})
			require.Equal(t, before, now, "call %d", k)
			require.Equal(t, memory, nowMemory, "call %d", k)
		}
		require.Greater(t, failed, 10, "operations that failed")
	}
}

// After a device is lost, every call on it returns an error, its objects can be closed, and the other device still
// works.
func TestDeviceLost(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "TVMGO_VULKAN_VALIDATION=0")
		return
	}
	need(t)
	x := tensor(t, second, count(0, 100))
	s, err := runtime.NewStream(second)
	require.NoError(t, err)
	y := tensor(t, second, count(0, 100))
	t.Setenv("SHIM_FAIL_AT", "1,-4")
	err = work(t, second)
	t.Setenv("SHIM_FAIL_AT", "")
	require.ErrorContains(t, err, "VK_ERROR_DEVICE_LOST")
	for range 2 {
		_, err = runtime.ToSlice[float32](x)
		require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
		require.ErrorContains(t, err, "vulkan:1")
		require.ErrorContains(t, err, "VK_ERROR_DEVICE_LOST (-4)")
		require.ErrorContains(t, y.CopyFromTensor(x, nil), "VK_ERROR_DEVICE_LOST")
		require.ErrorContains(t, s.Sync(t.Context()), "VK_ERROR_DEVICE_LOST")
		require.NoError(t, work(t, first))
	}
	require.NoError(t, s.Close())
	require.NoError(t, x.Close())
	m, err := runtime.DeviceMemory(second)
	require.NoError(t, err)
	require.Equal(t, int64(400), m.Data, "y still exists")
}

// Validation reports mistakes that this package could make: an empty copy, and a copy that does not wait for an earlier
// one.
func TestValidationSees(t *testing.T) {
	if !inChild() {
		need(t)
		library := "TVMGO_VULKAN_LIBRARY=" + shim(t)
		passes(t, library, "SHIM_EMPTY_COPIES=1", messagesWanted+"=VUID-VkBufferCopy-size-01988")
		passes(t, library, "SHIM_NO_BARRIERS=1", messagesWanted+"=SYNC-HAZARD")
		// A process that does not expect the messages fails.
		out, err := child(t, library, "SHIM_EMPTY_COPIES=1")
		require.Error(t, err)
		require.Contains(t, out, "--- FAIL: validation has")
		return
	}
	x, y, z := tensor(t, second, count(0, 10)), tensor(t, second, count(1, 10)), tensor(t, second, count(2, 10))
	require.NoError(t, y.CopyFromTensor(x, nil))
	require.NoError(t, z.CopyFromTensor(y, nil))
	slice(t, z)
	if want := os.Getenv(messagesWanted); want != "" {
		require.Contains(t, strings.Join(vulkan.Loaded().Messages, "\n"), want)
	}
}

// If Vulkan cannot be used, the error contains the reason and advice.
func TestAbsent(t *testing.T) {
	if !inChild() {
		need(t)
		library := "TVMGO_VULKAN_LIBRARY=" + shim(t)
		for _, c := range []struct{ env, want string }{
			{"TVMGO_VULKAN_LIBRARY=/no/such/libvulkan.so.1", "Vulkan is not usable: /no/such/libvulkan.so.1: cannot open"},
			{"TVMGO_VULKAN_LIBRARY=libm.so.6", "has no function vkGetInstanceProcAddr"},
			{"VK_DRIVER_FILES=/no/such.json VK_ICD_FILENAMES=/no/such.json",
				"finds no Vulkan driver: open /no/such.json: no such file or directory"},
			{"VK_DRIVER_FILES=", "finds no Vulkan driver: no file of VK_DRIVER_FILES= names one"},
			{"XDG_DATA_DIRS=/no/such HOME=/no/home XDG_CONFIG_HOME= XDG_CONFIG_DIRS= XDG_DATA_HOME=",
				"no file of /no/home/.config/vulkan/icd.d, /etc/xdg/vulkan/icd.d, /etc/vulkan/icd.d, " +
					"/no/home/.local/share/vulkan/icd.d, /no/such/vulkan/icd.d names one"},
			{"TVMGO_VULKAN_VALIDATION=1 VK_LAYER_PATH=/no/such", "VK_LAYER_KHRONOS_validation is not installed"},
			{library + " SHIM_NO_COMPUTE=1", "has no compute queue"},
			{library + " SHIM_LACKS=vkEnumerateInstanceVersion",
				"libvulkan.so.1 has no function vkEnumerateInstanceVersion: install a loader"},
			{library + " SHIM_LACKS=vkGetPhysicalDeviceFeatures2",
				"libvulkan.so.1 has no function vkGetPhysicalDeviceFeatures2"},
			{library + " SHIM_LACKS=vkEnumeratePhysicalDevices", "libvulkan.so.1 has no function vkEnumeratePhysicalDevices"},
			{library + " SHIM_LACKS=vkQueueSubmit", "its driver has no function vkQueueSubmit"},
			{library + " SHIM_NO=timelineSemaphore",
				"it does not support timeline semaphores: VK_ERROR_FEATURE_NOT_PRESENT (-8)"},
		} {
			passes(t, append(strings.Fields(c.env), "WANT="+c.want)...)
		}
		return
	}
	require.False(t, runtime.DeviceExists(first))
	for range 2 {
		_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, first)
		require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
		require.ErrorContains(t, err, os.Getenv("WANT"))
		require.ErrorContains(t, err, "install")
	}
	require.Empty(t, vulkan.Loaded())
}

// On a device whose queue has no timestamps, the host measures time.
func TestNoTimes(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_NO_TIMES=1")
		return
	}
	require.NoError(t, work(t, first))
	require.NoError(t, work(t, second))
}

// If the driver allows only few allocations, arrays share them. If they are exhausted, the error contains their number.
func TestFewAllocations(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_ALLOCATIONS=3", "TVMGO_VULKAN_VALIDATION=0")
		return
	}
	for range 500 {
		tensor(t, first, count(0, 100))
	}
	var err error
	for i := 0; i < 5 && err == nil; i++ {
		var x *runtime.Tensor
		if x, err = runtime.NewTensor(dlpack.Float32, []int64{20 << 20 >> 2}, first); err == nil {
			defer x.Close()
		}
	}
	require.ErrorContains(t, err, "no memory for 20971520 bytes")
	require.ErrorContains(t, err, "bytes in 3 blocks (of at most 3): VK_ERROR_TOO_MANY_OBJECTS")
	require.NoError(t, work(t, first))
}

// If host-visible memory is not coherent, it is flushed after writes and invalidated before reads.
func TestIncoherentMemory(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_INCOHERENT=1")
		return
	}
	for _, dev := range []dlpack.Device{first, second} {
		require.NoError(t, work(t, dev))
		const n = 3 << 20 // more than one chunk of staging memory
		x := tensor(t, dev, count(0, n))
		testequal.Slices(t, count(0, n), slice(t, x))
		p, err := runtime.NewPinnedTensor(dlpack.Float32, []int64{999}, dev)
		require.NoError(t, err)
		defer p.Close()
		require.NoError(t, runtime.CopyFrom(p, count(5, 999)))
		y := tensor(t, dev, count(0, 999))
		require.NoError(t, y.CopyFromTensor(p, nil))
		require.Equal(t, count(5, 999), slice(t, y))
	}
}

// The work of two streams runs in the requested order, on a queue that otherwise runs the last submission first.
func TestStreamsAreOrdered(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_REORDER=1", "TVMGO_VULKAN_VALIDATION=0")
		return
	}
	const n = 1000
	x, y, z := tensor(t, second, count(1, n)), tensor(t, second, count(2, n)), tensor(t, second, count(3, n))
	a, err := runtime.NewStream(second)
	require.NoError(t, err)
	defer a.Close()
	b, err := runtime.NewStream(second)
	require.NoError(t, err)
	defer b.Close()
	c, err := runtime.NewStream(second)
	require.NoError(t, err)
	defer c.Close()
	for round, ordered := range []bool{false, true} {
		want := count(10*round+10, n)
		require.NoError(t, runtime.CopyFrom(x, want))
		require.NoError(t, runtime.CopyFrom(y, count(0, n)))
		slice(t, y) // the default stream is done
		require.NoError(t, y.CopyFromTensor(x, a))
		if ordered {
			require.NoError(t, b.WaitFor(a))
		} else {
			require.NoError(t, c.WaitFor(a)) // submits the work of a
		}
		require.NoError(t, z.CopyFromTensor(y, b))
		require.NoError(t, b.Sync(t.Context()))
		require.NoError(t, a.Sync(t.Context()))
		require.Equal(t, ordered, slice(t, z)[0] == want[0], "ordered %v: %v", ordered, slice(t, z)[0])
	}
}
