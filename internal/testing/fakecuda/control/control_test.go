package control

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/fakecuda/internal/calls"
)

func TestControl(t *testing.T) {
	t.Setenv("FAKECUDA_LOG", filepath.Join(t.TempDir(), "log"))
	path := fakecuda.Build(t)
	call := func(name string, a, b int64) int {
		code, _ := calls.Call(path, name, a, b)
		return code
	}
	d := Open(t, path)
	d.Reset()
	require.Zero(t, d.Calls())
	require.Equal(t, 3, call("cuDeviceGetCount", calls.Out, 0))
	require.Equal(t, []string{"cuDeviceGetCount: called before cuInit"}, d.Reports())
	require.EqualValues(t, 1, d.Calls())
	d.ClearReports()
	require.Empty(t, d.Reports())

	require.Zero(t, call("cuInit", 0, 0))
	d.FailAt(2, 999, "cuInit", "cuDeviceGetC*")
	require.Zero(t, call("cuDeviceGetCount", calls.Out, 0))
	require.False(t, d.Failed())
	require.Zero(t, call("cuDriverGetVersion", calls.Out, 0))
	require.Equal(t, 999, call("cuDeviceGetCount", calls.Out, 0))
	require.True(t, d.Failed())

	code, context := calls.Call(path, "cuDevicePrimaryCtxRetain", calls.Out, 0)
	require.Zero(t, code)
	require.Empty(t, d.Leaks(false))
	require.Equal(t, []string{"primary context of device 0"}, d.Leaks(true))
	d.Check(t)

	d.LoseDevice(1, 719)
	require.Equal(t, 719, call("cuDevicePrimaryCtxRetain", calls.Out, 1))
	d.Set(t, "devices", 1)
	_, count := calls.Call(path, "cuDeviceGetCount", calls.Out, 0)
	require.EqualValues(t, 1, count&0xFFFFFFFF)

	// A goroutine may change threads, so no thread has a current context, and no handle names the context's stream
	// here.
	require.NotZero(t, context)
	require.Zero(t, d.Pending())
	require.Zero(t, d.Executed())
	d.Reset()
	require.Empty(t, d.Leaks(true))
	require.Zero(t, d.Calls())
}
