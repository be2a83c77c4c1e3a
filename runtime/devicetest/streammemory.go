package devicetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testequal"
	"tvmgo/runtime"
)

func (s *suite) onStream(t *testing.T, n int64, q *runtime.Stream) *runtime.Tensor {
	t.Helper()
	x := must.Get(q.NewTensor(dlpack.Float32, []int64{n}))(t)
	require.Equal(t, s.dev, x.Device())
	t.Cleanup(func() { x.Close() })
	return x
}

// holds checks the data of a tensor. It does not wait for other work.
func (s *suite) holds(t *testing.T, x *runtime.Tensor, want []float32, what string) {
	t.Helper()
	got, err := runtime.ToSlice[float32](x)
	require.NoError(t, err, what)
	testequal.Slices(t, want, got, what)
}

// streamMemory closes memory of a stream while enqueued work uses it. A device without such memory allocates ordinary
// memory, which must behave in the same way.
func (s *suite) streamMemory(t *testing.T) {
	a, b := s.stream(t), s.stream(t)
	for _, n := range []int64{0, 1, 1023, 100000} {
		x, y := s.onStream(t, n, a), s.onStream(t, n, a)
		if s.opts.DataIsAddress {
			require.Zero(t, x.Data()%64, "%d elements", n)
		}
		ofX, ofY := pattern(int(n), 1), pattern(int(n), 2)
		require.NoError(t, a.Sync(t.Context())) // CopyFrom uses another stream
		require.NoError(t, runtime.CopyFrom(x, ofX))
		require.NoError(t, runtime.CopyFrom(y, ofY))
		s.holds(t, x, ofX, "two tensors have distinct memory")
		s.holds(t, y, ofY, "two tensors have distinct memory")
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
	}
	_, err := a.NewTensor(dlpack.UInt8, []int64{1 << 50})
	requireError(t, err)
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)

	n := s.opts.Large / 4
	x, y, z := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	for round := range uint32(4) {
		ofA, ofB := pattern(int(n), round), pattern(int(n), round+100)
		s.closeWhileInUse(t, streamTensors{a, b, x, y, z}, ofA, ofB, s.onStream)

		w := s.onStream(t, n, a) // another stream reads it, in order with stream a
		require.NoError(t, w.CopyFromTensor(z, a))
		require.NoError(t, a.Sync(t.Context()))
		s.holds(t, w, ofB, "a stream runs its work in order")
		require.NoError(t, b.WaitFor(a))
		require.NoError(t, y.CopyFromTensor(w, b))
		require.NoError(t, a.WaitFor(b))
		require.NoError(t, w.Close())
		w = s.onStream(t, n, a)
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, a.Sync(t.Context()))
		require.NoError(t, b.Sync(t.Context()))
		s.holds(t, y, ofB, "stream a waited for stream b before it closed the memory")
		require.NoError(t, w.Close())
	}
	// The stream is closed before its memory.
	ofA := pattern(int(n), 77)
	require.NoError(t, runtime.CopyFrom(x, ofA))
	w := s.onStream(t, n, a)
	require.NoError(t, w.CopyFromTensor(x, a))
	require.NoError(t, y.CopyFromTensor(w, a))
	if s.opts.ReportsRaces {
		require.NoError(t, b.WaitFor(a))
	}
	require.NoError(t, a.Close())
	require.NoError(t, w.Close())
	v := s.onStream(t, n, b)
	require.NoError(t, v.CopyFromTensor(z, b))
	require.NoError(t, b.Sync(t.Context()))
	require.Eventually(t, func() bool { // no caller can wait for a closed stream
		got, err := runtime.ToSlice[float32](y)
		return err == nil && slices.Equal(ofA, got)
	}, patience, 10*time.Millisecond)
	require.NoError(t, v.Close())
	require.ErrorIs(t, must.Fail(a.NewTensor(dlpack.Float32, []int64{1})), runtime.ErrClosed)
	for _, c := range []*runtime.Tensor{x, y, z} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, b.Close())
}
