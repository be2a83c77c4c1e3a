//go:build opencl

package opencl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
	_ "tvmgo/runtime/opencl"
)

var (
	first  = dlpack.Device{Type: dlpack.OpenCL}
	second = dlpack.Device{Type: dlpack.OpenCL, ID: 1}
)

// The tests run on the two CPU devices of PoCL, so that there is always a second device.
func TestMain(m *testing.M) {
	if os.Getenv("POCL_DEVICES") == "" {
		os.Setenv("POCL_DEVICES", "pthread basic")
	}
	dir, err := os.MkdirTemp("", "opencl-cache")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("TVMGO_CACHE_DIR") == "" {
		os.Setenv("TVMGO_CACHE_DIR", dir)
	}
	rc := m.Run()
	os.RemoveAll(dir)
	os.Exit(rc)
}

// present returns the devices on which tests run: two, or one on machines with a single GPU.
func present() []dlpack.Device {
	if !runtime.DeviceExists(second) {
		return []dlpack.Device{first}
	}
	return []dlpack.Device{first, second}
}

// other returns the last device of present.
func other() dlpack.Device { return present()[len(present())-1] }

// need skips a test without an OpenCL device. On CI, fewer than two devices are a failure.
func need(t testing.TB) {
	t.Helper()
	if runtime.DeviceExists(first) && (os.Getenv("CI") == "" || runtime.DeviceExists(second)) {
		return
	}
	missing(t)
}

// needTwo is need for tests that use two devices.
func needTwo(t testing.TB) {
	t.Helper()
	if !runtime.DeviceExists(second) {
		missing(t)
	}
}

func missing(t testing.TB) {
	t.Helper()
	gputest.Missing(t, dlpack.OpenCL, "there are no two OpenCL devices")
}

// noLeaks checks that a test releases all its objects and device memory.
func noLeaks(t *testing.T) {
	t.Helper()
	gputest.NoLeaks(t, present())
}

func TestDevice(t *testing.T) {
	need(t)
	file := gputest.AddOne(t, "testdata/add_one.cl")
	devices := present()
	for i, dev := range devices {
		t.Run(dev.String(), func(t *testing.T) {
			opts := devicetest.Options{Second: devices[len(devices)-1-i], Absent: 63, KnowsItsMemory: true, KnowsBounds: true,
				Scopes: map[string][]int64{
					"global.texture": {3, 5, 4}, "global.texture-weight": {2, 3, 5, 4}, "global.texture-nhwc": {2, 3, 5, 4}}}
			if file != "" {
				opts.Module = func() (*runtime.Module, error) { return runtime.Load(context.Background(), file) }
			}
			devicetest.Run(t, dev, opts)
		})
	}
}

// A new process with TVMGO_VALIDATE=1 passes a test of devices, and validation reports nothing.
func TestValidated(t *testing.T) {
	need(t)
	gputest.Validated(t, "TestDevice/opencl:0/Workspaces")
}

var generations = []string{"modern", "classic"}

// Modules that TVM compiled run on the device of their arrays.
func TestArtifacts(t *testing.T) {
	need(t)
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			noLeaks(t)
			m := module(t, filepath.Join(artifacts, generation, "gpu_opencl.so"))
			gputest.RunAll(t, m, present())
			gputest.SaveAgain(t, m, "opencl", "cl", other())
			imports, err := m.Imports()
			require.NoError(t, err)
			source, err := imports[0].GetSource("")
			require.NoError(t, err)
			require.Contains(t, source, "__kernel void vadd_kernel")
			require.NoError(t, imports[0].Close())
		})
	}
}

// Functions still work after their modules are closed, in many goroutines and with frequent garbage collections.
func TestArtifacts_ManyGoroutinesAndCollections(t *testing.T) {
	need(t)
	noLeaks(t)
	gputest.Hammer(t, []string{artifacts + "modern/gpu_opencl.so", artifacts + "classic/gpu_opencl.so"}, present())
}
