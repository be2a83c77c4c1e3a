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

func (s *suite) workspace(t *testing.T, n int64, q *runtime.Stream) *runtime.Tensor {
	t.Helper()
	w := must.Get(runtime.NewWorkspace(dlpack.Float32, []int64{n}, s.dev, q))(t)
	t.Cleanup(func() { w.Close() })
	return w
}

// workspaces checks that every device has workspaces, that they are distinct, and that freed ones are reused.
func (s *suite) workspaces(t *testing.T) {
	for _, n := range []int64{0, 1, 16, 1023, 1025, 100000} {
		a, b := s.workspace(t, n, nil), s.workspace(t, n, nil)
		if s.opts.DataIsAddress {
			require.Zero(t, a.Data()%64, "%d elements", n)
		}
		x, y := pattern(int(n), 1), pattern(int(n), 2)
		require.NoError(t, runtime.CopyFrom(a, x))
		require.NoError(t, runtime.CopyFrom(b, y))
		got := must.Get(runtime.ToSlice[float32](a))(t)
		testequal.Slices(t, x, got)
		got = must.Get(runtime.ToSlice[float32](b))(t)
		testequal.Slices(t, y, got)
		require.NoError(t, b.Close())
		require.NoError(t, a.Close())
	}
	_, err := runtime.NewWorkspace(dlpack.UInt8, []int64{1}, s.absent, nil)
	requireError(t, err)
	_, err = runtime.NewWorkspace(dlpack.UInt8, []int64{1 << 50}, s.dev, nil)
	requireError(t, err)
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)

	q := s.stream(t)
	rounds := func() {
		for range 200 {
			for _, on := range []*runtime.Stream{nil, q} {
				require.NoError(t, s.workspace(t, 5000, on).Close())
			}
		}
	}
	rounds()
	before, err := runtime.WorkspaceMemory(s.dev)
	if err == nil {
		grows := true // may grow while the device still runs work that uses freed workspaces
		for try := 0; try < 10 && grows; try++ {
			rounds()
			after := must.Get(runtime.WorkspaceMemory(s.dev))(t)
			require.Equal(t, before.InUse, after.InUse)
			grows = after.Held > before.Held
			before = after
		}
		require.False(t, grows, "freed workspaces are reused")
	} else {
		require.ErrorIs(t, err, runtime.ErrNotSupported)
	}
	require.NoError(t, q.Close())
	must.Get(runtime.TrimWorkspaces(s.dev))(t)
}

// streamTensors has two streams, and three tensors for the data that the tests of closed memory copy.
type streamTensors struct {
	a, b    *runtime.Stream
	x, y, z *runtime.Tensor
}

// closeWhileInUse closes memory of a stream while enqueued work uses it. Another stream must not overwrite data that
// the work still reads, and the work must not overwrite data of another stream. alloc allocates memory of a stream. ofA
// and ofB are the data of x and z.
func (s *suite) closeWhileInUse(t *testing.T, c streamTensors, ofA, ofB []float32,
	alloc func(*testing.T, int64, *runtime.Stream) *runtime.Tensor) {
	a, b, n := c.a, c.b, int64(len(ofA))
	require.NoError(t, runtime.CopyFrom(c.x, ofA))
	require.NoError(t, runtime.CopyFrom(c.z, ofB))

	w := alloc(t, n, a) // stream a reads it after Close
	require.NoError(t, w.CopyFromTensor(c.x, a))
	require.NoError(t, a.Sync(t.Context()))
	require.NoError(t, c.y.CopyFromTensor(w, a))
	require.NoError(t, w.Close())
	v := alloc(t, n, b)
	require.NoError(t, v.CopyFromTensor(c.z, b))
	require.NoError(t, b.Sync(t.Context()))
	require.NoError(t, a.Sync(t.Context()))
	s.holds(t, c.y, ofA, "another stream wrote to closed memory before earlier work had read it")
	require.NoError(t, v.Close())
	require.NoError(t, b.Sync(t.Context()))

	w = alloc(t, n, a) // stream a writes it after Close
	require.NoError(t, w.CopyFromTensor(c.x, a))
	require.NoError(t, w.Close())
	v = alloc(t, n, b)
	require.NoError(t, v.CopyFromTensor(c.z, b))
	require.NoError(t, b.Sync(t.Context()))
	require.NoError(t, a.Sync(t.Context()))
	require.NoError(t, c.y.CopyFromTensor(v, b))
	require.NoError(t, b.Sync(t.Context()))
	s.holds(t, c.y, ofB, "earlier work wrote to memory of another stream")
	require.NoError(t, v.Close())

	w = alloc(t, n, a) // the same stream may get the memory immediately, because its work runs in order
	require.NoError(t, w.CopyFromTensor(c.x, a))
	require.NoError(t, c.y.CopyFromTensor(w, a))
	require.NoError(t, w.Close())
	w = alloc(t, n, a)
	require.NoError(t, w.CopyFromTensor(c.z, a))
	require.NoError(t, w.Close())
	require.NoError(t, a.Sync(t.Context()))
	s.holds(t, c.y, ofA, "a stream runs its work in order")
}

// workspacesOfStreams closes workspaces while enqueued work uses them.
func (s *suite) workspacesOfStreams(t *testing.T) {
	n := s.opts.Large / 4
	a, b := s.stream(t), s.stream(t)
	x, y, z := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	for round := range uint32(4) {
		s.closeWhileInUse(t, streamTensors{a, b, x, y, z}, pattern(int(n), round), pattern(int(n), round+100), s.workspace)
	}
	// The same if the workspaces are trimmed while work is enqueued.
	ofA := pattern(int(n), 77)
	require.NoError(t, runtime.CopyFrom(x, ofA))
	w := s.workspace(t, n, a)
	require.NoError(t, w.CopyFromTensor(x, a))
	require.NoError(t, a.Sync(t.Context()))
	require.NoError(t, y.CopyFromTensor(w, a))
	require.NoError(t, w.Close())
	must.Get(runtime.TrimWorkspaces(s.dev))(t)
	if s.opts.ReportsRaces {
		require.NoError(t, b.WaitFor(a)) // only another stream can wait for the work of a closed stream
	}
	require.NoError(t, a.Close()) // the work of a closed stream is still done, although no caller can wait for it
	if s.opts.ReportsRaces {
		require.NoError(t, b.Sync(t.Context()))
	}
	require.Eventually(t, func() bool {
		if err := runtime.SyncDevice(t.Context(), s.dev); err != nil {
			return false
		}
		got, err := runtime.ToSlice[float32](y)
		return err == nil && slices.Equal(ofA, got)
	}, patience, 10*time.Millisecond)
	for _, c := range []*runtime.Tensor{x, z} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, y.Close())
	require.NoError(t, b.Close())
}
