package runtime_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/runtime"
)

func TestBound_KeepsItsArguments(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []float32{1, 2})
	f := goFunction(t, func(args ...any) (any, error) {
		return []any{args[0].(*runtime.Tensor).Len(), args[1], args[2]}, nil
	})
	b, err := f.Bind(x, "a text that needs an object", []any{1})
	require.NoError(t, err)
	require.NoError(t, x.Close())
	require.NoError(t, f.Close())
	for range 3 {
		require.NoError(t, b.Call())
		v, err := b.Result()
		require.NoError(t, err)
		require.Equal(t, []any{int64(2), "a text that needs an object", []any{int64(1)}}, v)
	}
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	for _, b := range []*runtime.Bound{b, nil} {
		requireError(t, b.Call(), runtime.ErrClosed)
		_, err = b.Result()
		requireError(t, err, runtime.ErrClosed)
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
	b, err := f.Bind()
	require.NoError(t, err)
	defer b.Close()
	v, err := b.Result()
	require.NoError(t, err)
	require.Nil(t, v)
	require.NoError(t, b.Call())
	first, err := b.Result()
	require.NoError(t, err)
	defer first.(*runtime.Tensor).Close()
	require.ErrorIs(t, b.Call(), io.EOF)
	require.NoError(t, b.Call())
	last, err := b.Result()
	require.NoError(t, err)
	defer last.(*runtime.Tensor).Close()
	require.Equal(t, []int32{1}, slice[int32](t, first.(*runtime.Tensor)))
	require.Equal(t, []int32{3}, slice[int32](t, last.(*runtime.Tensor)))
}

func TestBound_CallsAllocateNothing(t *testing.T) {
	m := modules.Load(t, multiC)
	b, err := function(t, m, "addone").Bind(tensor(t, []float32{1}), tensor(t, []float32{0}))
	require.NoError(t, err)
	defer b.Close()
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
		b, err := f.Bind(tensor(t, []int8{1}), "an argument that is an object")
		require.NoError(t, err)
		require.NoError(t, b.Call())
	}
}

func TestForgottenObjectsAreCollected(t *testing.T) {
	noLeaks(t)
	for range 10 {
		_, err := runtime.FromSlice([]int8{1})
		require.NoError(t, err)
		_, err = runtime.NewFunction(func(...any) (any, error) { return nil, nil })
		require.NoError(t, err)
		m, err := runtime.Load(ctx, multiC)
		require.NoError(t, err)
		_, err = m.Function("addone")
		require.NoError(t, err)
	}
}
