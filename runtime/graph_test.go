package runtime_test

import (
	"errors"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func newStream(t testing.TB, dev dlpack.Device) *runtime.Stream {
	t.Helper()
	return must.Open(runtime.NewStream(dev))(t)
}

// chain is x -> y -> z on the fake device, with x filled with v.
func chain(t testing.TB, v float32) (x, y, z *runtime.Tensor) {
	t.Helper()
	dev := fakeDevice(t)
	x, y, z = empty(t, dlpack.Float32, []int64{4}, dev), empty(t, dlpack.Float32, []int64{4}, dev),
		empty(t, dlpack.Float32, []int64{4}, dev)
	for i, a := range []*runtime.Tensor{x, y, z} {
		require.NoError(t, runtime.CopyFrom(a, []float32{v * float32(1-min(i, 1)), 0, 0, 0}))
	}
	return x, y, z
}

func first(t testing.TB, x *runtime.Tensor) float32 {
	t.Helper()
	return slice[float32](t, x)[0]
}

func TestGraph_RecordsAndLaunches(t *testing.T) {
	noLeaks(t)
	s, other := newStream(t, fakeDevice(t)), newStream(t, fakeDevice(t))
	x, y, z := chain(t, 1)
	hop := goFunction(t, func(args ...any) (any, error) {
		return nil, args[1].(*runtime.Tensor).CopyFromTensor(args[0].(*runtime.Tensor), s)
	})
	bound := must.Get(hop.BindOn(s, y, z))(t)
	before := runtime.Live().Graphs
	g, err := s.Capture(func() error {
		require.Equal(t, before+1, runtime.Live().Graphs)
		if err := y.CopyFromTensor(x, s); err != nil {
			return err
		}
		return bound.Call()
	})
	require.NoError(t, err)
	require.NoError(t, bound.Close())
	require.Equal(t, s.Device(), g.Device())
	require.NoError(t, s.Sync(t.Context()))
	require.Zero(t, first(t, y), "the copies are recorded, not done")
	require.Zero(t, first(t, z))
	for i, on := range []*runtime.Stream{s, s, other, nil} {
		require.NoError(t, runtime.CopyFrom(x, []float32{float32(i + 5), 0, 0, 0}))
		require.NoError(t, g.Launch(on))
		if on != nil {
			require.NoError(t, on.Sync(t.Context()))
		} else {
			require.NoError(t, runtime.SyncDevice(t.Context(), fakeDevice(t)))
		}
		require.Equal(t, float32(i+5), first(t, y), "launch %d", i)
		require.Equal(t, float32(i+5), first(t, z), "launch %d", i)
	}
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	require.Zero(t, theFake.graphs.Load())
	require.Equal(t, before, runtime.Live().Graphs)
	require.ErrorIs(t, g.Launch(s), runtime.ErrClosed)
	require.Zero(t, g.Device())
}

func TestGraph_EveryLaunchIsDone(t *testing.T) {
	noLeaks(t)
	s := newStream(t, fakeDevice(t))
	count := 0
	tick := func() { // queues work without the runtime's knowledge
		q := must.Get(theFake.stream(runtime.StreamHandle(s.Handle())))(t)
		q.queue(func() { count++ })
	}
	g := must.Open(s.Capture(func() error { tick(); tick(); return nil }))(t)
	for range 3 {
		require.NoError(t, g.Launch(s))
	}
	tick()
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, 7, count)
}

func TestGraph_FailedRecordings(t *testing.T) {
	noLeaks(t)
	s := newStream(t, fakeDevice(t))
	x, y, _ := chain(t, 3)
	ours := errors.New("enough")
	record := func(end func() error) func() (*runtime.Graph, error) {
		return func() (*runtime.Graph, error) {
			return s.Capture(func() error {
				require.NoError(t, y.CopyFromTensor(x, s))
				return end()
			})
		}
	}
	check := func(what string) {
		require.NoError(t, s.Sync(t.Context()), what)
		require.Zero(t, first(t, y), "%s: the recorded work is discarded", what)
		require.Zero(t, theFake.graphs.Load(), what)
		require.NoError(t, y.CopyFromTensor(x, s), what)
		require.NoError(t, s.Sync(t.Context()), what)
		require.Equal(t, float32(3), first(t, y), "%s: the stream works again", what)
		require.NoError(t, runtime.CopyFrom(y, make([]float32, 4)))
	}
	_, err := record(func() error { return ours })()
	require.Equal(t, ours, err)
	check("error")
	require.PanicsWithValue(t, "oh", func() { _, _ = record(func() error { panic("oh") })() })
	check("panic")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = record(func() error { goruntime.Goexit(); return nil })()
	}()
	<-done
	check("goexit")
	for _, op := range []string{"begin capture", "end capture"} {
		theFake.failWith(t, func(o string) error {
			if o == op {
				return errors.New("no luck")
			}
			return nil
		})
		if op == "end capture" {
			_, err = record(func() error { return nil })()
			requireError(t, err, runtime.ErrFailed, "record graph: no luck")
			_, err = record(func() error { return ours })()
			require.ErrorIs(t, err, ours)
			require.ErrorContains(t, err, "no luck")
		} else {
			_, err = s.Capture(func() error { t.Fatal("f runs"); return nil })
			requireError(t, err, runtime.ErrFailed, "record graph: no luck")
		}
		theFake.fail.Store(nil)
		check(op)
	}
}

func TestGraph_Refused(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s, other := newStream(t, dev), newStream(t, dev)
	second := newStream(t, dlpack.Device{Type: fakeType, ID: 1})
	timer := must.Open(runtime.NewTimer(dev))(t)
	nothing := func() error { return nil }
	var none *runtime.Stream
	requireError(t, must.Fail(none.Capture(nothing)), runtime.ErrInvalidArgument, "the stream is nil")
	requireError(t, must.Fail(s.Capture(nil)), runtime.ErrInvalidArgument, "the Go function is nil")
	_, err := newStream(t, runtime.CPU).Capture(nothing)
	requireError(t, err, runtime.ErrNotSupported, "record graph", "device cpu cannot record work")

	x := empty(t, dlpack.Float32, []int64{4}, dev)
	var inner error
	empty, err := s.Capture(func() error {
		_, inner = s.Capture(nothing)
		requireError(t, inner, runtime.ErrInvalidArgument, "records already")
		errs := make(chan error)
		go func() { _, err := s.Capture(nothing); errs <- err }()
		requireError(t, <-errs, runtime.ErrInvalidArgument, "records already")
		g, err := other.Capture(nothing) // another stream can be recorded meanwhile
		require.NoError(t, err)
		requireError(t, g.Launch(s), runtime.ErrInvalidArgument, "launch graph: the stream records")
		require.NoError(t, g.Close())
		requireError(t, s.Sync(t.Context()), runtime.ErrInvalidArgument, "synchronize: the stream records")
		requireError(t, s.Close(), runtime.ErrInvalidArgument, "1 calls still use it")
		requireError(t, s.WaitFor(other), runtime.ErrInvalidArgument, "the stream records")
		requireError(t, other.WaitFor(s), runtime.ErrInvalidArgument, "the stream records")
		requireError(t, timer.Start(s), runtime.ErrInvalidArgument, "the stream records")
		_, err = s.NewTensor(dlpack.Float32, []int64{1})
		requireError(t, err, runtime.ErrInvalidArgument, "the stream records", "make it before")
		must.Get(other.NewTensor(dlpack.Float32, []int64{1}))(t)
		host := must.Get(runtime.FromSlice([]float32{1, 2, 3, 4}))(t)
		defer host.Close()
		requireError(t, x.CopyFromTensor(host, s), runtime.ErrNotSupported, "ordinary memory")
		return other.Sync(t.Context())
	})
	require.NoError(t, err, "a recording continues after a rejected call")
	requireError(t, empty.Launch(second), runtime.ErrInvalidArgument, "the graph of")
	require.NoError(t, empty.Launch(s))
	require.NoError(t, empty.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, must.Fail(s.Capture(nothing)), runtime.ErrClosed)
	g := must.Get(other.Capture(nothing))(t)
	require.ErrorIs(t, g.Launch(s), runtime.ErrClosed)
	require.NoError(t, other.Close(), "a graph does not need the stream on which it was recorded")
	fresh := newStream(t, dev)
	require.NoError(t, g.Launch(fresh))
	require.NoError(t, fresh.Sync(t.Context()))
	require.NoError(t, g.Close())
}

// The objects that a graph uses live as long as the graph: the fake device unmaps freed memory.
func TestGraph_KeepsWhatItUses(t *testing.T) {
	compiler(t)
	noLeaks(t)
	dev := fakeDevice(t)
	s := newStream(t, dev)
	x, y, z := chain(t, 9)
	ordered := must.Get(s.NewTensor(dlpack.Float32, []int64{4}))(t)
	out := must.Open(runtime.NewPinnedTensor(dlpack.Float32, []int64{4}, dev))(t)
	w := must.Get(runtime.NewWorkspace(dlpack.Float32, []int64{4}, dev, s))(t)
	take := function(t, probe(t), "workspace")
	before, workspaces := runtime.Live(), theFake.workspaces.Load()
	hop, err := runtime.NewFunction(func(args ...any) (any, error) {
		return nil, args[1].(*runtime.Tensor).CopyFromTensor(args[0].(*runtime.Tensor), s)
	})
	require.NoError(t, err)
	unused := must.Get(s.NewTensor(dlpack.Float32, []int64{4}))(t)
	at := unused.Data()
	g, err := s.Capture(func() error {
		for _, err := range []error{y.CopyFromTensor(x, s), x.Close(), z.CopyFromTensor(y, s),
			ordered.CopyFromTensor(z, s), unused.Close()} {
			require.NoError(t, err)
		}
		must.Get(hop.CallOn(s, ordered, w))(t)
		require.NoError(t, out.CopyFromTensor(w, s))
		require.NoError(t, w.Close())
		_, err := take.CallOn(s, int(dev.Type), int(dev.ID), 64)
		return err
	})
	require.NoError(t, err)
	for _, c := range []interface{ Close() error }{y, z, ordered, hop} {
		require.NoError(t, c.Close())
	}
	require.Equal(t, workspaces+1, theFake.workspaces.Load(), "launches write to the workspace of the call as well")
	has := func(at uintptr) bool {
		theFake.mu.Lock()
		defer theFake.mu.Unlock()
		_, ok := theFake.spaces[at]
		return ok
	}
	require.Equal(t, before.Tensors, runtime.Live().Tensors)
	require.True(t, has(at), "memory that was closed during the recording is not reused")
	for range 2 {
		require.NoError(t, g.Launch(s))
		require.NoError(t, s.Sync(t.Context()))
		require.Equal(t, float32(9), first(t, out))
		require.NoError(t, runtime.CopyFrom(out, make([]float32, 4)))
	}
	require.NoError(t, g.Launch(s))
	require.NoError(t, g.Close()) // while a launch is queued
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, float32(9), first(t, out))
	require.Equal(t, before.Tensors-5, runtime.Live().Tensors, "x, y, z, ordered and w are freed")
	require.False(t, has(at))
	require.Equal(t, workspaces-1, theFake.workspaces.Load())
}

// Goroutines record, launch and close at once; each has its own stream, and all compete for a shared one.
func TestGraph_ManyAtOnce(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	shared := newStream(t, dev)
	errs := make(chan error)
	const goroutines, rounds = 8, 20
	work := func() error {
		s, err := runtime.NewStream(dev)
		if err != nil {
			return err
		}
		defer s.Close()
		for range rounds {
			x, err := s.NewTensor(dlpack.Float32, []int64{16})
			if err != nil {
				return err
			}
			y, err := s.NewTensor(dlpack.Float32, []int64{16})
			if err != nil {
				return err
			}
			g, err := s.Capture(func() error {
				goruntime.Gosched()
				return errors.Join(y.CopyFromTensor(x, s), x.Close(), y.Close())
			})
			if err != nil {
				return err
			}
			if h, err := shared.Capture(func() error { goruntime.Gosched(); return nil }); err == nil {
				err = errors.Join(h.Launch(s), h.Close())
				if err != nil {
					return err
				}
			} else if !errors.Is(err, runtime.ErrInvalidArgument) {
				return err
			}
			launched := make(chan error)
			go func() { launched <- g.Launch(s) }()
			if err := g.Close(); err != nil {
				return err
			}
			if err := <-launched; err != nil && !errors.Is(err, runtime.ErrClosed) {
				return err
			}
			if err := s.Sync(t.Context()); err != nil {
				return err
			}
		}
		return nil
	}
	for range goroutines {
		go func() { errs <- work() }()
	}
	for range goroutines {
		require.NoError(t, <-errs)
	}
	require.Zero(t, theFake.graphs.Load())
}

// The graph keeps the function and the arguments of a recorded call.
func TestGraph_KeepsCalls(t *testing.T) {
	noLeaks(t)
	s := newStream(t, fakeDevice(t))
	for _, record := range []bool{true, false} {
		before := runtime.Live()
		f := must.Get(runtime.NewFunction(func(...any) (any, error) { return nil, nil }))(t)
		x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{4}, fakeDevice(t)))(t)
		g, err := s.Capture(func() error {
			on := s
			if !record {
				on = nil
			}
			_, err := f.CallOn(on, 1, x)
			return err
		})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, x.Close())
		kept := int64(0)
		if record {
			kept = 1
		}
		require.Equal(t, before.Functions+kept, runtime.Live().Functions)
		require.Equal(t, before.Tensors+kept, runtime.Live().Tensors)
		require.NoError(t, g.Close())
		require.Equal(t, before, runtime.Live())
	}
}
