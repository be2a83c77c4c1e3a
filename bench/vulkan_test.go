package bench

import (
	"os"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/vulkan"
)

var vulkan = dlpack.Device{Type: dlpack.Vulkan}

// boundVulkanLaunch binds a kernel on the first Vulkan device.
func boundVulkanLaunch(tb testing.TB) *runtime.Bound {
	needDevice(tb, vulkan)
	code := must.Get(os.ReadFile("../runtime/vulkan/testdata/two.spv"))(tb)
	handle := dlpack.DataType{Code: dlpack.CodeHandle, Bits: 64, Lanes: 1}
	m := must.Open(runtime.NewDeviceModule("vulkan", "spv", code,
		runtime.KernelType{Name: "step", Args: []dlpack.DataType{handle, dlpack.UInt32, dlpack.UInt32}}))(tb)
	return bindKernel(tb, m, "step", element(tb, dlpack.UInt32, vulkan), 1, 0, 1, 1, 1, 64, 1, 1)
}

func BenchmarkBoundVulkanLaunch(b *testing.B) { benchLaunch(b, boundVulkanLaunch(b), vulkan) }

func TestBoundVulkanLaunch_DoesNotAllocate(t *testing.T) {
	requireNoAllocation(t, boundVulkanLaunch(t), vulkan)
}
