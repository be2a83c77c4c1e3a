package devicetest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// wheel is three tensors, and one more to turn them with: every launch of its graph turns it by one.
type wheel struct {
	at    [3]*runtime.Tensor
	spare *runtime.Tensor
}

func (s *suite) wheel(t *testing.T, n int64) *wheel {
	t.Helper()
	w := &wheel{spare: s.tensor(t, dlpack.Float32, n)}
	for i := range w.at {
		w.at[i] = s.tensor(t, dlpack.Float32, n)
	}
	w.reset(t)
	return w
}

func (w *wheel) reset(t *testing.T) {
	t.Helper()
	for i, x := range w.at {
		require.NoError(t, runtime.CopyFrom(x, pattern(int(x.Len()), uint32(i))))
	}
}

func (w *wheel) turn(q *runtime.Stream) error {
	return errors.Join(w.spare.CopyFromTensor(w.at[0], q), w.at[0].CopyFromTensor(w.at[1], q),
		w.at[1].CopyFromTensor(w.at[2], q), w.at[2].CopyFromTensor(w.spare, q))
}

func (w *wheel) turned(t *testing.T, s *suite, by int, what string) {
	t.Helper()
	for i, x := range w.at {
		s.holds(t, x, pattern(int(x.Len()), uint32((i+by)%3)), what)
	}
}

func (w *wheel) close(t *testing.T) {
	t.Helper()
	for _, x := range append(w.at[:], w.spare) {
		require.NoError(t, x.Close())
	}
}

// graphs records work and launches it.
func (s *suite) graphs(t *testing.T) {
	q, other := s.stream(t), s.stream(t)
	w := s.wheel(t, s.opts.Large/16)
	g, err := q.Capture(func() error { return w.turn(q) })
	if isUnsupported(err) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, q.Sync(t.Context()))
	w.turned(t, s, 0, "what is recorded is not done")
	for launch := 1; launch <= 3; launch++ {
		require.NoError(t, g.Launch(q))
		require.NoError(t, q.Sync(t.Context()))
		w.turned(t, s, launch, "a launch does all of it, in its order, once")
	}
	for range 4 {
		require.NoError(t, g.Launch(q))
	}
	require.NoError(t, q.Sync(t.Context()))
	w.turned(t, s, 7, "each of several launches counts")
	for i, on := range []*runtime.Stream{other, nil} {
		require.NoError(t, g.Launch(on))
		require.NoError(t, s.sync(t, on))
		w.turned(t, s, 8+i, "a graph runs on any stream")
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

// graphInOrder launches a graph between other work of a stream, and closes it while it is queued.
func (s *suite) graphInOrder(t *testing.T, w *wheel, g *runtime.Graph, q, other *runtime.Stream) {
	n := w.spare.Len()
	before, after := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	w.reset(t)
	require.NoError(t, before.CopyFromTensor(w.at[0], q))
	require.NoError(t, g.Launch(q))
	require.NoError(t, after.CopyFromTensor(w.at[0], q))
	require.NoError(t, g.Launch(q))
	require.NoError(t, other.WaitFor(q))
	require.NoError(t, w.turn(other))
	require.NoError(t, g.Close())
	require.NoError(t, other.Sync(t.Context()))
	s.holds(t, before, pattern(int(n), 0), "what was queued before a launch is done before it")
	s.holds(t, after, pattern(int(n), 1), "what was queued after a launch is done after it")
	w.turned(t, s, 3, "a graph may be closed while a launch is queued, and other streams wait for it")
	require.NoError(t, before.Close())
	require.NoError(t, after.Close())
	require.ErrorIs(t, g.Launch(q), runtime.ErrClosed)
}

// graphFails throws recordings away; the stream works as before.
func (s *suite) graphFails(t *testing.T, w *wheel, q, other *runtime.Stream) {
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
				require.NoError(t, w.turn(q))
				return end()
			})
			require.Equal(t, ours, err)
		}()
		require.NoError(t, q.Sync(t.Context()))
		w.turned(t, s, 0, "a recording that failed is thrown away")
		require.NoError(t, w.turn(q))
		require.NoError(t, q.Sync(t.Context()))
		w.turned(t, s, 1, "the stream does again what is queued on it")
	}
	g, err := q.Capture(func() error {
		_, err := q.Capture(func() error { return nil })
		requireError(t, err)
		return nil
	})
	require.NoError(t, err, "a second recording is refused, and harms the first one in nothing")
	require.NoError(t, g.Launch(q), "an empty graph")
	require.NoError(t, q.Sync(t.Context()))
	require.NoError(t, g.Close())
}

// graphApart does other work around a recording: queued before on the stream, and on other streams meanwhile.
func (s *suite) graphApart(t *testing.T, w *wheel, q, other *runtime.Stream) {
	v := s.wheel(t, w.spare.Len())
	w.reset(t)
	require.NoError(t, w.turn(q))
	g, err := q.Capture(func() error {
		if err := errors.Join(w.turn(q), v.turn(other), other.Sync(t.Context())); err != nil {
			return err
		}
		v.turned(t, s, 1, "another stream goes on during a recording")
		v.reset(t)
		errs := make(chan error) // and so do other threads
		go func() { errs <- errors.Join(v.turn(other), other.Sync(t.Context())) }()
		return <-errs
	})
	require.NoError(t, err)
	require.NoError(t, q.Sync(t.Context()))
	w.turned(t, s, 1, "what was queued before a recording is done")
	v.turned(t, s, 1, "other threads go on during a recording")
	require.NoError(t, g.Launch(q))
	require.NoError(t, q.Sync(t.Context()))
	w.turned(t, s, 2, "the recording has what is its own")
	v.turned(t, s, 1, "and nothing else")
	require.NoError(t, g.Close())
	v.close(t)
}

// graphWithPinned records copies with page-locked memory, whose elements change between launches.
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
		s.holds(t, out, pattern(n, round), "a launch copies what page-locked memory holds then")
	}
	require.NoError(t, g.Close())
	for _, c := range []*runtime.Tensor{in, out, x} {
		require.NoError(t, c.Close())
	}
}

// graphWithWorkspace takes scratch memory while it records, as generated code does: nobody else may have it
// between launches, nor before the last one is done.
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
		s.holds(t, y, pattern(int(n), round), "a recorded call has its workspace at each launch")
		s.holds(t, v, pattern(int(n), 50), "a launch wrote into a workspace that somebody else has")
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
	s.holds(t, x, pattern(int(n), 50), "a launch wrote into a workspace after its graph was closed")
	require.NoError(t, v.Close())
	for _, c := range []*runtime.Tensor{x, y, z} {
		require.NoError(t, c.Close())
	}
}
