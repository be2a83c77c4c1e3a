package vulkan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
	"tvmgo/runtime/vulkan"
)

func TestDevice(t *testing.T) {
	need(t)
	file := gputest.AddOne(t, "testdata/artifacts.spv")
	devices := []dlpack.Device{first, second}
	for i, dev := range devices {
		t.Run(dev.String(), func(t *testing.T) {
			opts := devicetest.Options{Second: devices[1-i], Absent: 63, KnowsItsMemory: true, KnowsBounds: true, Large: 9 << 20}
			if file != "" {
				opts.Module = func() (*runtime.Module, error) { return runtime.Load(t.Context(), file) }
			}
			devicetest.Run(t, dev, opts)
		})
	}
}

// A new process with TVMGO_VALIDATE=1 passes a test of devices, and validation reports nothing.
func TestValidated(t *testing.T) {
	need(t)
	gputest.Validated(t, "TestDevice/vulkan:0/Workspaces")
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
