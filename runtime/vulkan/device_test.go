package vulkan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
	"tvmgo/runtime/vulkan"
)

// addOne is a library with the function that the suite calls; "" where none can be packed.
func addOne(t *testing.T) string {
	if !hasCompiler() {
		require.Empty(t, os.Getenv("CI"), "packing needs a C compiler")
		return ""
	}
	library := filepath.Join(t.TempDir(), "k.so")
	require.NoError(t, pack.Library(t.Context(), pack.Kernels{
		Inputs:    []pack.Input{{Path: "testdata/artifacts.spv"}},
		Functions: []pack.Function{{Signature: devicetest.AddOne + "(x: inout float32[n]) launch blockIdx.x=n"}},
	}, library))
	return library
}

func TestDevice(t *testing.T) {
	need(t)
	file := addOne(t)
	devices := []dlpack.Device{first, second}
	for i, dev := range devices {
		t.Run(dev.String(), func(t *testing.T) {
			opts := devicetest.Options{Second: devices[1-i], Absent: 63, Large: 9 << 20}
			if file != "" {
				opts.Module = func() (*runtime.Module, error) { return runtime.Load(t.Context(), file) }
			}
			devicetest.Run(t, dev, opts)
		})
	}
}

// With TVMGO_VALIDATE=1, which is read when a process starts, all tests of this package pass too, and nothing is reported.
func TestValidated(t *testing.T) {
	need(t)
	if os.Getenv("TVMGO_VALIDATE") != "" {
		return // it is the child
	}
	cmd := exec.Command(os.Args[0], "-test.v")
	cmd.Env = append(os.Environ(), "TVMGO_VALIDATE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestDevice/vulkan:0/Workspaces")
	require.NotContains(t, string(out), "validate:")
}

func TestLoaded(t *testing.T) {
	need(t)
	d := vulkan.Loaded()
	require.Contains(t, d.Library, "libvulkan.so")
	require.Regexp(t, `^1\.[1-3]\.`, d.Version)
	require.True(t, d.Validated)
	require.GreaterOrEqual(t, len(d.Devices), 2)
	require.Contains(t, d.Devices[0], "data in memory of type ")
	require.NotNil(t, runtime.Devices())
}
