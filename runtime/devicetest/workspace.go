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

// workspaces are there on every device, whether it has its own or not, apart from each other, and serve
// again.
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
		grows := true // by a few as long as the device is behind
		for try := 0; try < 10 && grows; try++ {
			rounds()
			after := must.Get(runtime.WorkspaceMemory(s.dev))(t)
			require.Equal(t, before.InUse, after.InUse)
			grows = after.Held > before.Held
			before = after
		}
		require.False(t, grows, "what was given back serves again")
	} else {
		require.ErrorIs(t, err, runtime.ErrNotSupported)
	}
	require.NoError(t, q.Close())
	must.Get(runtime.TrimWorkspaces(s.dev))(t)
}

// workspacesOfStreams gives workspaces back while work on them is queued; no other stream may write over
// what that work reads, nor may that work write over what another stream has.
func (s *suite) workspacesOfStreams(t *testing.T) {
	n := s.opts.Large / 4
	a, b := s.stream(t), s.stream(t)
	x, y, z := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	for round := range uint32(4) {
		ofA, ofB := pattern(int(n), round), pattern(int(n), round+100)
		require.NoError(t, runtime.CopyFrom(x, ofA))
		require.NoError(t, runtime.CopyFrom(z, ofB))

		w := s.workspace(t, n, a) // a reads it after it was given back
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, a.Sync(t.Context()))
		require.NoError(t, y.CopyFromTensor(w, a))
		require.NoError(t, w.Close())
		v := s.workspace(t, n, b)
		require.NoError(t, v.CopyFromTensor(z, b))
		require.NoError(t, b.Sync(t.Context()))
		require.NoError(t, a.Sync(t.Context()))
		got := must.Get(runtime.ToSlice[float32](y))(t)
		testequal.Slices(t, ofA, got, "round %d: another stream wrote into a workspace before work on it was done", round)
		require.NoError(t, v.Close())
		require.NoError(t, b.Sync(t.Context()))

		w = s.workspace(t, n, a) // a writes it after it was given back
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, w.Close())
		v = s.workspace(t, n, b)
		require.NoError(t, v.CopyFromTensor(z, b))
		require.NoError(t, b.Sync(t.Context()))
		require.NoError(t, a.Sync(t.Context()))
		require.NoError(t, y.CopyFromTensor(v, b))
		require.NoError(t, b.Sync(t.Context()))
		got = must.Get(runtime.ToSlice[float32](y))(t)
		testequal.Slices(t, ofB, got, "round %d: work queued before wrote into another stream's workspace", round)
		require.NoError(t, v.Close())

		w = s.workspace(t, n, a) // the same stream may have it at once: its work is in order
		require.NoError(t, w.CopyFromTensor(x, a))
		require.NoError(t, y.CopyFromTensor(w, a))
		require.NoError(t, w.Close())
		w = s.workspace(t, n, a)
		require.NoError(t, w.CopyFromTensor(z, a))
		require.NoError(t, w.Close())
		require.NoError(t, a.Sync(t.Context()))
		got = must.Get(runtime.ToSlice[float32](y))(t)
		testequal.Slices(t, ofA, got, "round %d", round)
	}
	// Trimming while work is queued is no different.
	ofA := pattern(int(n), 77)
	require.NoError(t, runtime.CopyFrom(x, ofA))
	w := s.workspace(t, n, a)
	require.NoError(t, w.CopyFromTensor(x, a))
	require.NoError(t, a.Sync(t.Context()))
	require.NoError(t, y.CopyFromTensor(w, a))
	require.NoError(t, w.Close())
	must.Get(runtime.TrimWorkspaces(s.dev))(t)
	if s.opts.ReportsRaces {
		require.NoError(t, b.WaitFor(a)) // whoever must know when the work of a closed stream is done lets another one wait
	}
	require.NoError(t, a.Close()) // nor is closing the stream: its work is done some time, and nobody can wait for it
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
