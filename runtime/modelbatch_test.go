package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestModel_RunBatch(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []float32{1, 2, 3, 4}, 2, 2)
	one, none := tensor(t, []float32{5, 6}, 1, 2), tensor(t, []float32{}, 0, 2)
	ten, other := tensor(t, []float32{10}), tensor(t, []float32{20})
	columns := must.Open(x.View(dlpack.Float32, []int64{2, 2}, []int64{1, 2}, 0))(t) // 1, 3 and 2, 4
	for _, c := range []struct {
		name     string
		requests []runtime.Inputs
		want     [][]float32
		calls    int
	}{
		{"none", nil, nil, 0},
		{"one", []runtime.Inputs{runtime.Ordered{x, ten}}, [][]float32{{13, 17}}, 1},
		{"sizes", []runtime.Inputs{runtime.Ordered{x, ten}, runtime.Named{"x": one, "bias": ten}, runtime.Ordered{none, ten},
			runtime.Ordered{x, ten}}, [][]float32{{13, 17}, {21}, {}, {13, 17}}, 1},
		{"strides", []runtime.Inputs{runtime.Ordered{columns, ten}, runtime.Ordered{one, ten}, runtime.Ordered{columns, ten}},
			[][]float32{{14, 16}, {21}, {14, 16}}, 1},
		{"other input", []runtime.Inputs{runtime.Ordered{x, ten}, runtime.Ordered{one, other}, runtime.Ordered{one, ten}},
			[][]float32{{13, 17}, {31}, {21}}, 2},
		{"all apart", []runtime.Inputs{runtime.Ordered{x, ten}, runtime.Ordered{one, other}},
			[][]float32{{13, 17}, {31}}, 2},
		{"empty", []runtime.Inputs{runtime.Ordered{none, ten}, runtime.Ordered{none, ten}}, [][]float32{{}, {}}, 1},
	} {
		calls := 0
		m := rows(t, &calls).open(t)
		for _, f := range []func() ([]runtime.Outputs, error){
			func() ([]runtime.Outputs, error) { return m.RunBatch(ctx, c.requests) },
			func() ([]runtime.Outputs, error) { return m.RunFunctionBatch(ctx, "main", c.requests) },
		} {
			calls = 0
			out := must.Get(f())(t)
			require.Len(t, out, len(c.requests))
			require.Equal(t, c.want, modelTensors(t, out), c.name)
			require.Equal(t, c.calls, calls, c.name)
		}
	}
}

// Requests of functions that cannot be stacked run one after another.
func TestModel_RunBatchOfFixedSizes(t *testing.T) {
	noLeaks(t)
	calls := 0
	double := func(args ...any) (any, error) {
		calls++
		x := must.Get(runtime.ToSlice[float32](args[0].(*runtime.Tensor)))(t)
		return runtime.FromSlice([]float32{2 * x[0]})
	}
	m := new(fakeModel).add("fixed", double, floats("", "1"), floats("x", "1")).
		add("free", double, info("", "any", "", nil), floats("x", "n")).open(t)
	requests := []runtime.Inputs{runtime.Ordered{tensor(t, []float32{1})}, runtime.Ordered{tensor(t, []float32{2})}}
	for i, name := range []string{"fixed", "free"} {
		out := must.Get(m.RunFunctionBatch(ctx, name, requests))(t)
		require.Equal(t, [][]float32{{2}, {4}}, modelTensors(t, out))
		require.Equal(t, 2*(i+1), calls)
	}
	requireError(t, must.Fail(m.RunBatch(ctx, requests)), runtime.ErrNotFound, "fixed, free")
	requireError(t, must.Fail(m.RunFunctionBatch(ctx, "fixd", requests)), runtime.ErrNotFound, `did you mean "fixed"?`)
}

func TestModel_RunBatchErrors(t *testing.T) {
	noLeaks(t)
	calls := 0
	m := rows(t, &calls).open(t)
	x, ten := tensor(t, []float32{1, 2}, 1, 2), tensor(t, []float32{10})
	err := must.Fail(m.RunBatch(ctx, []runtime.Inputs{runtime.Ordered{x, ten}, runtime.Ordered{ten, ten}}))
	requireError(t, err, runtime.ErrInvalidArgument, "request 1: run main: parameter x: expected float32[n, 2]")
	require.Zero(t, calls, "all requests are checked before the first call")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, must.Fail(m.RunBatch(cancelled, []runtime.Inputs{runtime.Ordered{x, ten}})), context.Canceled)

	fail := 0 // the call that fails
	fails := new(fakeModel).add("main", func(args ...any) (any, error) {
		if fail--; fail == 0 {
			return nil, runtime.Errorf(runtime.ErrFailed, "no more")
		}
		return args[0], nil
	}, floats("", "n"), floats("x", "n"), floats("y", "1"))
	m = fails.open(t)
	y := tensor(t, []float32{10})
	apart := []runtime.Inputs{runtime.Ordered{ten, ten}, runtime.Ordered{ten, y}, runtime.Ordered{ten, y}}
	fail = 1
	requireError(t, must.Fail(m.RunBatch(ctx, apart)), runtime.ErrFailed, "request 0: run main: no more")
	fail = 2
	requireError(t, must.Fail(m.RunBatch(ctx, apart)), runtime.ErrFailed, "run main: no more")

	// A result that is not what the signature says.
	for _, result := range []any{int64(3), x, nil} {
		m := new(fakeModel).add("main", func(...any) (any, error) { return result, nil },
			tuple("", floats("", "n")), floats("x", "n")).open(t)
		requests := []runtime.Inputs{runtime.Ordered{ten}, runtime.Ordered{ten}}
		requireError(t, must.Fail(m.RunBatch(ctx, requests)), runtime.ErrFailed, "run main: output 0 is",
			"the 2 rows of the stacked inputs")
	}
}

// Tensors are stacked on the device of the first, wherever the others are, and rows may lie apart in CPU memory.
func TestModel_RunBatchOnDevices(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	var shapes [][]int64
	m := new(fakeModel).add("main", func(args ...any) (any, error) {
		x := args[0].(*runtime.Tensor)
		shapes = append(shapes, x.Shape())
		require.Equal(t, dev, x.Device())
		return x, nil
	}, floats("", "n", "2"), floats("x", "n", "2")).open(t)
	on := empty(t, dlpack.Float32, []int64{1, 2}, dev)
	require.NoError(t, runtime.CopyFrom(on, []float32{1, 2}))
	wide := tensor(t, []float32{3, 0, 4, 0, 5, 0, 6, 0}, 8)
	apart := must.Open(wide.View(dlpack.Float32, []int64{2, 2}, []int64{4, 2}, 0))(t)
	out := must.Get(m.RunBatch(ctx, []runtime.Inputs{runtime.Ordered{on}, runtime.Ordered{apart}}))(t)
	for _, o := range out {
		require.Equal(t, dev, must.Get(o.Tensor(0))(t).Device())
	}
	require.NoError(t, runtime.SyncDevice(ctx, dev))
	require.Equal(t, [][]float32{{1, 2}, {3, 4, 5, 6}}, modelTensors(t, out))
	require.Equal(t, [][]int64{{3, 2}}, shapes)
}

// The stacked inputs and the results live no longer than the batch, also if its context ends.
func TestModel_RunBatchCancelled(t *testing.T) {
	noLeaks(t)
	s := newSlow()
	m := new(fakeModel).add("main", func(args ...any) (any, error) {
		s.started <- struct{}{}
		<-s.proceed
		return args[0], nil
	}, floats("", "n"), floats("x", "n"), floats("y", "1")).open(t)
	x, y := tensor(t, []float32{1, 2}), tensor(t, []float32{3})
	cancellable, cancel := context.WithCancel(ctx)
	go func() { <-s.started; cancel() }()
	before := runtime.Live().Tensors
	requests := []runtime.Inputs{runtime.Ordered{x, y}, runtime.Ordered{x, y}}
	require.ErrorIs(t, must.Fail(m.RunBatch(cancellable, requests)), context.Canceled)
	require.NoError(t, x.Close())
	require.NoError(t, y.Close())
	close(s.proceed)
	require.NoError(t, m.Wait(ctx))
	require.Equal(t, before-2, runtime.Live().Tensors)
}
