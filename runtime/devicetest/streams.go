package devicetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testequal"
	"tvmgo/runtime"
)

func (s *suite) stream(t *testing.T) *runtime.Stream {
	t.Helper()
	q := must.Get(runtime.NewStream(s.dev))(t)
	require.Equal(t, s.dev, q.Device())
	t.Cleanup(func() { q.Close() })
	return q
}

func (s *suite) streams(t *testing.T) {
	a, b := s.stream(t), s.stream(t)
	if a.Handle() != 0 {
		require.NotEqual(t, a.Handle(), b.Handle(), "streams have different handles, unless they are the default stream")
	}
	data := pattern(1000, 3)
	for _, q := range []*runtime.Stream{nil, a, b} {
		x, y := s.tensor(t, dlpack.Float32, 1000), s.tensor(t, dlpack.Float32, 1000)
		require.NoError(t, runtime.CopyFrom(x, data))
		require.NoError(t, y.CopyFromTensor(x, q))
		if q != nil {
			require.NoError(t, q.Sync(t.Context()))
			require.NoError(t, q.Sync(context.Background()))
		} else {
			require.NoError(t, runtime.SyncDevice(t.Context(), s.dev))
		}
		got := must.Get(runtime.ToSlice[float32](y))(t)
		testequal.Slices(t, data, got)
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
	}
	require.NoError(t, a.Close())
	require.NoError(t, a.Close(), "Close can be called twice")
	require.ErrorIs(t, a.Sync(t.Context()), runtime.ErrClosed)
	require.ErrorIs(t, b.WaitFor(a), runtime.ErrClosed)
	require.NoError(t, b.Sync(t.Context()), "closing a stream does not affect another one")
	require.NoError(t, b.Close())
}

// streamsAreOrdered passes data from stream to stream; only the streams wait for each other.
func (s *suite) streamsAreOrdered(t *testing.T) {
	n := s.opts.Large / 4
	const hops = 8
	data := pattern(int(n), 11)
	var at []*runtime.Tensor
	var queues []*runtime.Stream
	for range hops + 1 {
		at = append(at, s.tensor(t, dlpack.Float32, n))
		queues = append(queues, s.stream(t))
	}
	for _, x := range at[1:] {
		require.NoError(t, runtime.CopyFrom(x, make([]float32, n)))
	}
	require.NoError(t, runtime.CopyFrom(at[0], data))
	for i := range hops {
		require.NoError(t, at[i+1].CopyFromTensor(at[i], queues[i]))
		require.NoError(t, queues[i+1].WaitFor(queues[i]))
	}
	require.NoError(t, queues[hops].Sync(t.Context()))
	got := must.Get(runtime.ToSlice[float32](at[hops]))(t)
	testequal.Slices(t, data, got)
	require.NoError(t, queues[0].WaitFor(queues[0]), "a stream's wait for itself has no effect")
	require.NoError(t, queues[0].Sync(t.Context()))
	for i := range at {
		require.NoError(t, queues[i].Close())
		require.NoError(t, at[i].Close())
	}
}

func (s *suite) streamCancelledWait(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	q := s.stream(t)
	require.ErrorIs(t, q.Sync(cancelled), context.Canceled)
	require.ErrorIs(t, runtime.SyncDevice(cancelled, s.dev), context.Canceled)
	require.NoError(t, q.Sync(t.Context()), "a cancelled wait does not affect the stream")
	require.NoError(t, q.Close())
}

func (s *suite) timer(t *testing.T) {
	timer, err := runtime.NewTimer(s.dev)
	require.NoError(t, err, "for a device without timers, the runtime uses the host's clock")
	defer timer.Close()
	_, err = timer.Elapsed()
	requireError(t, err)
	n := s.opts.Large / 4
	x, y := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
	require.NoError(t, runtime.CopyFrom(x, pattern(int(n), 1)))
	q := s.stream(t)
	for _, on := range []*runtime.Stream{nil, q, nil} {
		begin := time.Now()
		require.NoError(t, timer.Start(on))
		require.NoError(t, y.CopyFromTensor(x, on))
		require.NoError(t, timer.Stop(on))
		d := must.Get(timer.Elapsed())(t)
		require.Positive(t, d, "a copy of %d bytes takes some time", s.opts.Large)
		require.LessOrEqual(t, d, 2*time.Since(begin)+time.Millisecond, "the copy takes no longer than the host measured")
		require.Equal(t, d, must.Get(timer.Elapsed())(t))
	}
	require.NoError(t, timer.Close())
	require.NoError(t, timer.Close())
	require.ErrorIs(t, timer.Start(nil), runtime.ErrClosed)
	require.ErrorIs(t, timer.Stop(nil), runtime.ErrClosed)
	require.ErrorIs(t, must.Fail(timer.Elapsed()), runtime.ErrClosed)
	require.NoError(t, q.Close())
	require.NoError(t, x.Close())
	require.NoError(t, y.Close())
}

// concurrency uses the device in many goroutines, each with its own memory and stream.
func (s *suite) concurrency(t *testing.T) {
	const goroutines, rounds, n = 8, 20, 1000
	errs := make(chan error, goroutines)
	for g := range goroutines {
		go func() { errs <- s.work(uint32(g), rounds, n) }()
	}
	for range goroutines {
		require.NoError(t, <-errs)
	}
}

func (s *suite) work(seed uint32, rounds, n int) error {
	q, err := runtime.NewStream(s.dev)
	if err != nil {
		return err
	}
	defer q.Close()
	for r := range rounds {
		if err := s.copyOnce(q, pattern(n, seed*1000+uint32(r))); err != nil {
			return fmt.Errorf("round %d: %w", r, err)
		}
	}
	return nil
}

func (s *suite) copyOnce(q *runtime.Stream, data []float32) error {
	x, err := runtime.NewTensor(dlpack.Float32, []int64{int64(len(data))}, s.dev)
	if err != nil {
		return err
	}
	defer x.Close()
	y, err := runtime.NewTensor(dlpack.Float32, []int64{int64(len(data))}, s.dev)
	if err != nil {
		return err
	}
	defer y.Close()
	w, err := runtime.NewWorkspace(dlpack.Float32, []int64{int64(len(data))}, s.dev, q)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := runtime.CopyFrom(x, data); err != nil {
		return err
	}
	if err := w.CopyFromTensor(x, q); err != nil {
		return err
	}
	if err := y.CopyFromTensor(w, q); err != nil {
		return err
	}
	if err := q.Sync(context.Background()); err != nil {
		return err
	}
	got, err := runtime.ToSlice[float32](y)
	if err != nil {
		return err
	}
	for i := range got {
		if got[i] != data[i] {
			return fmt.Errorf("element %d is %v, not %v", i, got[i], data[i])
		}
	}
	return nil
}
