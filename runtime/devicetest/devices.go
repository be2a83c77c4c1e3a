package devicetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/testequal"
	"tvmgo/runtime"
)

func (s *suite) hasSecond() bool { return s.opts.Second.Type != 0 && s.opts.Second != s.dev }

func (s *suite) needSecond(t *testing.T) {
	t.Helper()
	if !s.hasSecond() {
		t.Skip("Options.Second names no second device")
	}
}

// twoDevices keeps memory of two devices apart, and the books on it.
func (s *suite) twoDevices(t *testing.T) {
	s.needSecond(t)
	require.NotEqual(t, s.dev, s.opts.Second)
	require.True(t, runtime.DeviceExists(s.opts.Second), "%v is not there", s.opts.Second)
	devs := []dlpack.Device{s.dev, s.opts.Second}
	const count, n = 16, 1000
	var xs []*runtime.Tensor
	for i := range count {
		x, err := runtime.NewTensor(dlpack.Float32, []int64{n}, devs[i%2])
		require.NoError(t, err)
		require.Equal(t, devs[i%2], x.Device())
		require.NoError(t, runtime.CopyFrom(x, pattern(n, uint32(i))))
		xs = append(xs, x)
	}
	for i, x := range xs {
		got, err := runtime.ToSlice[float32](x)
		require.NoError(t, err)
		testequal.Slices(t, pattern(n, uint32(i)), got, "array %d, of %v, was overwritten", i, x.Device())
	}
	for _, x := range xs {
		require.NoError(t, x.Close())
	}
	// Streams of both.
	for i, dev := range devs {
		q, err := runtime.NewStream(dev)
		require.NoError(t, err)
		x, err := runtime.NewTensor(dlpack.Float32, []int64{n}, dev)
		require.NoError(t, err)
		y, err := runtime.NewTensor(dlpack.Float32, []int64{n}, dev)
		require.NoError(t, err)
		require.NoError(t, runtime.CopyFrom(x, pattern(n, uint32(i))))
		require.NoError(t, y.CopyFromTensor(x, q))
		require.NoError(t, q.Sync(t.Context()))
		got, err := runtime.ToSlice[float32](y)
		require.NoError(t, err)
		testequal.Slices(t, pattern(n, uint32(i)), got)
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
		require.NoError(t, q.Close())
	}
	if s.opts.OneMemory {
		return
	}
	first, err := runtime.DeviceMemory(s.dev)
	if isUnsupported(err) {
		return
	}
	require.NoError(t, err)
	second, err := runtime.DeviceMemory(s.opts.Second)
	require.NoError(t, err)
	x, err := runtime.NewTensor(dlpack.UInt8, []int64{s.opts.Large}, s.opts.Second)
	require.NoError(t, err)
	now, err := runtime.DeviceMemory(s.opts.Second)
	require.NoError(t, err)
	require.GreaterOrEqual(t, now.Data, second.Data+s.opts.Large)
	now, err = runtime.DeviceMemory(s.dev)
	require.NoError(t, err)
	require.Equal(t, first.Data, now.Data, "memory of %v is not booked on %v", s.opts.Second, s.dev)
	require.NoError(t, x.Close())
}

// function makes the module, takes its function and gives the module up: the function must do without.
func (s *suite) function(t *testing.T) *runtime.Function {
	t.Helper()
	if s.opts.Module == nil {
		t.Skip("Options.Module makes no module for this device")
	}
	m, err := s.opts.Module()
	require.NoError(t, err)
	f, err := m.Function(AddOne)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	t.Cleanup(func() { f.Close() })
	return f
}

func plus(data []float32, k float32) []float32 {
	sum := make([]float32, len(data))
	for i := range data {
		sum[i] = data[i] + k
	}
	return sum
}

// modules runs a function of a module that was closed, in order with copies on streams.
func (s *suite) modules(t *testing.T) {
	f := s.function(t)
	const n = 1000
	data := make([]float32, n) // small integers: sums are exact
	for i := range data {
		data[i] = float32(i)
	}
	q := s.stream(t)
	x, y := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	for _, on := range []*runtime.Stream{nil, q} {
		require.NoError(t, runtime.CopyFrom(x, data))
		for range 3 {
			_, err := f.CallOn(on, x)
			require.NoError(t, err)
		}
		require.NoError(t, y.CopyFromTensor(x, on))
		_, err := f.CallOn(on, x)
		require.NoError(t, err)
		require.NoError(t, s.sync(t, on))
		got, err := runtime.ToSlice[float32](y)
		require.NoError(t, err)
		testequal.Slices(t, plus(data, 3), got, "work of a stream is done in order")
		got, err = runtime.ToSlice[float32](x)
		require.NoError(t, err)
		testequal.Slices(t, plus(data, 4), got)
	}
	again := s.function(t)
	require.NoError(t, f.Close())
	require.NoError(t, runtime.CopyFrom(x, data))
	_, err := again.Call(x)
	require.NoError(t, err)
	got, err := runtime.ToSlice[float32](x)
	require.NoError(t, err)
	testequal.Slices(t, plus(data, 1), got, "closing one module leaves the next one")
	_, err = again.Call("no array")
	requireError(t, err)
	require.NoError(t, again.Close())
	_, err = again.Call(x)
	require.ErrorIs(t, err, runtime.ErrClosed)
	for _, c := range []*runtime.Tensor{x, y} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, q.Close())
}

// activeDevice lets work land on the device that is active: the one of the stream of a call, or the one that
// generated code asks for.
func (s *suite) activeDevice(t *testing.T) {
	set, err := runtime.Global("__tvm_set_device")
	require.NoError(t, err)
	defer set.Close()
	_, err = set.Call(int(s.dev.Type), int(s.dev.ID))
	require.NoError(t, err)
	_, err = set.Call(int(s.absent.Type), int(s.absent.ID))
	requireError(t, err)
	s.needSecond(t)
	_, err = set.Call(int(s.opts.Second.Type), int(s.opts.Second.ID))
	require.NoError(t, err)
	f := s.function(t)
	const n = 100
	data := make([]float32, n)
	for round := range 4 {
		for _, dev := range []dlpack.Device{s.dev, s.opts.Second} {
			x, err := runtime.NewTensor(dlpack.Float32, []int64{n}, dev)
			require.NoError(t, err)
			require.NoError(t, runtime.CopyFrom(x, data))
			q, err := runtime.NewStream(dev)
			require.NoError(t, err)
			_, err = f.CallOn(q, x)
			require.NoError(t, err, "round %d on %v", round, dev)
			require.NoError(t, q.Sync(t.Context()))
			_, err = f.Call(x)
			require.NoError(t, err, "round %d on %v", round, dev)
			got, err := runtime.ToSlice[float32](x)
			require.NoError(t, err)
			testequal.Slices(t, plus(data, 2), got, "round %d on %v", round, dev)
			require.NoError(t, x.Close())
			require.NoError(t, q.Close())
		}
	}
	require.NoError(t, f.Close())
}
