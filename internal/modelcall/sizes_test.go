package modelcall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	. "tvmgo/internal/modelcall"
	"tvmgo/internal/testing/must"
)

func TestResultDims(t *testing.T) {
	f := function(tuple(floats("n", "m * 2"), shape("k"), floats("3")), floats("n", "m"), shape("k"))
	params := []int{0, 1}
	_, err := f.Determines(params)
	require.NoError(t, err)
	args := []Argument{given(2, 5), dims(7)}
	require.Equal(t, [][]int64{{2, 10}, {7}, {3}}, must.Get(f.ResultDims(params, args))(t))
	require.ErrorContains(t, must.Fail(f.ResultDims(params, []Argument{given(2, 5), dims(-7)})),
		"result 1: dimension 0, k, has no value")
	require.ErrorContains(t, must.Fail(f.ResultDims(params, []Argument{given(2), dims(7)})), "1 dimensions, not 2")
	one := function(floats("n // m"), floats("n", "m"))
	require.Equal(t, [][]int64{{3}}, must.Get(one.ResultDims([]int{0}, []Argument{given(6, 2)}))(t))
	require.ErrorContains(t, must.Fail(one.ResultDims([]int{0}, []Argument{given(6, 0)})), "has no value")
}

func TestDetermines(t *testing.T) {
	for _, c := range []struct {
		result Type
		at     int
		says   string
	}{
		{tuple(floats("n"), floats("n * 3", "k")), 1, "dimension 1 depends on k, which no parameter determines"},
		{tuple(floats("2"), floats("n", "")), 1, "dimension 1 is not known"},
		{floats("f(n)"), 0, "dimension 0 is not known"},
		{floats("h"), 0, "dimension 0 depends on h"}, // h is part of an expression alone
	} {
		f := function(c.result, floats("n", "h + 1"))
		at, err := f.Determines([]int{0})
		require.ErrorContains(t, err, c.says)
		require.Equal(t, c.at, at)
	}
}

func TestExample(t *testing.T) {
	f := function(Type{}, floats("n", "16", "n * 2", "", "n // 0"), Type{Kind: Tensor, NDim: -1}, shape("n", "3"),
		floats())
	for i, want := range [][]int64{{1, 16, 2, 1, 1}, nil, {1, 3}, {}} {
		got, ok := f.Example(i)
		require.Equal(t, want, got)
		require.Equal(t, want != nil, ok)
	}
	require.True(t, f.IsShape(2))
	require.False(t, f.IsShape(0))
}

func TestWithNoun(t *testing.T) {
	f := function(Type{}, floats("n")).WithNoun("input")
	err := f.Check([]int{0}, []Argument{{Kind: Tensor, DType: dlpack.Int8, Dims: []int64{3}}})
	require.ErrorContains(t, err, "input a: expected")
	require.Equal(t, "parameter 0", New([]Parameter{{}}, Type{}).Label(0))
}
