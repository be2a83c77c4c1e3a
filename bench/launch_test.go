package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// bindAddOne binds the kernel of a module's addone for one element on a device.
func bindAddOne(tb testing.TB, file string, dev dlpack.Device) *runtime.Bound {
	tb.Helper()
	imports := must.Get(modules.Load(tb, file).Imports())(tb)
	tb.Cleanup(func() { imports[0].Close() })
	args := []any{element(tb, dlpack.Float32, dev), element(tb, dlpack.Float32, dev)}
	return bindKernel(tb, imports[0], "addone_kernel", append(args, 1, 1, 1)...) // elements, grid, block
}

// element is a tensor with one element, closed when the benchmark ends.
func element(tb testing.TB, t dlpack.DataType, dev dlpack.Device) *runtime.Tensor {
	tb.Helper()
	return must.Open(runtime.NewTensor(t, []int64{1}, dev))(tb)
}

// bindKernel binds a kernel to all values of a launch; it is loaded or compiled by then.
func bindKernel(tb testing.TB, m *runtime.Module, name string, values ...any) *runtime.Bound {
	tb.Helper()
	f := must.Open(m.Function(name))(tb)
	b := must.Open(f.Bind(values...))(tb)
	require.NoError(tb, b.Call())
	return b
}

// benchLaunch waits for the device as often as bench/program/launch.h.
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
