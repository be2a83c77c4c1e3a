//go:build cuda || opencl

package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/runtime"
)

// bindAddOne binds the kernel of a module's addone for one element on a device; it is loaded or compiled by then.
func bindAddOne(tb testing.TB, file string, dev dlpack.Device) *runtime.Bound {
	tb.Helper()
	imports, err := modules.Load(tb, file).Imports()
	require.NoError(tb, err)
	tb.Cleanup(func() { imports[0].Close() })
	f, err := imports[0].Function("addone_kernel")
	require.NoError(tb, err)
	tb.Cleanup(func() { f.Close() })
	var args []any
	for range 2 {
		t, err := runtime.NewTensor(dlpack.Float32, []int64{1}, dev)
		require.NoError(tb, err)
		tb.Cleanup(func() { t.Close() })
		args = append(args, t)
	}
	b, err := f.Bind(append(args, 1, 1, 1)...) // elements, grid, block
	require.NoError(tb, err)
	tb.Cleanup(func() { b.Close() })
	require.NoError(tb, b.Call())
	return b
}

// benchLaunch waits for the device as often as bench/side/launch.h.
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
