//go:build cuda

package bench

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/fakecuda"
	"tvmgo/runtime"
	_ "tvmgo/runtime/cuda"
)

var cuda = dlpack.Device{Type: dlpack.CUDA}

// boundCUDALaunch binds a kernel with one thread on the first CUDA device: of the fake driver where there is no card.
func boundCUDALaunch(tb testing.TB) *runtime.Bound {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil && os.Getenv("TVMGO_CUDA_LIBRARY") == "" {
		os.Setenv("FAKECUDA_KERNELS", fakecuda.Kernels(tb))
		os.Setenv("TVMGO_CUDA_LIBRARY", fakecuda.Build(tb, fakecuda.Flags("-O2")))
	}
	imports, err := load(tb, "../testdata/artifacts/modern/gpu_cuda.so").Imports()
	require.NoError(tb, err)
	tb.Cleanup(func() { imports[0].Close() })
	f, err := imports[0].Function("addone_kernel")
	require.NoError(tb, err)
	tb.Cleanup(func() { f.Close() })
	var args []any
	for range 2 {
		t, err := runtime.NewTensor(dlpack.Float32, []int64{1}, cuda)
		require.NoError(tb, err)
		tb.Cleanup(func() { t.Close() })
		args = append(args, t)
	}
	b, err := f.Bind(append(args, 1, 1, 1)...) // elements, grid, block
	require.NoError(tb, err)
	tb.Cleanup(func() { b.Close() })
	require.NoError(tb, b.Call()) // loaded now
	return b
}

func BenchmarkBoundCUDALaunch(b *testing.B) {
	launch, n := boundCUDALaunch(b), 0
	b.ReportAllocs()
	for b.Loop() {
		if err := launch.Call(); err != nil {
			b.Fatal(err)
		}
		if n++; n%256 == 0 { // as often as bench/side/cuda.c
			require.NoError(b, runtime.SyncDevice(b.Context(), cuda))
		}
	}
	require.NoError(b, runtime.SyncDevice(b.Context(), cuda))
}

func TestBoundCUDALaunch_DoesNotAllocate(t *testing.T) {
	b := boundCUDALaunch(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := b.Call(); err != nil {
			t.Error(err)
		}
	}))
	require.NoError(t, runtime.SyncDevice(t.Context(), cuda))
}
