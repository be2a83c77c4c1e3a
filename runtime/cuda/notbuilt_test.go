//go:build !cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

// Without the build tag, the devices are registered and their errors explain how to build them.
func TestNotBuiltIn(t *testing.T) {
	for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged} {
		dev := dlpack.Device{Type: of}
		require.False(t, runtime.DeviceExists(dev))
		_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, dev)
		require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
		require.ErrorContains(t, err, "-tags cuda")
		listed := false
		for _, d := range runtime.Devices() {
			if d.Device.Type == of {
				listed = true
				require.ErrorContains(t, d.Err, "CUDA is not built in: build with")
			}
		}
		require.True(t, listed)
	}
	require.Empty(t, cuda.Loaded())
}
