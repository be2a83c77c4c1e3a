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

// holds waits for nothing but the copy.
func (s *suite) holds(t *testing.T, x *runtime.Tensor, want []float32, what string) {
	t.Helper()
	got, err := runtime.ToSlice[float32](x)
	require.NoError(t, err, what)
	testequal.Slices(t, want, got, what)
}

// streamMemory gives memory back to a stream while work on it is queued. A device without such memory gives
// ordinary memory, which must do the same.
func (s *suite) streamMemory(t *testing.T) {
	a, b := s.stream(t), s.stream(t)
	for _, n := range []int64{0, 1, 1023, 100000} {
		x, y := s.onStream(t, n, a), s.onStream(t, n, a)
		if s.opts.DataIsAddress {
			require.Zero(t, x.Data()%64, "%d elements", n)
		}
		ofX, ofY := pattern(int(n), 1), pattern(int(n), 2)
		require.NoError(t, a.Sync(t.Context())) // CopyFrom is on another stream
		require.NoError(t, runtime.CopyFrom(x, ofX))
		require.NoError(t, runtime.CopyFrom(y, ofY))
		s.holds(t, x, ofX, "two tensors are two places")
		s.holds(t, y, ofY, "two tensors are two places")
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
		require.NoError(t, runtime.CopyFrom(x, ofA))
		require.NoError(t, runtime.CopyFrom(z, ofB))

		w := s.onStream(t, n, a) // a reads it after it was given back
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, a.Sync(t.Context()))
		require.NoError(t, y.CopyFromTensor(w, a))
		require.NoError(t, w.Close())
		v := s.onStream(t, n, b)
		require.NoError(t, v.CopyFromTensor(z, b))
		require.NoError(t, b.Sync(t.Context()))
		require.NoError(t, a.Sync(t.Context()))
		s.holds(t, y, ofA, "another stream wrote into memory that was given back before work on it was done")
		require.NoError(t, v.Close())
		require.NoError(t, b.Sync(t.Context()))

		w = s.onStream(t, n, a) // a writes it after it was given back
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, w.Close())
		v = s.onStream(t, n, b)
		require.NoError(t, v.CopyFromTensor(z, b))
		require.NoError(t, b.Sync(t.Context()))
		require.NoError(t, a.Sync(t.Context()))
		require.NoError(t, y.CopyFromTensor(v, b))
		require.NoError(t, b.Sync(t.Context()))
		s.holds(t, y, ofB, "work queued before wrote into another stream's memory")
		require.NoError(t, v.Close())

		w = s.onStream(t, n, a) // the same stream may have it at once
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, y.CopyFromTensor(w, a))
		require.NoError(t, w.Close())
		w = s.onStream(t, n, a)
		require.NoError(t, w.CopyFromTensor(z, a))
		require.NoError(t, a.Sync(t.Context()))
		s.holds(t, y, ofA, "work of one stream is in order")
		s.holds(t, w, ofB, "work of one stream is in order")

		require.NoError(t, b.WaitFor(a)) // another stream in between, in order with this one
		require.NoError(t, y.CopyFromTensor(w, b))
		require.NoError(t, a.WaitFor(b))
		require.NoError(t, w.Close())
		w = s.onStream(t, n, a)
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, a.Sync(t.Context()))
		require.NoError(t, b.Sync(t.Context()))
		s.holds(t, y, ofB, "the stream waited for another one before it gave the memory back")
		require.NoError(t, w.Close())
	}
	// The stream goes first.
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
	require.Eventually(t, func() bool { // nobody can wait for a closed stream
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
