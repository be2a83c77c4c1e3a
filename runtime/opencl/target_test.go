//go:build opencl

package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

func TestTarget_FromDevice(t *testing.T) {
	need(t)
	got := gputest.FromDevice(t, "opencl", other()).Attrs()
	for option, attr := range map[string]runtime.AttrKind{"max_threads_per_block": runtime.AttrMaxThreadsPerBlock,
		"max_num_threads":             runtime.AttrMaxThreadsPerBlock,
		"max_shared_memory_per_block": runtime.AttrMaxSharedMemoryPerBlock} {
		v, err := runtime.DeviceAttr(other(), attr)
		require.NoError(t, err)
		require.Equal(t, v, got[option], option)
	}
	require.Contains(t, []any{"cpu", "gpu", "accelerator", "other"}, got["device_type"])
	require.EqualValues(t, 128, got["max_function_args"]) // the target kind's default: no device reports it
}
