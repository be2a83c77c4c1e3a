package runtime_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func onStream(t testing.TB, s *runtime.Stream, n int64) *runtime.Tensor {
	t.Helper()
	return must.Open(s.NewTensor(dlpack.Float32, []int64{n}))(t)
}

func TestStreamMemory_GoesBackToItsStream(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s := newStream(t, dev)
	before, reused := runtime.Live().TensorBytes, theFake.reused.Load()
	x := onStream(t, s, 1000)
	require.Equal(t, dev, x.Device())
	require.Equal(t, []int64{1000}, x.Shape())
	require.Equal(t, before+4000, runtime.Live().TensorBytes)
	data := make([]float32, 1000)
	data[7] = 7
	require.NoError(t, runtime.CopyFrom(x, data))
	require.Equal(t, data, slice[float32](t, x))
	at := x.Data()
	require.NoError(t, x.Close())
	require.NoError(t, x.Close())
	require.Equal(t, before, runtime.Live().TensorBytes)
	require.Equal(t, at, onStream(t, s, 1000).Data(), "the stream's next work can reuse the memory")
	require.Equal(t, reused+1, theFake.reused.Load())
}

func TestStreamMemory_OutlivesItsStream(t *testing.T) {
	noLeaks(t)
	s := newStream(t, fakeDevice(t))
	x, y := onStream(t, s, 10), onStream(t, s, 10)
	before := theFake.toDevice.Load()
	require.NoError(t, x.Close())
	require.NoError(t, s.Close())
	again := newStream(t, fakeDevice(t))
	require.NoError(t, y.CopyFromBytes(make([]byte, 40)))
	require.NoError(t, y.Close())
	require.Equal(t, before+1, theFake.toDevice.Load(), "the device frees it directly, because its stream is closed")
	require.ErrorIs(t, must.Fail(s.NewTensor(dlpack.Float32, []int64{1})), runtime.ErrClosed)
	require.NoError(t, onStream(t, again, 10).Close())
}

func TestStreamMemory_LentOut(t *testing.T) {
	noLeaks(t)
	s := newStream(t, fakeDevice(t))
	theFake.reused.Store(0)
	for name, close := range map[string]bool{"stream open": false, "stream closed": true} {
		s := s
		if close {
			s = newStream(t, fakeDevice(t))
		}
		count := func() int { theFake.mu.Lock(); defer theFake.mu.Unlock(); return len(theFake.spaces) }
		before := count()
		x := onStream(t, s, 12)
		p := must.Get(x.ToDLPack())(t)
		v := must.Get(x.View(dlpack.Float32, []int64{2}, nil, 8))(t)
		require.NoError(t, x.Close())
		if close {
			require.NoError(t, s.Close())
		}
		lent := must.Get(runtime.FromDLPack(p))(t)
		require.NoError(t, lent.CopyFromBytes(make([]byte, 48)), name)
		require.NoError(t, lent.Close())
		require.Equal(t, before+1, count(), "%s: the view keeps the memory", name)
		require.NoError(t, v.Close())
		require.Equal(t, before, count(), name)
	}
}

func TestStreamMemory_Refused(t *testing.T) {
	noLeaks(t)
	s := newStream(t, fakeDevice(t))
	var none *runtime.Stream
	_, err := none.NewTensor(dlpack.Float32, []int64{1})
	requireError(t, err, runtime.ErrInvalidArgument, "the stream is nil")
	_, err = s.NewTensor(dlpack.Float32, []int64{-1})
	requireError(t, err, runtime.ErrInvalidArgument, "allocate tensor", "negative")
	_, err = s.NewTensor(dlpack.DataType{}, []int64{1})
	requireError(t, err, runtime.ErrInvalidArgument, "allocate tensor")
	_, err = s.NewTensor(dlpack.Float32, []int64{1 << 40})
	requireError(t, err, runtime.ErrOutOfMemory, "allocate tensor: fakedev has no")
	theFake.failWith(t, func(op string) error {
		if op == "free on stream" {
			return errors.New("no luck")
		}
		return nil
	})
	x := must.Get(s.NewTensor(dlpack.Float32, []int64{1}))(t)
	p := x.Data()
	require.NoError(t, x.Close(), "Close does not report the device's error")
	require.NoError(t, theFake.FreeDataSpace(0, *(*unsafe.Pointer)(unsafe.Pointer(&p))))
}

// The CPU has no stream-ordered memory, and only one queue.
func TestStreamMemory_IsOrdinaryElsewhere(t *testing.T) {
	noLeaks(t)
	s := newStream(t, runtime.CPU)
	x, y := onStream(t, s, 3), onStream(t, s, 3)
	require.NoError(t, runtime.CopyFrom(x, []float32{1, 2, 3}))
	require.NoError(t, y.CopyFromTensor(x, s))
	require.NoError(t, x.Close())
	require.NoError(t, s.Close())
	require.Equal(t, []float32{1, 2, 3}, slice[float32](t, y))
	require.ErrorIs(t, must.Fail(s.NewTensor(dlpack.Float32, []int64{1})), runtime.ErrClosed)
}
