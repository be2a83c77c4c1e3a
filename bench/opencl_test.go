//go:build opencl

package bench

import (
	"testing"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl"
)

var openCL = dlpack.Device{Type: dlpack.OpenCL}

// boundLaunch binds a kernel on the first OpenCL device.
func boundLaunch(tb testing.TB) *runtime.Bound {
	needDevice(tb, openCL)
	return bindAddOne(tb, "../testdata/artifacts/modern/gpu_opencl.so", openCL)
}

func BenchmarkBoundLaunch(b *testing.B) { benchLaunch(b, boundLaunch(b), openCL) }

func TestBoundLaunch_DoesNotAllocate(t *testing.T) { requireNoAllocation(t, boundLaunch(t), openCL) }
