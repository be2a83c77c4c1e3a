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

// boundLaunch binds a kernel with one work item on the first OpenCL device. Without one it skips; on CI that is a failure.
func boundLaunch(tb testing.TB) *runtime.Bound {
	if !runtime.DeviceExists(openCL) {
		require.Empty(tb, os.Getenv("CI"), "there is no OpenCL device")
		tb.Skip("there is no OpenCL device")
	}
	imports, err := load(tb, "../testdata/artifacts/modern/gpu_opencl.so").Imports()
	require.NoError(tb, err)
	tb.Cleanup(func() { imports[0].Close() })
	f, err := imports[0].Function("addone_kernel")
	require.NoError(tb, err)
	tb.Cleanup(func() { f.Close() })
	var args []any
	for range 2 {
		t, err := runtime.NewTensor(dlpack.Float32, []int64{1}, openCL)
		require.NoError(tb, err)
		tb.Cleanup(func() { t.Close() })
		args = append(args, t)
	}
	b, err := f.Bind(append(args, 1, 1, 1)...) // elements, grid, block
	require.NoError(tb, err)
	tb.Cleanup(func() { b.Close() })
	require.NoError(tb, b.Call()) // compiled now
	return b
}

func BenchmarkBoundLaunch(b *testing.B) {
	launch, n := boundLaunch(b), 0
	b.ReportAllocs()
	for b.Loop() {
		if err := launch.Call(); err != nil {
			b.Fatal(err)
		}
		if n++; n%256 == 0 { // as often as bench/side/opencl.c
			require.NoError(b, runtime.SyncDevice(b.Context(), openCL))
		}
	}
	require.NoError(b, runtime.SyncDevice(b.Context(), openCL))
}

func TestBoundLaunch_DoesNotAllocate(t *testing.T) {
	b := boundLaunch(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := b.Call(); err != nil {
			t.Error(err)
		}
	}))
	require.NoError(t, runtime.SyncDevice(t.Context(), openCL))
}
