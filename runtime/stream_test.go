package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// streamSeenBy returns the current stream of a device that a C function sees.
func streamSeenBy(t *testing.T, dev dlpack.Device) func(via func(f *runtime.Function, args ...any) (any, error)) int64 {
	see := function(t, probe(t), "current_stream")
	return func(via func(f *runtime.Function, args ...any) (any, error)) int64 {
		v := must.Get(via(see, int(dev.Type), int(dev.ID)))(t)
		return v.(int64)
	}
}

func TestStream_IsCurrentForOneCall(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s := must.Open(runtime.NewStream(dev))(t)
	see := streamSeenBy(t, dev)
	plain := func(f *runtime.Function, args ...any) (any, error) { return f.Call(args...) }
	on := func(s *runtime.Stream) func(f *runtime.Function, args ...any) (any, error) {
		return func(f *runtime.Function, args ...any) (any, error) { return f.CallOn(s, args...) }
	}
	for range 100 { // on any thread that the goroutine runs on
		require.Equal(t, int64(0), see(plain))
		require.Equal(t, int64(s.Handle()), see(on(s)))
		require.Equal(t, int64(0), see(on(nil)))
	}
	require.Zero(t, theFake.current[0], "the device's current stream was reset, too")
	require.NotZero(t, theFake.setStreams)

	// Another device has another current stream.
	other := dev
	other.ID = 1
	require.Equal(t, int64(0), streamSeenBy(t, other)(on(s)))
}

func TestStream_OfNestedCalls(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	a := must.Open(runtime.NewStream(dev))(t)
	b := must.Open(runtime.NewStream(dev))(t)
	see := function(t, probe(t), "current_stream")
	seen := func() int64 { return call(t, see, int(dev.Type), int(dev.ID)).(int64) }
	inner := goFunction(t, func(args ...any) (any, error) {
		if args[0] == true {
			return nil, errors.New("inner failed")
		}
		return seen(), nil
	})
	outer := goFunction(t, func(args ...any) (any, error) {
		before := seen()
		in, err := inner.CallOn(b, args[0])
		if args[0] == true {
			require.ErrorContains(t, err, "inner failed")
			in = int64(-1)
		}
		return []any{before, in, seen()}, nil
	})
	v := must.Get(outer.CallOn(a, false))(t)
	require.Equal(t, []any{int64(a.Handle()), int64(b.Handle()), int64(a.Handle())}, v)
	v = must.Get(outer.CallOn(a, true))(t)
	require.Equal(t, []any{int64(a.Handle()), int64(-1), int64(a.Handle())}, v, "restored after an error")
	require.Equal(t, int64(0), seen())
}

func TestStream_ActiveDeviceIsRestored(t *testing.T) {
	noLeaks(t)
	s := must.Open(runtime.NewStream(dlpack.Device{Type: fakeType, ID: 1}))(t)
	active := func() int { theFake.mu.Lock(); defer theFake.mu.Unlock(); return theFake.device }
	outer := goFunction(t, func(...any) (any, error) {
		if _, err := global(t, "__tvm_set_device").Call(int(fakeType), 0); err != nil {
			return nil, err
		}
		inner := goFunction(t, func(...any) (any, error) { return active(), nil })
		in, err := inner.CallOn(s)
		return []any{in, active()}, err
	})
	require.Equal(t, []any{int64(1), int64(0)}, call(t, outer))
}

func TestStream_BoundCalls(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s := must.Get(runtime.NewStream(dev))(t)
	b := must.Get(function(t, probe(t), "current_stream").BindOn(s, int(dev.Type), int(dev.ID)))(t)
	requireError(t, s.Close(), runtime.ErrInvalidArgument, "still use it")
	require.NoError(t, b.Call())
	v := must.Get(b.Result())(t)
	require.Equal(t, int64(s.Handle()), v)
	require.NoError(t, b.Close())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}

func TestStream_ClosedWhileInUse(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s := must.Get(runtime.NewStream(dev))(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	f := goFunction(t, func(...any) (any, error) { close(entered); <-leave; return nil, nil })
	done := make(chan error)
	go func() { _, err := f.CallOn(s); done <- err }()
	<-entered
	requireError(t, s.Close(), runtime.ErrInvalidArgument, "1 calls still use it")
	close(leave)
	require.NoError(t, <-done)
	require.NoError(t, s.Close())
}

func TestStream_UsedAfterClose(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	f := goFunction(t, func(...any) (any, error) { return nil, nil })
	x := empty(t, dlpack.Float32, []int64{1}, dev)
	open := must.Open(runtime.NewStream(dev))(t)
	timer := must.Open(runtime.NewTimer(dev))(t)
	s := must.Get(runtime.NewStream(dev))(t)
	require.NoError(t, s.Close())
	require.Zero(t, s.Handle())
	require.Zero(t, s.Device())
	for range 3 {
		requireError(t, must.Fail(f.CallOn(s)), runtime.ErrClosed, "stream")
		requireError(t, must.Fail(f.BindOn(s)), runtime.ErrClosed)
		requireError(t, s.Sync(ctx), runtime.ErrClosed)
		requireError(t, s.WaitFor(open), runtime.ErrClosed)
		requireError(t, open.WaitFor(s), runtime.ErrClosed)
		requireError(t, x.CopyFromTensor(x, s), runtime.ErrClosed)
		requireError(t, timer.Start(s), runtime.ErrClosed)
	}
	var none *runtime.Stream
	require.NoError(t, none.Close())
	require.Zero(t, none.Handle())
	require.Zero(t, none.Device())
	requireError(t, none.Sync(ctx), runtime.ErrInvalidArgument, "SyncDevice")
	requireError(t, none.WaitFor(open), runtime.ErrInvalidArgument)
	requireError(t, open.WaitFor(none), runtime.ErrInvalidArgument)
	require.NoError(t, open.Sync(ctx))
}

// A stream of another device is an error: its handle must not be passed to the device.
func TestStream_OfAnotherDevice(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s := must.Open(runtime.NewStream(dev))(t)
	cpu := must.Open(runtime.NewStream(runtime.CPU))(t)
	x := tensor(t, []float32{1})
	requireError(t, x.CopyFromTensor(tensor(t, []float32{2}), s), runtime.ErrInvalidArgument, "fakedev:0", "cpu:0")
	requireError(t, s.WaitFor(cpu), runtime.ErrInvalidArgument, "one type of device")
	timer := must.Open(runtime.NewTimer(runtime.CPU))(t)
	requireError(t, timer.Start(s), runtime.ErrInvalidArgument, "fakedev:0")
	y := empty(t, dlpack.Float32, []int64{1}, dev)
	require.NoError(t, y.CopyFromTensor(x, s))
	require.NoError(t, x.CopyFromTensor(y, s))
}

func TestStream_SyncStopsWaitingWhenCancelled(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	s := must.Get(runtime.NewStream(dev))(t)
	blocked := make(chan struct{})
	queue := must.Get(theFake.stream(runtime.StreamHandle(s.Handle())))(t)
	queue.queue(func() { <-blocked })
	cancellable, cancel := context.WithCancel(ctx)
	waiting := make(chan error)
	syncing := make(chan struct{})
	theFake.failWith(t, func(op string) error {
		if op == "sync" {
			close(syncing)
		}
		return nil
	})
	go func() { waiting <- s.Sync(cancellable) }()
	<-syncing
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled)
	requireError(t, s.Close(), runtime.ErrInvalidArgument, "still use it")
	theFake.fail.Store(nil)
	close(blocked)
	require.NoError(t, s.Sync(ctx))
	require.Eventually(t, func() bool { return s.Close() == nil }, waitLimit, waitStep,
		"the abandoned wait ends")
}

func TestStream_WorksWhereThereIsOneQueue(t *testing.T) {
	noLeaks(t)
	a := must.Get(runtime.NewStream(runtime.CPU))(t)
	b := must.Get(runtime.NewStream(runtime.CPU))(t)
	require.Zero(t, a.Handle())
	require.NoError(t, a.WaitFor(b))
	require.NoError(t, a.Sync(ctx))
	m := modules.Load(t, multiC)
	in, out := tensor(t, []float32{1}), tensor(t, []float32{0})
	must.Get(function(t, m, "addone").CallOn(a, in, out))(t)
	require.Equal(t, []float32{2}, slice[float32](t, out))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

// Without Close, unreachable streams are freed, except those that a call still uses.
func TestStream_CollectedWhenDropped(t *testing.T) {
	dev := fakeDevice(t)
	open := func() int {
		theFake.mu.Lock()
		defer theFake.mu.Unlock()
		return len(theFake.streams)
	}
	before, timers := open(), theFake.timers.Load()
	f := goFunction(t, func(...any) (any, error) { return nil, nil })
	var kept *runtime.Bound
	for i := range 20 {
		s := must.Get(runtime.NewStream(dev))(t)
		urgent := must.Get(runtime.NewStreamWithPriority(dev, -2))(t)
		must.Get(f.CallOn(urgent))(t)
		if i == 0 {
			kept = must.Get(f.BindOn(s))(t)
		}
		timer := must.Get(runtime.NewTimer(dev))(t)
		require.NoError(t, timer.Start(s))
	}
	require.Greater(t, open(), before+1)
	require.True(t, leaks.Until(func() bool { return open() == before+1 && theFake.timers.Load() == timers }))
	require.NoError(t, kept.Call(), "its stream still exists")
	require.NoError(t, kept.Close())
	require.True(t, leaks.Until(func() bool { return open() == before }))
}
