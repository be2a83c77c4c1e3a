package vulkan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
	"tvmgo/runtime/vulkan"
)

// kernelWork runs a kernel with push constants and a kernel with scalars in a uniform buffer, and checks the results.
// It returns the first error of a call.
func kernelWork(t *testing.T, dev dlpack.Device) (err error) {
	var open []interface{ Close() error }
	defer func() {
		for _, o := range open {
			if e := o.Close(); err == nil {
				err = e
			}
		}
	}()
	kernel := func(file, name string) (*runtime.Kernel, error) {
		m, err := runtime.NewDeviceModule("vulkan", "", words(t, file), types[file]...)
		if err != nil {
			return nil, err
		}
		open = append(open, m)
		k, err := m.Kernel(name)
		if err == nil {
			open = append(open, k)
		}
		return k, err
	}
	tensor := func(dtype dlpack.DataType) (*runtime.Tensor, error) {
		x, err := runtime.NewTensor(dtype, []int64{64}, dev)
		if err == nil {
			open = append(open, x)
		}
		return x, err
	}
	x, err := tensor(dlpack.UInt32)
	if err != nil {
		return err
	}
	y, err := tensor(dlpack.Float32)
	if err != nil {
		return err
	}
	if err := runtime.CopyFrom(x, make([]uint32, 64)); err != nil {
		return err
	}
	step, err := kernel("two", "step")
	if err != nil {
		return err
	}
	many, err := kernel("scalars", "scalars")
	if err != nil {
		return err
	}
	args, sum := twentyValues(3)
	for range 3 {
		if err := step.Launch(nil, one, runtime.Dim3{64}, x, 3, 1); err != nil {
			return err
		}
		if err := many.Launch(nil, runtime.Dim3{16}, runtime.Dim3{4}, append([]any{y}, args...)...); err != nil {
			return err
		}
	}
	got, err := runtime.ToSlice[uint32](x)
	if err != nil {
		return err
	}
	sums, err := runtime.ToSlice[float32](y)
	if err != nil {
		return err
	}
	if !slices.Equal(got, slices.Repeat([]uint32{13}, 64)) || !slices.Equal(sums, slices.Repeat([]float32{sum}, 64)) {
		t.Errorf("the results are wrong: %v, %v", got, sums)
	}
	return nil
}

// If any call of the driver fails during a launch, the launch returns an error or succeeds without the call. Nothing
// leaks, and the next launch works. Tested with push descriptors and with descriptor pools.
func TestEveryCallFails_Kernels(t *testing.T) {
	if !inChild() {
		need(t)
		library := "TVMGO_VULKAN_LIBRARY=" + shim(t)
		passes(t, library, "TVMGO_VULKAN_VALIDATION=0")
		passes(t, library, "TVMGO_VULKAN_VALIDATION=0", "TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1")
		return
	}
	need(t)
	t.Setenv("TVMGO_CACHE_DIR", t.TempDir())
	seen := map[string]bool{}
	for _, dev := range []dlpack.Device{first, second} {
		require.NoError(t, kernelWork(t, dev))
		before, memory := gputest.Live(t, []dlpack.Device{first, second})
		for k := 1; k < 200; k++ {
			t.Setenv("SHIM_FAIL_AT", fmt.Sprintf("%d,-1", k))
			err := kernelWork(t, dev)
			t.Setenv("SHIM_FAIL_AT", "")
			if err != nil {
				require.ErrorContains(t, err, "VK_ERROR_OUT_OF_HOST_MEMORY (-1)", "call %d", k)
				if strings.Contains(err.Error(), "create its pipeline on "+dev.String()) {
					seen["pipeline"] = true
				}
			}
			if t.Failed() {
				t.Fatalf("call %d of %v", k, dev)
			}
			require.NoError(t, kernelWork(t, dev), "after call %d failed", k)
			now, nowMemory := gputest.Live(t, []dlpack.Device{first, second})
			require.Equal(t, before, now, "call %d", k)
			require.Equal(t, memory, nowMemory, "call %d", k)
		}
	}
	require.True(t, seen["pipeline"], "creating a pipeline failed at least once")
}

// On a device without float64, a kernel that uses float64 is an error; other kernels run.
func TestKernel_WithoutFloat64(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_NO=shaderFloat64")
		return
	}
	x := array(t, first, make([]float64, 5))
	requireError(t, shader(t, "types").Launch(nil, one, one, x, 1, 1, 1, 1, 1), runtime.ErrNotSupported,
		"kernel types needs shaderFloat64 (capability Float64), which vulkan:0 (", ") lacks")
	require.NoError(t, kernelWork(t, first))
}

// There is a barrier between dispatches that use the same bytes, and none between others.
func TestBarriers_OnlyWhereNeeded(t *testing.T) {
	if !inChild() {
		need(t)
		library := "TVMGO_VULKAN_LIBRARY=" + shim(t)
		dir := t.TempDir()
		passes(t, library, "SHIM_COUNT_BARRIERS="+filepath.Join(dir, "pushed"))
		passes(t, library, "SHIM_COUNT_BARRIERS="+filepath.Join(dir, "pooled"), "TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1")
		return
	}
	barriers := func() (n int) {
		text, _ := os.ReadFile(os.Getenv("SHIM_COUNT_BARRIERS")) // the file does not exist before the first barrier
		_, _ = fmt.Sscan(string(text), &n)
		return n
	}
	step, add := shader(t, "two", "step"), shader(t, "add")
	for _, dev := range present() {
		x, y, z := array(t, dev, make([]uint32, 1024)), array(t, dev, make([]float32, 64)), array(t, dev, make([]float32, 64))
		other := array(t, dev, make([]float32, 64))
		var parts []*runtime.Tensor
		for i := range int64(16) {
			v, err := x.View(dlpack.UInt32, []int64{64}, nil, 256*i)
			require.NoError(t, err)
			defer v.Close()
			parts = append(parts, v)
		}
		run := func(k *runtime.Kernel, args ...any) {
			t.Helper()
			require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, args...))
		}
		values[uint32](t, x)
		values[float32](t, y)
		for _, v := range parts[:8] {
			run(step, v, 1, 1)
		}
		before := barriers()
		for _, v := range parts[8:] {
			run(step, v, 1, 1)
		}
		require.Equal(t, before, barriers(), "each dispatch uses its own part")
		run(step, parts[8], 1, 1)
		require.Equal(t, before+1, barriers(), "the same part")
		run(step, parts[9], 1, 1)
		require.Equal(t, before+1, barriers(), "the last barrier already covers this part")
		run(step, x, 1, 1)
		require.Equal(t, before+2, barriers(), "the whole array")
		run(step, x, 1, 1)
		before = barriers() // a barrier has just covered all earlier uses
		run(add, y, y, z, 64)
		run(add, y, y, other, 64)
		require.Equal(t, before, barriers(), "both dispatches only read y")
		run(add, z, y, y, 64)
		require.Equal(t, before+1, barriers(), "writes an array that an earlier dispatch read")
		values[uint32](t, x)
	}
}

// Without barriers, validation reports dispatches that do not wait for earlier ones.
func TestValidationSees_Dispatches(t *testing.T) {
	if !inChild() {
		need(t)
		library := "TVMGO_VULKAN_LIBRARY=" + shim(t)
		passes(t, library, "SHIM_NO_BARRIERS=1", messagesWanted+"=SYNC-HAZARD")
		passes(t, library, "SHIM_NO_BARRIERS=1", "TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1", messagesWanted+"=SYNC-HAZARD")
		return
	}
	x := array(t, first, make([]float32, 64))
	add := shader(t, "add")
	for range 3 {
		require.NoError(t, add.Launch(nil, one, runtime.Dim3{64}, x, x, x, 64))
	}
	values[float32](t, x)
	if want := os.Getenv(messagesWanted); want != "" {
		require.Contains(t, strings.Join(vulkan.Loaded().Messages, "\n"), want)
	}
}
