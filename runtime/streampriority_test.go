package runtime_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// The fake device has the same stream priorities as NVIDIA's devices.
const fakeLeast, fakeGreatest = 0, -5

func (f *fake) StreamPriorityRange(id int) (least, greatest int, err error) {
	return fakeLeast, fakeGreatest, f.check("stream priority range", id)
}

func (f *fake) CreateStreamWithPriority(id, priority int) (runtime.StreamHandle, error) {
	if priority > fakeLeast || priority < fakeGreatest {
		return 0, fmt.Errorf("fakedev has no priority %d", priority)
	}
	h, err := f.CreateStream(id)
	if err == nil {
		f.mu.Lock()
		f.priorities[h] = priority
		f.mu.Unlock()
	}
	return h, err
}

var _ runtime.StreamPrioritizer = (*fake)(nil)

func TestStreamPriority(t *testing.T) {
	dev := fakeDevice(t)
	least, greatest, err := runtime.StreamPriorities(dev)
	require.NoError(t, err)
	require.Equal(t, fakeLeast, least)
	require.Equal(t, fakeGreatest, greatest)
	s := must.Get(runtime.NewStreamWithPriority(dev, -3))(t)
	require.Equal(t, dev, s.Device())
	theFake.mu.Lock()
	require.Equal(t, -3, theFake.priorities[runtime.StreamHandle(s.Handle())])
	theFake.mu.Unlock()
	require.NoError(t, s.Sync(t.Context()))
	require.NoError(t, s.Close())

	require.ErrorContains(t, must.Fail(runtime.NewStreamWithPriority(dev, 1)), "fakedev has no priority 1")
	require.ErrorIs(t, must.Fail(runtime.NewStreamWithPriority(dev, math.MinInt64)), runtime.ErrInvalidArgument)
	dev.ID = fakeCount
	_, _, err = runtime.StreamPriorities(dev)
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
}

func TestTargetProperty(t *testing.T) {
	dev := fakeDevice(t)
	v := must.Get(runtime.TargetProperty(dev, "max_num_threads"))(t)
	require.Equal(t, int64(256), v)
	for _, d := range []dlpack.Device{dev, runtime.CPU} {
		v = must.Get(runtime.TargetProperty(d, "no_such_thing"))(t)
		require.Nil(t, v)
	}
	require.ErrorIs(t, must.Fail(runtime.TargetProperty(dlpack.Device{Type: 35}, "arch")), runtime.ErrDeviceUnavailable)
}

func TestStreamPriority_NotOnEveryDevice(t *testing.T) {
	_, err := runtime.NewStreamWithPriority(runtime.CPU, 0)
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, "streams of device cpu have no priorities")
	_, _, err = runtime.StreamPriorities(runtime.CPU)
	require.ErrorIs(t, err, runtime.ErrNotSupported)
}
