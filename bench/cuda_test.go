//go:build cuda

package bench

import (
	"os"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/runtime"
	_ "tvmgo/runtime/cuda"
)

var cuda = dlpack.Device{Type: dlpack.CUDA}

// boundCUDALaunch binds a kernel on the first CUDA device; without a GPU, on that of the fake driver.
func boundCUDALaunch(tb testing.TB) *runtime.Bound {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil && os.Getenv("TVMGO_CUDA_LIBRARY") == "" {
		os.Setenv("FAKECUDA_KERNELS", fakecuda.Kernels(tb))
		os.Setenv("TVMGO_CUDA_LIBRARY", fakecuda.Build(tb, fakecuda.Flags("-O2")))
	}
	return bindAddOne(tb, "../testdata/artifacts/modern/gpu_cuda.so", cuda)
}

func BenchmarkBoundCUDALaunch(b *testing.B) { benchLaunch(b, boundCUDALaunch(b), cuda) }

func TestBoundCUDALaunch_DoesNotAllocate(t *testing.T) {
	requireNoAllocation(t, boundCUDALaunch(t), cuda)
}
