package vulkan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestTarget_FromDevice(t *testing.T) {
	need(t)
	got := gputest.FromDevice(t, "vulkan", second).Attrs()
	most := must.Get(runtime.DeviceAttr(second, runtime.AttrMaxThreadsPerBlock))(t)
	require.Equal(t, most, got["max_threads_per_block"])
	require.Equal(t, true, got["supports_float32"])
	require.NotEmpty(t, got["device_name"])
	require.GreaterOrEqual(t, got["max_spirv_version"], int64(0x10000))
}
