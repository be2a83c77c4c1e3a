package vm_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// goFunction registers a global function until the end of the test.
func goFunction(t testing.TB, name string, f runtime.PackedFunc) {
	t.Helper()
	made := must.Open(runtime.NewFunction(f))(t)
	require.NoError(t, runtime.RegisterGlobal(name, made, false))
	t.Cleanup(func() { runtime.RemoveGlobal(name) })
}

// Errors and panics of functions written in Go are errors of the call, and the model stays usable.
func TestCallback_Fails(t *testing.T) {
	noLeaks(t)
	fail := func() (any, error) { return int64(1), nil }
	goFunction(t, "vm.builtin.test_fails", func(...any) (any, error) { return fail() })
	m := must.Open(runtime.NewModel(loaded(t, pairs("vm.builtin.test_fails"))))(t)
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	good := fail
	for says, f := range map[string]func() (any, error){
		"panic: boom":            func() (any, error) { panic("boom") },
		"nil pointer":            func() (any, error) { return nil, (*runtime.Error)(nil) },
		"chan int cannot be":     func() (any, error) { return make(chan int), nil },
		"out of range [3]":       func() (any, error) { return []int{}[len(m.Devices())+2], nil },
		"make a *Tensor of it w": func() (any, error) { return []float32{1}, nil },
	} {
		for _, c := range []context.Context{ctx, cancellable} {
			fail = f
			_, err := m.RunFunction(c, "main", runtime.Ordered{1, 2})
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, `run main: in function "main", instruction 0 (call vm.builtin.test_fails`)
			fail = good
			require.Equal(t, runtime.Outputs{int64(1)}, must.Get(m.RunFunction(c, "main", runtime.Ordered{1, 2}))(t))
		}
	}
}

// A function written in Go may call the model that calls it. Recursion that does not end is an error.
func TestCallback_CallsTheModel(t *testing.T) {
	noLeaks(t)
	var m *runtime.Model
	c := ctx
	goFunction(t, "tvmgo.test.again", func(args ...any) (any, error) {
		n := args[0].(int64)
		if n == 0 {
			return int64(0), nil
		}
		out, err := m.RunFunction(c, "main", runtime.Ordered{n - 1, 0})
		if err != nil {
			return nil, err
		}
		return out[0].(int64) + n, nil
	})
	m = must.Open(runtime.NewModel(loaded(t, pairs("tvmgo.test.again"))))(t)
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, c = range []context.Context{ctx, cancellable} { // with the latter each level could take a thread of its own
		require.Equal(t, runtime.Outputs{int64(50 * 51 / 2)}, must.Get(m.RunFunction(c, "main", runtime.Ordered{50, 0}))(t))
		_, err := m.RunFunction(c, "main", runtime.Ordered{-1, 0})
		require.ErrorContains(t, err, "is called too deep")
		require.Equal(t, runtime.Outputs{int64(1)}, must.Get(m.RunFunction(c, "main", runtime.Ordered{1, 0}))(t))
	}
}

// runtime.Goexit in a function ends the goroutine of the call, and has no effect on later calls, neither in deferred
// functions nor elsewhere: the calls that it ended do not count as nested.
func TestCallback_Goexit(t *testing.T) {
	var run func(c context.Context, x int64) error
	goFunction(t, "tvmgo.test.exit", func(args ...any) (any, error) {
		x := args[0].(int64)
		switch {
		case x == 1:
			goruntime.Goexit()
		case x > 1: // ends in Goexit
			return nil, run(ctx, x-1)
		case x < 0:
			return nil, run(ctx, x+1)
		}
		return nil, nil
	})
	m := must.Open(runtime.NewModel(loaded(t, pairs("tvmgo.test.exit"))))(t)
	run = func(c context.Context, x int64) error {
		_, err := m.RunFunction(c, "main", runtime.Ordered{x, 0})
		return err
	}
	p := must.Get(runtime.NewProfile())(t)
	exit := func(depth int64, deferred func() error) {
		t.Helper()
		returned, done := false, make(chan error, 1)
		go func() {
			defer close(done)
			defer func() { done <- deferred() }()
			_ = p.Do(func() error { return run(ctx, depth) })
			returned = true
		}()
		require.NoError(t, <-done)
		require.False(t, returned)
	}
	for range 1100 {
		exit(1, func() error { return nil })
		require.NoError(t, run(ctx, 0))
	}
	exit(900, func() error { return run(ctx, -200) })
	require.NoError(t, run(ctx, -900))

	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	err := run(cancellable, 1)
	require.ErrorIs(t, err, runtime.ErrFailed)
	require.ErrorContains(t, err, "run main: a Go function ended the goroutine of the call with runtime.Goexit")
	require.NoError(t, m.Wait(ctx))
}

// A call whose context ends goes on, on its devices: what it holds is released when it and they have finished.
func TestModel_CancelledOnDevice(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			dev := dlpack.Device{Type: kind}
			if !runtime.DeviceExists(dev) {
				gputest.Missing(t, kind, "there is no device of type "+kind.String())
			}
			noLeaks(t)
			started, proceed := make(chan struct{}, 1), make(chan struct{})
			goFunction(t, "tvmgo.test.triple", func(args ...any) (any, error) {
				started <- struct{}{}
				<-proceed
				x, err := runtime.ToSlice[float32](args[0].(*runtime.Tensor))
				for i := range x {
					x[i] *= 3
				}
				if err != nil {
					return nil, err
				}
				return nil, runtime.CopyFrom(args[1].(*runtime.Tensor), x)
			})
			e := twoDevices(kind)
			for i := range e.Functions {
				if f := &e.Functions[i]; f.Kind == vmcode.Packed {
					f.Name = strings.Replace(f.Name, "triple", "tvmgo.test.triple", 1)
				}
			}
			module := loaded(t, e)
			require.NoError(t, module.Import(gpuprograms.Scaled(t, kind.String(), "five", width, 5)))
			require.NoError(t, module.Import(gpuprograms.Sum(t, kind.String(), "add", width)))
			m := must.Open(runtime.NewModel(module, runtime.OnDevices(dev)))(t)
			for range 3 {
				x, w := modules.Tensor(t, make([]float32, width)), gputest.Tensor(t, dev, make([]float32, width))
				cancellable, cancel := context.WithCancel(ctx)
				go func() { <-started; cancel() }()
				require.ErrorIs(t, must.Fail(m.Run(cancellable, runtime.Ordered{x, w})), context.Canceled)
				require.NoError(t, x.Close())
				require.NoError(t, w.Close())
				require.Positive(t, must.Get(m.Memory())(t).Live, "the call goes on")
				proceed <- struct{}{}
				require.NoError(t, m.Wait(ctx))
				require.Zero(t, must.Get(m.Memory())(t).Live)
				require.Zero(t, must.Get(m.Memory())(t).Storages)
			}
		})
	}
}
