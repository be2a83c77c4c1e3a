package runtime_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestBound_KeepsItsArguments(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []float32{1, 2})
	f := goFunction(t, func(args ...any) (any, error) {
		return []any{args[0].(*runtime.Tensor).Len(), args[1], args[2]}, nil
	})
	b := must.Get(f.Bind(x, "a text that needs an object", []any{1}))(t)
	require.NoError(t, x.Close())
	require.NoError(t, f.Close())
	for range 3 {
		require.NoError(t, b.Call())
		v := must.Get(b.Result())(t)
		require.Equal(t, []any{int64(2), "a text that needs an object", []any{int64(1)}}, v)
	}
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	for _, b := range []*runtime.Bound{b, nil} {
		requireError(t, b.Call(), runtime.ErrClosed)
		requireError(t, must.Fail(b.Result()), runtime.ErrClosed)
		require.NoError(t, b.Close())
	}
}

func TestBound_ResultOfTheLastSuccess(t *testing.T) {
	noLeaks(t)
	n := 0
	f := goFunction(t, func(...any) (any, error) {
		if n++; n == 2 {
			return nil, io.EOF
		}
		return tensor(t, []int32{int32(n)}), nil
	})
	b := must.Get(f.Bind())(t)
	defer b.Close()
	require.Nil(t, must.Get(b.Result())(t))
	require.NoError(t, b.Call())
	first := must.Get(b.Result())(t)
	defer first.(*runtime.Tensor).Close()
	require.ErrorIs(t, b.Call(), io.EOF)
	require.NoError(t, b.Call())
	last := must.Get(b.Result())(t)
	defer last.(*runtime.Tensor).Close()
	require.Equal(t, []int32{1}, slice[int32](t, first.(*runtime.Tensor)))
	require.Equal(t, []int32{3}, slice[int32](t, last.(*runtime.Tensor)))
}

func TestBound_CallsAllocateNothing(t *testing.T) {
	m := modules.Load(t, multiC)
	b := must.Open(function(t, m, "addone").Bind(tensor(t, []float32{1}), tensor(t, []float32{0})))(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := b.Call(); err != nil {
			panic(err)
		}
	}))
}

func TestBound_ForgottenIsCollected(t *testing.T) {
	noLeaks(t)
	f := goFunction(t, func(...any) (any, error) { return "a result that is an object", nil })
	for range 10 {
		b := must.Get(f.Bind(tensor(t, []int8{1}), "an argument that is an object"))(t)
		require.NoError(t, b.Call())
	}
}

func TestForgottenObjectsAreCollected(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	for range 10 {
		must.Get(runtime.FromSlice([]int8{1}))(t)
		must.Get(runtime.NewFunction(func(...any) (any, error) { return nil, nil }))(t)
		m := must.Get(runtime.Load(ctx, multiC))(t)
		must.Get(m.Function("addone"))(t)
	}
}
