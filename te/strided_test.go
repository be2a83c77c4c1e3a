package te_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/te"
	"tvmgo/tir"
)

// TestStrided reads the columns of a matrix from an offset, and writes every second element.
func TestStrided(t *testing.T) {
	x := te.Placeholder(te.Dims(2, 3), tir.Float32, "X")
	y := te.Compute(te.Dims(2, 3), "Y", func(i ...tir.Expr) tir.Expr { return tir.Add(x.At(i...), tir.F32(100)) })
	s := must.Get(te.NewSchedule(y))(t)
	m := must.Get(te.Lower(s, []any{te.Strided(x), te.Strided(y)}, "f"))(t)
	require.NoError(t, tir.Check(m))

	in := must.Get(tirrun.From(tir.Float32, []int{0, 1, 2, 3, 4, 5, 6, 7}, 8))(t)
	in.Shape, in.Strides, in.Offset = []int64{2, 3}, []int64{1, 2}, 2
	out := must.Get(tirrun.New(tir.Float32, 16))(t)
	out.Shape, out.Strides, out.Offset = []int64{2, 3}, []int64{8, 2}, 1
	require.NoError(t, tirrun.Run(m, "f", in, out))
	require.Equal(t, []float64{102, 104, 106, 103, 105, 107}, must.Get(tirrun.Values[float64](out))(t))

	// a tensor without Strided must be compact
	m = must.Get(te.Lower(s, []any{x, te.Strided(y)}, "f"))(t)
	require.ErrorIs(t, tirrun.Run(m, "f", in, out), tirrun.ErrArgument)

	_, err := te.Lower(s, []any{te.Strided(x), x, y}, "f")
	require.ErrorContains(t, err, "argument 1: tensor X is given twice")
	require.ErrorContains(t, must.Fail(te.Lower(s, []any{te.Strided(nil), y}, "f")), "argument 0 is nil")
	require.ErrorContains(t, must.Fail(te.Lower(s, []any{te.Strided(x)}, "f")), "output Y is not among the arguments")
}

// TestAnnotate reads annotations and inputs back.
func TestAnnotate(t *testing.T) {
	x := te.Placeholder(te.Dims(2), tir.Float32, "X")
	y := te.Compute(te.Dims(2), "Y", func(i ...tir.Expr) tir.Expr { return x.At(i...) }).Annotate("who", 7)
	require.Equal(t, 7, y.Annotation("who"))
	require.Nil(t, y.Annotation("what"))
	require.Nil(t, x.Annotation("who"))
	require.Len(t, y.Bodies(), 1)
	require.Empty(t, x.Bodies())
	z := te.Extern([]te.ExternResult{{Shape: te.Dims(2), Type: tir.Float32}}, []*te.Tensor{x, y}, "Z",
		func(ins, outs []*tir.Buffer) tir.Stmt { return &tir.Seq{} })
	require.Equal(t, []*te.Tensor{x, y}, z[0].Inputs())
	require.Empty(t, y.Inputs())
}
