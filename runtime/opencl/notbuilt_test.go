//go:build !opencl

package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl"
)

// Without the build tag, the device is registered and its error explains how to build it.
func TestNotBuiltIn(t *testing.T) {
	dev := dlpack.Device{Type: dlpack.OpenCL}
	require.False(t, runtime.DeviceExists(dev))
	_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, dev)
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "-tags opencl")
	listed := false
	for _, d := range runtime.Devices() {
		if d.Device.Type == dlpack.OpenCL {
			listed = true
			require.ErrorContains(t, d.Err, "OpenCL is not built in")
		}
	}
	require.True(t, listed)

	// Modules load, and looking up a kernel returns the same error.
	m, err := runtime.Load(t.Context(), "../../testdata/artifacts/modern/gpu_opencl.so")
	require.NoError(t, err)
	defer m.Close()
	imports, err := m.Imports()
	require.NoError(t, err)
	defer imports[0].Close()
	_, err = imports[0].Function("vadd_kernel")
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "OpenCL is not built in: build with")
}
