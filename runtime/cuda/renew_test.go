//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

// After other code resets a primary context, calls return an error that names Renew. After Renew, the device works,
// modules are loaded again, and objects of the old context can be closed without affecting the new one.
func TestRenew(t *testing.T) {
	if !inChild() {
		needFake(t)
		child(t, t.Name(), "FAKECUDA_LIBRARY="+fakeLibrary)
		return
	}
	driver := needFake(t)
	require.ErrorIs(t, cuda.Renew(5), runtime.ErrDeviceUnavailable)
	data := counting(64, 1)
	var left []interface{ Close() error }
	for _, of := range kinds {
		left = append(left, tensor(t, on(of, first), data))
	}
	for range 24 {
		for _, of := range kinds {
			left = append(left, tensor(t, on(of, first), data))
		}
	}
	q := stream(t, first)
	ordered := must.Get(q.NewTensor(dlpack.Float32, []int64{64}))(t)
	pinned := must.Get(runtime.NewPinnedTensor(dlpack.Float32, []int64{64}, first))(t)
	timer := must.Get(runtime.NewTimer(first))(t)
	require.NoError(t, timer.Start(q))
	m := ptx(t, kernels...)
	scale := kernel(t, m, "scale")
	x := left[0].(*runtime.Tensor)
	g := must.Get(q.Capture(func() error { return scale.Launch(q, one, runtime.Dim3{64}, x, 2, 64) }))(t)
	require.NoError(t, scale.Launch(nil, one, runtime.Dim3{64}, x, 2, 64))
	require.NoError(t, runtime.SyncDevice(t.Context(), first))
	left = append(left, ordered, pinned, timer, g, q)
	other := tensor(t, second, data)
	err := cuda.Renew(0)
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err, "the current one was not reset")

	dev := must.Get(cu.GetDevice(0))(t)
	require.NoError(t, dev.ResetPrimaryCtx())
	_, err = runtime.NewTensor(dlpack.Float32, []int64{64}, first)
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	for _, part := range []string{"cuda:0's primary context was reset by other code of this process", "runtime/cuda.Renew",
		"tvmgo.cuda.renew"} {
		require.ErrorContains(t, err, part)
	}
	require.ErrorContains(t, scale.Launch(q, one, one, x, 2, 64), "was reset by other code")
	require.Equal(t, data, slice(t, other), "other devices still work")

	f := must.Get(runtime.Global("tvmgo.cuda.renew"))(t)
	must.Get(f.Call(0))(t)
	require.NoError(t, f.Close())
	driver.ClearReports() // reports of the reset and of the calls after it
	var fresh []*runtime.Tensor
	for range 24 { // some get the addresses of lost memory
		for _, of := range kinds {
			fresh = append(fresh, tensor(t, on(of, first), data), tensor(t, on(of, second), data))
		}
	}
	require.ErrorContains(t, timer.Stop(nil),
		"it belongs to a context of cuda:0 that other code has reset: close it, and create another")
	require.ErrorContains(t, q.Sync(t.Context()),
		"belongs to a context that other code has reset: close it, and create another")
	require.ErrorContains(t, scale.Launch(q, one, one, fresh[0], 2, 64), "belongs to a context that other code has reset")
	require.ErrorContains(t, fresh[0].CopyFromTensor(fresh[6], q), "belongs to a context that other code has reset")
	_, err = q.NewTensor(dlpack.Float32, []int64{64})
	require.ErrorContains(t, err, "belongs to a context that other code has reset")
	require.ErrorContains(t, g.Launch(stream(t, first)),
		"launch a graph: it belongs to a context of cuda:0 that other code has reset")
	y := fresh[0]
	require.NoError(t, scale.Launch(nil, one, runtime.Dim3{64}, y, 3, 64), "modules are loaded again")
	want := counting(64, 1)
	for i := range want {
		want[i] *= 3
	}
	require.Equal(t, want, slice(t, y))
	for _, c := range left {
		require.NoError(t, c.Close())
	}
	require.Equal(t, want, slice(t, y), "closing objects of the old context does not affect the new one")
	for _, c := range fresh[1:] {
		require.Equal(t, data, slice(t, c))
		require.NoError(t, c.Close())
	}
	require.NoError(t, y.Close())
	memory := must.Get(runtime.DeviceMemory(first))(t)
	require.Zero(t, memory.Data)
	require.Zero(t, memory.Pinned)
	require.NoError(t, other.Close())
	require.NoError(t, scale.Close())
	require.NoError(t, m.Close())
	require.Empty(t, driver.Reports())
	leftBehind = true // the pool of the old context
}
