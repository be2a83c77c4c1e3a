package runtime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestWorkspace_Tensors(t *testing.T) {
	noLeaks(t)
	for _, dev := range []dlpack.Device{runtime.CPU, fakeDevice(t)} {
		must.Get(runtime.TrimWorkspaces(dev))(t)
		before, err := runtime.WorkspaceMemory(dev)
		if dev == runtime.CPU {
			require.NoError(t, err)
		} else { // the fake has workspaces of its own
			before.InUse, err = theFake.workspaces.Load(), nil
		}
		w := must.Get(runtime.NewWorkspace(dlpack.Int32, []int64{2, 3}, dev, nil))(t)
		require.Equal(t, dev, w.Device())
		require.NoError(t, runtime.CopyFrom(w, []int32{1, 2, 3, 4, 5, 6}))
		require.Equal(t, []int32{1, 2, 3, 4, 5, 6}, slice[int32](t, w))
		if dev == runtime.CPU {
			now := must.Get(runtime.WorkspaceMemory(dev))(t)
			require.Equal(t, before.InUse+4096, now.InUse)
			require.Equal(t, before.Misses+1, now.Misses)
			memory := must.Get(runtime.DeviceMemory(dev))(t)
			require.Equal(t, now.Held, memory.Workspace)
			require.Equal(t, now.InUse, memory.WorkspaceInUse)
		} else {
			require.Equal(t, before.InUse+1, theFake.workspaces.Load())
		}
		view := must.Get(w.View(dlpack.Int32, []int64{1}, nil, 8))(t)
		require.NoError(t, w.Close())
		require.Equal(t, []int32{3}, slice[int32](t, view), "a view keeps it")
		require.NoError(t, view.Close())
		if dev == runtime.CPU {
			again := must.Get(runtime.NewWorkspace(dlpack.Int32, []int64{2}, dev, nil))(t)
			now := must.Get(runtime.WorkspaceMemory(dev))(t)
			require.Equal(t, before.Hits+1, now.Hits)
			require.NoError(t, again.Close())
			freed := must.Get(runtime.TrimWorkspaces(dev))(t)
			require.GreaterOrEqual(t, freed, int64(4096), "threads of earlier tests may have returned memory, too")
			now = must.Get(runtime.WorkspaceMemory(dev))(t)
			require.Equal(t, before.InUse, now.InUse)
		} else {
			require.Equal(t, before.InUse, theFake.workspaces.Load())
		}
	}
}

func TestWorkspace_Refusals(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s := must.Get(runtime.NewStream(dev))(t)
	_, err := runtime.NewWorkspace(dlpack.Int8, []int64{1}, runtime.CPU, s)
	requireError(t, err, runtime.ErrInvalidArgument, "fakedev:0", "cpu:0")
	require.NoError(t, s.Close())
	requireError(t, must.Fail(runtime.NewWorkspace(dlpack.Int8, []int64{1}, dev, s)), runtime.ErrClosed)
	_, err = runtime.NewWorkspace(dlpack.Int8, []int64{-1}, dev, nil)
	requireError(t, err, runtime.ErrInvalidArgument, "negative")
	_, err = runtime.NewWorkspace(dlpack.Int8, []int64{1}, dlpack.Device{Type: fakeType, ID: 9}, nil)
	requireError(t, err, runtime.ErrDeviceUnavailable, "no index 9")
	_, err = runtime.NewWorkspace(dlpack.Int8, []int64{1 << 50}, runtime.CPU, nil)
	requireError(t, err, runtime.ErrOutOfMemory)
	requireError(t, must.Fail(runtime.WorkspaceMemory(dlpack.Device{Type: 99})), runtime.ErrInvalidArgument, "99")
	requireError(t, must.Fail(runtime.TrimWorkspaces(dlpack.Device{Type: 99})), runtime.ErrInvalidArgument, "99")
	_, err = runtime.NewPinnedTensor(dlpack.Int8, []int64{1}, runtime.CPU)
	requireError(t, err, runtime.ErrNotSupported, "device cpu has none")
}

func TestPinned_Tensors(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	before := must.Get(runtime.DeviceMemory(dev))(t)
	p := must.Get(runtime.NewPinnedTensor(dlpack.Float32, []int64{4}, dev))(t)
	require.Equal(t, runtime.CPU, p.Device())
	now := must.Get(runtime.DeviceMemory(dev))(t)
	require.Equal(t, before.Pinned+16, now.Pinned)
	require.NoError(t, runtime.CopyFrom(p, []float32{1, 2, 3, 4}))
	x := empty(t, dlpack.Float32, []int64{4}, dev)
	require.NoError(t, x.CopyFromTensor(p, nil))
	require.Equal(t, []float32{1, 2, 3, 4}, slice[float32](t, x))
	require.NoError(t, p.Close())
	now = must.Get(runtime.DeviceMemory(dev))(t)
	require.Equal(t, before.Pinned, now.Pinned)
}

func TestWorkspace_GlobalFunctions(t *testing.T) {
	noLeaks(t)
	require.NoError(t, second(runtime.TrimWorkspaces(runtime.CPU)))
	w := must.Get(runtime.NewWorkspace(dlpack.Int8, []int64{5000}, runtime.CPU, nil))(t)
	stats := map[any]any{}
	for _, e := range call(t, global(t, "tvmgo.workspace.stats"), runtime.CPU).(runtime.Map) {
		stats[e.Key] = e.Value
	}
	require.Equal(t, int64(5120), stats["in_use"])
	for _, key := range []string{"held", "peak", "hits", "misses"} {
		require.Contains(t, stats, key)
	}
	require.NoError(t, w.Close())
	require.Equal(t, int64(5120), call(t, global(t, "tvmgo.workspace.trim"), int(dlpack.CPU), 0))
	requireError(t, must.Fail(global(t, "tvmgo.workspace.trim").Call(99, 0)), runtime.ErrInvalidArgument, "99")
	require.Error(t, must.Fail(global(t, "tvmgo.workspace.stats").Call()))
}

func TestWorkspace_Limit(t *testing.T) {
	noLeaks(t)
	require.NoError(t, second(runtime.TrimWorkspaces(runtime.CPU)))
	held := must.Get(runtime.WorkspaceMemory(runtime.CPU))(t).Held
	require.Zero(t, must.Get(runtime.SetWorkspaceLimit(runtime.CPU, 16384))(t))
	defer func() { require.NoError(t, second(runtime.SetWorkspaceLimit(runtime.CPU, 0))) }()
	require.Equal(t, int64(16384), must.Get(runtime.WorkspaceMemory(runtime.CPU))(t).Limit)
	w := must.Get(runtime.NewWorkspace(dlpack.Int8, []int64{12288}, runtime.CPU, nil))(t)
	_, err := runtime.NewWorkspace(dlpack.Int8, []int64{8192}, runtime.CPU, nil)
	requireError(t, err, runtime.ErrOutOfMemory, "8192 bytes", "12288 of 16384 bytes are in use", "raise the limit")
	require.NoError(t, w.Close())
	w = must.Get(runtime.NewWorkspace(dlpack.Int8, []int64{8192}, runtime.CPU, nil))(t)
	require.NoError(t, w.Close())
	require.NoError(t, second(runtime.TrimWorkspaces(runtime.CPU)))
	require.LessOrEqual(t, must.Get(runtime.WorkspaceMemory(runtime.CPU))(t).Held, held, "others may return more")
	requireError(t, must.Fail(runtime.SetWorkspaceLimit(runtime.CPU, -1)), runtime.ErrInvalidArgument, "negative")
	requireError(t, must.Fail(runtime.SetWorkspaceLimit(fakeDevice(t), 1)), runtime.ErrNotSupported, "of its own")
}

func TestWorkspace_IdleTime(t *testing.T) {
	noLeaks(t)
	before := runtime.SetWorkspaceIdleTime(time.Millisecond)
	defer func() { runtime.SetWorkspaceIdleTime(before) }()
	w := must.Get(runtime.NewWorkspace(dlpack.Int8, []int64{100000}, runtime.CPU, nil))(t)
	held := must.Get(runtime.WorkspaceMemory(runtime.CPU))(t).Held
	require.NoError(t, w.Close())
	require.Eventually(t, func() bool {
		return must.Get(runtime.WorkspaceMemory(runtime.CPU))(t).Held < held-100000
	}, time.Minute, time.Millisecond)
	require.Equal(t, time.Millisecond, runtime.SetWorkspaceIdleTime(-5))
	require.Zero(t, runtime.SetWorkspaceIdleTime(0))
}

func second[T any](_ T, err error) error { return err }
