package bench

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// needDevice skips the test if the device does not exist; on CI that is a failure.
func needDevice(tb testing.TB, dev dlpack.Device) {
	tb.Helper()
	if !runtime.DeviceExists(dev) {
		require.Empty(tb, os.Getenv("CI"), "there is no %v", dev)
		tb.Skipf("there is no %v", dev)
	}
}

// bindAddOne binds the kernel addone of a module with arguments of one element on a device.
func bindAddOne(tb testing.TB, file string, dev dlpack.Device) *runtime.Bound {
	tb.Helper()
	imports := must.Get(modules.Load(tb, file).Imports())(tb)
	tb.Cleanup(func() { imports[0].Close() })
	args := []any{element(tb, dlpack.Float32, dev), element(tb, dlpack.Float32, dev)}
	return bindKernel(tb, imports[0], "addone_kernel", append(args, 1, 1, 1)...) // elements, grid, block
}

// element returns a tensor with one element, which is closed when the benchmark ends.
func element(tb testing.TB, t dlpack.DataType, dev dlpack.Device) *runtime.Tensor {
	tb.Helper()
	return must.Open(runtime.NewTensor(t, []int64{1}, dev))(tb)
}

// bindKernel binds a kernel to the values of a launch, and calls it once so that it is loaded or compiled.
func bindKernel(tb testing.TB, m *runtime.Module, name string, values ...any) *runtime.Bound {
	tb.Helper()
	f := must.Open(m.Function(name))(tb)
	b := must.Open(f.Bind(values...))(tb)
	require.NoError(tb, b.Call())
	return b
}

// benchLaunch waits for the device as often as bench/program/addone.h.
func benchLaunch(b *testing.B, launch *runtime.Bound, dev dlpack.Device) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := launch.Call(); err != nil {
			b.Fatal(err)
		}
		if n++; n%256 == 0 {
			require.NoError(b, runtime.SyncDevice(b.Context(), dev))
		}
	}
	require.NoError(b, runtime.SyncDevice(b.Context(), dev))
}

func requireNoAllocation(t *testing.T, launch *runtime.Bound, dev dlpack.Device) {
	t.Helper()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := launch.Call(); err != nil {
			t.Error(err)
		}
	}))
	require.NoError(t, runtime.SyncDevice(t.Context(), dev))
}
