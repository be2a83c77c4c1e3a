package devicetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
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

// twoDevices checks that two devices have separate memory and separate statistics.
func (s *suite) twoDevices(t *testing.T) {
	s.needSecond(t)
	require.NotEqual(t, s.dev, s.opts.Second)
	require.True(t, runtime.DeviceExists(s.opts.Second), "%v does not exist", s.opts.Second)
	devs := []dlpack.Device{s.dev, s.opts.Second}
	const count, n = 16, 1000
	var xs []*runtime.Tensor
	for i := range count {
		x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{n}, devs[i%2]))(t)
		require.Equal(t, devs[i%2], x.Device())
		require.NoError(t, runtime.CopyFrom(x, pattern(n, uint32(i))))
		xs = append(xs, x)
	}
	for i, x := range xs {
		got := must.Get(runtime.ToSlice[float32](x))(t)
		testequal.Slices(t, pattern(n, uint32(i)), got, "array %d, of %v, was overwritten", i, x.Device())
	}
	for _, x := range xs {
		require.NoError(t, x.Close())
	}
	// Streams of both devices.
	for i, dev := range devs {
		q := must.Get(runtime.NewStream(dev))(t)
		x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{n}, dev))(t)
		y := must.Get(runtime.NewTensor(dlpack.Float32, []int64{n}, dev))(t)
		require.NoError(t, runtime.CopyFrom(x, pattern(n, uint32(i))))
		require.NoError(t, y.CopyFromTensor(x, q))
		require.NoError(t, q.Sync(t.Context()))
		got := must.Get(runtime.ToSlice[float32](y))(t)
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
	second := must.Get(runtime.DeviceMemory(s.opts.Second))(t)
	x := must.Get(runtime.NewTensor(dlpack.UInt8, []int64{s.opts.Large}, s.opts.Second))(t)
	now := must.Get(runtime.DeviceMemory(s.opts.Second))(t)
	require.GreaterOrEqual(t, now.Data, second.Data+s.opts.Large)
	now = must.Get(runtime.DeviceMemory(s.dev))(t)
	require.Equal(t, first.Data, now.Data, "memory of %v does not count for %v", s.opts.Second, s.dev)
	require.NoError(t, x.Close())
}

// function returns the function of a module that is already closed; it must still work.
func (s *suite) function(t *testing.T) *runtime.Function {
	t.Helper()
	if s.opts.Module == nil {
		t.Skip("Options.Module is nil")
	}
	m := must.Get(s.opts.Module())(t)
	f := must.Get(m.Function(AddOne))(t)
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

// modules runs a function of a closed module, in order with copies on streams.
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
			must.Get(f.CallOn(on, x))(t)
		}
		require.NoError(t, y.CopyFromTensor(x, on))
		must.Get(f.CallOn(on, x))(t)
		require.NoError(t, s.sync(t, on))
		got := must.Get(runtime.ToSlice[float32](y))(t)
		testequal.Slices(t, plus(data, 3), got, "a stream runs its work in order")
		got = must.Get(runtime.ToSlice[float32](x))(t)
		testequal.Slices(t, plus(data, 4), got)
	}
	again := s.function(t)
	require.NoError(t, f.Close())
	require.NoError(t, runtime.CopyFrom(x, data))
	must.Get(again.Call(x))(t)
	got := must.Get(runtime.ToSlice[float32](x))(t)
	testequal.Slices(t, plus(data, 1), got, "closing one module does not affect another one")
	_, err := again.Call("no array")
	requireError(t, err)
	require.NoError(t, again.Close())
	require.ErrorIs(t, must.Fail(again.Call(x)), runtime.ErrClosed)
	for _, c := range []*runtime.Tensor{x, y} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, q.Close())
}

// activeDevice checks that work runs on the active device, which is set by the stream of a call or by generated code.
func (s *suite) activeDevice(t *testing.T) {
	set := must.Get(runtime.Global("__tvm_set_device"))(t)
	defer set.Close()
	must.Get(set.Call(int(s.dev.Type), int(s.dev.ID)))(t)
	_, err := set.Call(int(s.absent.Type), int(s.absent.ID))
	requireError(t, err)
	s.needSecond(t)
	must.Get(set.Call(int(s.opts.Second.Type), int(s.opts.Second.ID)))(t)
	f := s.function(t)
	const n = 100
	data := make([]float32, n)
	for round := range 4 {
		for _, dev := range []dlpack.Device{s.dev, s.opts.Second} {
			x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{n}, dev))(t)
			require.NoError(t, runtime.CopyFrom(x, data))
			q := must.Get(runtime.NewStream(dev))(t)
			_, err := f.CallOn(q, x)
			require.NoError(t, err, "round %d on %v", round, dev)
			require.NoError(t, q.Sync(t.Context()))
			_, err = f.Call(x)
			require.NoError(t, err, "round %d on %v", round, dev)
			got := must.Get(runtime.ToSlice[float32](x))(t)
			testequal.Slices(t, plus(data, 2), got, "round %d on %v", round, dev)
			require.NoError(t, x.Close())
			require.NoError(t, q.Close())
		}
	}
	require.NoError(t, f.Close())
}
