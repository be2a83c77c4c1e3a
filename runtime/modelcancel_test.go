package runtime_test

import (
	"context"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/globals"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// slow is a model whose function waits, between start and end of a call.
type slow struct {
	started, proceed chan struct{}
	calls            atomic.Int64
}

func newSlow() *slow { return &slow{started: make(chan struct{}, 1), proceed: make(chan struct{})} }

func (s *slow) open(t testing.TB, result func(x *runtime.Tensor) (any, error)) *runtime.Model {
	t.Helper()
	return new(fakeModel).add("main", func(args ...any) (any, error) {
		s.calls.Add(1)
		s.started <- struct{}{}
		<-s.proceed
		return result(args[0].(*runtime.Tensor))
	}, info("", "any", "", nil), floats("x", "n")).open(t)
}

func sumOf(x *runtime.Tensor) (any, error) {
	sum := float32(0)
	all, err := runtime.ToSlice[float32](x)
	for _, v := range all {
		sum += v
	}
	if err != nil {
		return nil, err
	}
	y, err := runtime.FromSlice([]float32{sum})
	return globals.Owned{Value: []any{y, []any{y}}}, err
}

// The error comes before the function has ended; the inputs live until then, and the outputs do not outlive it.
func TestModel_RunCancelled(t *testing.T) {
	noLeaks(t)
	s, sums := newSlow(), make(chan any, 1)
	m := s.open(t, func(x *runtime.Tensor) (any, error) {
		all, err := runtime.ToSlice[float32](x)
		sums <- all
		if err != nil {
			return nil, err
		}
		return sumOf(x)
	})
	x := tensor(t, []float32{1, 2, 3})
	before := runtime.Live()
	cancellable, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	go func() {
		_, err := m.Run(cancellable, runtime.Ordered{x})
		failed <- err
	}()
	<-s.started
	cancel()
	err := <-failed
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "run main: ")
	require.NoError(t, x.Close())

	ended, stop := context.WithCancel(ctx)
	stop()
	require.ErrorIs(t, m.Wait(ended), context.Canceled, "the call runs")
	close(s.proceed)
	require.NoError(t, m.Wait(ctx))
	require.Equal(t, []float32{1, 2, 3}, <-sums, "the call has its own reference")
	after := runtime.Live()
	require.Equal(t, before.Tensors-1, after.Tensors, "the input and the outputs are released, without the collector")
	require.Equal(t, before.TensorBytes-12, after.TensorBytes)

	out := must.Get(m.Run(ctx, runtime.Ordered{tensor(t, []float32{4, 5})}))(t) // the model stays usable
	require.Equal(t, []float32{9}, slice[float32](t, must.Get(out.Tensor(0))(t)))
	require.NoError(t, out.Close())
	require.NoError(t, m.Wait(ctx))
}

// A function that fails after its context has ended leaves nothing behind either.
func TestModel_RunCancelledAndFailed(t *testing.T) {
	noLeaks(t)
	s := newSlow()
	m := s.open(t, func(*runtime.Tensor) (any, error) { return nil, runtime.Errorf(runtime.ErrFailed, "too late") })
	cancellable, cancel := context.WithCancel(ctx)
	go func() { <-s.started; cancel() }()
	require.ErrorIs(t, must.Fail(m.Run(cancellable, runtime.Ordered{tensor(t, []float32{1})})), context.Canceled)
	close(s.proceed)
	require.NoError(t, m.Wait(ctx))
	requireError(t, must.Fail(m.Run(ctx, runtime.Ordered{tensor(t, []float32{1})})), runtime.ErrFailed, "too late")
}

// Close waits for nothing; the module is freed after the last call.
func TestModel_CloseDuringCalls(t *testing.T) {
	noLeaks(t)
	s, freed := newSlow(), make(chan struct{})
	of := new(fakeModel).add("main", func(args ...any) (any, error) {
		s.started <- struct{}{}
		<-s.proceed
		return sumOf(args[0].(*runtime.Tensor))
	}, info("", "any", "", nil), floats("x", "n"))
	module := must.Get(runtime.NewModule("fake.Model", 0, &closeWatch{of.module(t), func() { close(freed) }}))(t)
	m := must.Get(runtime.NewModel(module))(t)
	require.NoError(t, module.Close())
	cancellable, cancel := context.WithCancel(ctx)
	x := tensor(t, []float32{1})
	results := make(chan error, 2)
	for _, c := range []context.Context{ctx, cancellable} {
		go func() {
			out, err := m.Run(c, runtime.Ordered{x})
			out.Close()
			results <- err
		}()
		<-s.started
	}
	cancel()
	require.ErrorIs(t, <-results, context.Canceled)
	require.NoError(t, m.Close())
	requireError(t, must.Fail(m.Run(ctx, runtime.Ordered{x})), runtime.ErrClosed)
	select {
	case <-freed:
		t.Fatal("the module was freed during a call")
	default:
	}
	close(s.proceed)
	require.NoError(t, <-results)
	require.NoError(t, m.Wait(ctx))
	<-freed
}

// closeWatch passes calls on to another module, and says when it is closed.
type closeWatch struct {
	of     *runtime.Module
	closed func()
}

func (w *closeWatch) Function(name string) (*runtime.Function, error) { return w.of.Function(name) }
func (w *closeWatch) Functions() []string                             { return w.of.Functions() }
func (*closeWatch) Metadata(string) (string, error)                   { return "", nil }
func (*closeWatch) Doc(string) (string, error)                        { return "", nil }
func (*closeWatch) SaveToFile(string, string) error                   { return runtime.ErrNotSupported }
func (*closeWatch) SaveToBinary() ([]byte, error)                     { return nil, runtime.ErrNotSupported }
func (*closeWatch) GetSource(string) (string, error)                  { return "", runtime.ErrNotSupported }
func (w *closeWatch) Close() error                                    { w.closed(); return nil }

// A call that was left waits for the devices of its inputs and outputs before it releases them.
func TestModel_CancelledCallWaitsForDevices(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	for _, where := range []string{"input", "tuple", "output", "none"} {
		s := newSlow()
		m := s.open(t, func(x *runtime.Tensor) (any, error) {
			if where == "output" {
				return runtime.NewTensor(dlpack.Float32, []int64{1}, dev)
			}
			return nil, nil
		})
		on := runtime.CPU
		if where == "input" {
			on = dev
		}
		x := empty(t, dlpack.Float32, []int64{1}, on)
		var synced atomic.Int64
		cancellable, cancel := context.WithCancel(ctx)
		go func() { <-s.started; cancel() }()
		require.ErrorIs(t, must.Fail(m.Run(cancellable, runtime.Ordered{x})), context.Canceled)
		theFake.failWith(t, func(op string) error {
			if op == "sync" {
				synced.Add(1)
			}
			return nil
		})
		close(s.proceed)
		require.NoError(t, m.Wait(ctx))
		theFake.fail.Store(nil)
		require.Equal(t, where == "input" || where == "output", synced.Load() > 0, where)
	}
}

// Without a context that can end, the call runs on the calling goroutine.
func TestModel_RunOnTheCallingGoroutine(t *testing.T) {
	noLeaks(t)
	var on string
	m := new(fakeModel).add("main", func(...any) (any, error) { on = goroutine(); return nil, nil },
		info("", "any", "", nil)).open(t)
	must.Get(m.Run(context.WithValue(ctx, slow{}, 1), nil))(t)
	require.Equal(t, goroutine(), on)
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	must.Get(m.Run(cancellable, nil))(t)
	require.NotEqual(t, goroutine(), on)
}

// Calls with contexts that end at any time, from many goroutines, leave nothing behind.
func TestModel_RunFromManyGoroutines(t *testing.T) {
	noLeaks(t)
	m := new(fakeModel).add("main", func(args ...any) (any, error) {
		goruntime.Gosched()
		return sumOf(args[0].(*runtime.Tensor))
	}, info("", "any", "", nil), floats("x", "n")).open(t)
	x := tensor(t, []float32{1, 2})
	var group sync.WaitGroup
	var answered, left atomic.Int64
	for g := range 32 {
		group.Go(func() {
			for i := range 50 {
				cancellable, cancel := context.WithCancel(ctx)
				if (g+i)%2 == 0 {
					go cancel()
				}
				out, err := m.Run(cancellable, runtime.Ordered{x})
				cancel()
				if err != nil {
					left.Add(1)
					continue
				}
				y, err := out.Tensor(0)
				if err == nil && y.Len() == 1 {
					answered.Add(1)
				}
				out.Close()
			}
		})
	}
	group.Wait()
	require.NoError(t, m.Wait(ctx))
	require.Equal(t, int64(32*50), answered.Load()+left.Load())
	require.GreaterOrEqual(t, answered.Load(), int64(32*25), "calls that nobody cancelled")
}
