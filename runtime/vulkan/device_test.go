package vulkan_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
	"tvmgo/runtime/vulkan"
)

func TestDevice(t *testing.T) {
	need(t)
	devices := []dlpack.Device{first, second}
	for i, dev := range devices {
		t.Run(dev.String(), func(t *testing.T) {
			devicetest.Run(t, dev, devicetest.Options{Second: devices[1-i], Absent: 63, Large: 9 << 20})
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
