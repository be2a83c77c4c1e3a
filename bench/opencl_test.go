//go:build opencl

package bench

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl"
)

var openCL = dlpack.Device{Type: dlpack.OpenCL}

// boundLaunch binds a kernel on the first OpenCL device. Without one it skips; on CI that is a failure.
func boundLaunch(tb testing.TB) *runtime.Bound {
	if !runtime.DeviceExists(openCL) {
		require.Empty(tb, os.Getenv("CI"), "there is no OpenCL device")
		tb.Skip("there is no OpenCL device")
	}
	return bindAddOne(tb, "../testdata/artifacts/modern/gpu_opencl.so", openCL)
}

func BenchmarkBoundLaunch(b *testing.B) { benchLaunch(b, boundLaunch(b), openCL) }

func TestBoundLaunch_DoesNotAllocate(t *testing.T) { requireNoAllocation(t, boundLaunch(t), openCL) }
