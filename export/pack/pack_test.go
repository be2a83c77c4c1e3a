package pack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
)

const scaleSignature = "scale(a: float32[rows, 4], out: float32[rows, 4], rows: int64, alpha: float64, shift: float32)"

func TestLibrary_CPU(t *testing.T) {
	m := load(t, packed(t, kernelsOf([]string{"testdata/k.c"}, addSignature, scaleSignature, "twice=index(int64[1], int64[1])")))
	require.ElementsMatch(t, []string{"add", "scale", "twice"}, m.Functions())

	a, b, c := tensor(t, []float32{1, 2, 3}), tensor(t, []float32{10, 20, 30}), tensor(t, make([]float32, 3))
	_, err := function(t, m, "add").Call(a, b, c, 3)
	require.NoError(t, err)
	require.Equal(t, []float32{11, 22, 33}, slice[float32](t, c))

	in, out := tensor(t, []float32{1, 2, 3, 4}, 1, 4), tensor(t, make([]float32, 4), 1, 4)
	_, err = function(t, m, "scale").Call(in, out, 1, 2.0, 1) // an integer will do for shift
	require.NoError(t, err)
	require.Equal(t, []float32{3, 5, 7, 9}, slice[float32](t, out))

	x, y := tensor(t, []int64{21}), tensor(t, []int64{0})
	_, err = function(t, m, "twice").Call(x, y)
	require.NoError(t, err)
	require.Equal(t, []int64{42}, slice[int64](t, y), "not index of the C library")
}

var _ = pack.Verify
