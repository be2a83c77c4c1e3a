package devicetest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// rotation has three tensors whose data each launch of a graph rotates by one position. spare is a temporary.
type rotation struct {
	at    [3]*runtime.Tensor
	spare *runtime.Tensor
}

func (s *suite) newRotation(t *testing.T, n int64) *rotation {
	t.Helper()
	w := &rotation{spare: s.tensor(t, dlpack.Float32, n)}
	for i := range w.at {
		w.at[i] = s.tensor(t, dlpack.Float32, n)
	}
	w.reset(t)
	return w
}

func (w *rotation) reset(t *testing.T) {
	t.Helper()
	for i, x := range w.at {
		require.NoError(t, runtime.CopyFrom(x, pattern(int(x.Len()), uint32(i))))
	}
}

func (w *rotation) rotate(q *runtime.Stream) error {
	return errors.Join(w.spare.CopyFromTensor(w.at[0], q), w.at[0].CopyFromTensor(w.at[1], q),
		w.at[1].CopyFromTensor(w.at[2], q), w.at[2].CopyFromTensor(w.spare, q))
}

func (w *rotation) rotated(t *testing.T, s *suite, by int, what string) {
	t.Helper()
	for i, x := range w.at {
		s.holds(t, x, pattern(int(x.Len()), uint32((i+by)%3)), what)
	}
}

func (w *rotation) close(t *testing.T) {
	t.Helper()
	for _, x := range append(w.at[:], w.spare) {
		require.NoError(t, x.Close())
	}
}

// graphs captures work and launches it.
func (s *suite) graphs(t *testing.T) {
	q, other := s.stream(t), s.stream(t)
	w := s.newRotation(t, s.opts.Large/16)
	g, err := q.Capture(func() error { return w.rotate(q) })
	if isUnsupported(err) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, q.Sync(t.Context()))
	w.rotated(t, s, 0, "captured work does not run during the capture")
	for launch := 1; launch <= 3; launch++ {
		require.NoError(t, g.Launch(q))
		require.NoError(t, q.Sync(t.Context()))
		w.rotated(t, s, launch, "a launch runs all captured work once, in its order")
	}
	for range 4 {
		require.NoError(t, g.Launch(q))
	}
	require.NoError(t, q.Sync(t.Context()))
	w.rotated(t, s, 7, "several launches run one after the other")
	for i, on := range []*runtime.Stream{other, nil} {
		require.NoError(t, g.Launch(on))
		require.NoError(t, s.sync(t, on))
		w.rotated(t, s, 8+i, "a graph runs on any stream")
	}
	s.graphInOrder(t, w, g, q, other)
	s.graphFails(t, w, q, other)
	s.graphApart(t, w, q, other)
	s.graphWithPinned(t, q)
	s.graphWithWorkspace(t, q, other)
	w.close(t)
	require.NoError(t, q.Close())
	require.NoError(t, other.Close())
}

// graphInOrder launches a graph between other work of a stream, and closes it while the launch is enqueued.
func (s *suite) graphInOrder(t *testing.T, w *rotation, g *runtime.Graph, q, other *runtime.Stream) {
	n := w.spare.Len()
	before, after := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	w.reset(t)
	require.NoError(t, before.CopyFromTensor(w.at[0], q))
	require.NoError(t, g.Launch(q))
	require.NoError(t, after.CopyFromTensor(w.at[0], q))
	require.NoError(t, g.Launch(q))
	require.NoError(t, other.WaitFor(q))
	require.NoError(t, w.rotate(other))
	require.NoError(t, g.Close())
	require.NoError(t, other.Sync(t.Context()))
	s.holds(t, before, pattern(int(n), 0), "work that was enqueued before a launch runs before it")
	s.holds(t, after, pattern(int(n), 1), "work that was enqueued after a launch runs after it")
	w.rotated(t, s, 3, "a graph may be closed while a launch is enqueued, and other streams can wait for it")
	require.NoError(t, before.Close())
	require.NoError(t, after.Close())
	require.ErrorIs(t, g.Launch(q), runtime.ErrClosed)
}

// graphFails checks that a failed capture is discarded and the stream works as before.
func (s *suite) graphFails(t *testing.T, w *rotation, q, other *runtime.Stream) {
	ours := errors.New("ours")
	for _, end := range []func() error{func() error { return ours }, func() error { panic(ours) }} {
		w.reset(t)
		func() {
			defer func() {
				if v := recover(); v != nil {
					require.Equal(t, ours, v)
				}
			}()
			_, err := q.Capture(func() error {
				require.NoError(t, w.rotate(q))
				return end()
			})
			require.Equal(t, ours, err)
		}()
		require.NoError(t, q.Sync(t.Context()))
		w.rotated(t, s, 0, "a failed capture is discarded")
		require.NoError(t, w.rotate(q))
		require.NoError(t, q.Sync(t.Context()))
		w.rotated(t, s, 1, "the stream runs work again")
	}
	g, err := q.Capture(func() error {
		_, err := q.Capture(func() error { return nil })
		requireError(t, err)
		return nil
	})
	require.NoError(t, err, "a second capture is an error and does not affect the first one")
	require.NoError(t, g.Launch(q), "an empty graph")
	require.NoError(t, q.Sync(t.Context()))
	require.NoError(t, g.Close())
}

// graphApart checks that a capture contains neither work that was enqueued earlier nor work of other streams.
func (s *suite) graphApart(t *testing.T, w *rotation, q, other *runtime.Stream) {
	v := s.newRotation(t, w.spare.Len())
	w.reset(t)
	require.NoError(t, w.rotate(q))
	g, err := q.Capture(func() error {
		if err := errors.Join(w.rotate(q), v.rotate(other), other.Sync(t.Context())); err != nil {
			return err
		}
		v.rotated(t, s, 1, "another stream runs during a capture")
		v.reset(t)
		errs := make(chan error) // the same on another thread
		go func() { errs <- errors.Join(v.rotate(other), other.Sync(t.Context())) }()
		return <-errs
	})
	require.NoError(t, err)
	require.NoError(t, q.Sync(t.Context()))
	w.rotated(t, s, 1, "work that was enqueued before a capture runs")
	v.rotated(t, s, 1, "work of other threads runs during a capture")
	require.NoError(t, g.Launch(q))
	require.NoError(t, q.Sync(t.Context()))
	w.rotated(t, s, 2, "the graph contains the captured work")
	v.rotated(t, s, 1, "the graph contains no other work")
	require.NoError(t, g.Close())
	v.close(t)
}

// graphWithPinned captures copies with page-locked memory, whose data changes between launches.
func (s *suite) graphWithPinned(t *testing.T, q *runtime.Stream) {
	const n = 1000
	in, err := runtime.NewPinnedTensor(dlpack.Float32, []int64{n}, s.dev)
	if isUnsupported(err) {
		return
	}
	require.NoError(t, err)
	out, err := runtime.NewPinnedTensor(dlpack.Float32, []int64{n}, s.dev)
	require.NoError(t, err)
	x := s.tensor(t, dlpack.Float32, n)
	g, err := q.Capture(func() error { return errors.Join(x.CopyFromTensor(in, q), out.CopyFromTensor(x, q)) })
	require.NoError(t, err)
	for round := range uint32(3) {
		require.NoError(t, runtime.CopyFrom(in, pattern(n, round)))
		require.NoError(t, g.Launch(q))
		require.NoError(t, q.Sync(t.Context()))
		s.holds(t, out, pattern(n, round), "a launch copies the current data of page-locked memory")
	}
	require.NoError(t, g.Close())
	for _, c := range []*runtime.Tensor{in, out, x} {
		require.NoError(t, c.Close())
	}
}

// graphWithWorkspace allocates a workspace during a capture, as generated code does. No other caller may get that
// memory while the graph exists or one of its launches is enqueued.
func (s *suite) graphWithWorkspace(t *testing.T, q, other *runtime.Stream) {
	n := s.opts.Large / 16
	x, y, z := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	require.NoError(t, runtime.CopyFrom(z, pattern(int(n), 50)))
	require.NoError(t, s.workspace(t, n, q).Close())
	g, err := q.Capture(func() error {
		w, err := runtime.NewWorkspace(dlpack.Float32, []int64{n}, s.dev, q)
		if err != nil {
			return err
		}
		return errors.Join(w.CopyFromTensor(x, q), y.CopyFromTensor(w, q), w.Close())
	})
	require.NoError(t, err)
	for round := range uint32(3) {
		v := s.workspace(t, n, q)
		require.NoError(t, v.CopyFromTensor(z, q))
		require.NoError(t, runtime.CopyFrom(x, pattern(int(n), round)))
		require.NoError(t, g.Launch(q))
		require.NoError(t, q.Sync(t.Context()))
		s.holds(t, y, pattern(int(n), round), "a captured call has its workspace in each launch")
		s.holds(t, v, pattern(int(n), 50), "a launch wrote to a workspace of another owner")
		require.NoError(t, v.Close())
	}
	require.NoError(t, runtime.CopyFrom(x, pattern(int(n), 60)))
	require.NoError(t, g.Launch(other))
	require.NoError(t, g.Close())
	v := s.workspace(t, n, q)
	require.NoError(t, v.CopyFromTensor(z, q))
	require.NoError(t, q.Sync(t.Context()))
	require.NoError(t, other.Sync(t.Context()))
	s.holds(t, y, pattern(int(n), 60), "a launch has its workspace until it is done")
	require.NoError(t, x.CopyFromTensor(v, q))
	require.NoError(t, q.Sync(t.Context()))
	s.holds(t, x, pattern(int(n), 50), "a launch wrote to a workspace of another owner after its graph was closed")
	require.NoError(t, v.Close())
	for _, c := range []*runtime.Tensor{x, y, z} {
		require.NoError(t, c.Close())
	}
}
