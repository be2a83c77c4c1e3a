package te_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
)

func floats(values ...float32) (data []byte) {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// A constant is an argument as a placeholder is, unless the schedule reads what Prepare makes of it.
func TestConst(t *testing.T) {
	x := te.Placeholder(te.Dims(3), tir.Float32, "x")
	w := te.Const(te.Dims(3), tir.Float32, "w", floats(1, 2, 3))
	require.Equal(t, floats(1, 2, 3), w.Data())
	require.Nil(t, x.Data())
	twice := te.Compute(te.Dims(3), "twice", func(i ...tir.Expr) tir.Expr { return tir.Add(w.At(i...), w.At(i...)) })
	sum := func(of *te.Tensor) *te.Tensor {
		return te.Compute(te.Dims(3), "y", func(i ...tir.Expr) tir.Expr { return tir.Add(x.At(i...), of.At(i...)) })
	}
	y := sum(w)
	s := must.Get(te.NewSchedule(y))(t)
	require.Equal(t, []*te.Tensor{w}, s.Constants())
	_, err := te.Lower(s, []any{x, y}, "f")
	require.ErrorContains(t, err, "tensor w is read, and is not among the arguments")
	must.Get(te.Lower(s, []any{x, w, y}, "f"))(t)

	ready := te.Prepare(twice)
	require.Same(t, twice, ready.Prepared())
	require.Nil(t, ready.Data())
	require.Equal(t, []*te.Tensor{w}, twice.Reads())
	y = sum(ready)
	s = must.Get(te.NewSchedule(y))(t)
	require.Equal(t, []*te.Tensor{ready}, s.Constants())
	must.Get(te.Lower(s, []any{x, ready, y}, "f"))(t)

	mixed := sum(w)
	require.Same(t, mixed, te.Prepare(mixed), "x is not known before the call")

	// replaced: the schedule does not read w any more
	y = sum(twice)
	s = must.Get(te.NewSchedule(y))(t)
	s.Replace(y, sum(ready))
	require.Equal(t, []*te.Tensor{ready}, s.Constants())

	other := te.Placeholder(te.Dims(3), tir.Float32, "other")
	again := twice.Reading(map[*te.Tensor]*te.Tensor{w: other})
	require.Equal(t, []*te.Tensor{other}, again.Reads())
}

func TestConst_Wrong(t *testing.T) {
	for name, c := range map[string]*te.Tensor{
		"constant w: 4 bytes are given for shape [3] of float32: want 12": te.Const(te.Dims(3), tir.Float32, "w",
			floats(1)),
		"constant w: dimension 0 is not constant: use a placeholder": te.Const([]tir.Expr{te.Var("n")}, tir.Float32, "w",
			floats(1)),
	} {
		y := te.Compute(te.Dims(1), "y", func(...tir.Expr) tir.Expr { return c.At(tir.I32(0)) })
		_, err := te.NewSchedule(y)
		require.ErrorContains(t, err, name)
	}
}
