package c_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/tir"
)

// vectorCalls computes an intrinsic of 16 lanes at a time.
func vectorCalls(name, intrinsic string, lanes int) *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, n)
	l := tir.I64(int64(lanes))
	r := &tir.Ramp{Base: tir.Mul(i, l), Stride: tir.I64(1), Lanes: lanes}
	return tensors(name, loop(tir.Serial, i, tir.FloorDiv(n, l), store(b, tir.Intrin(intrinsic, at(a, r)), r)), a, b)
}

// ulps is how many floats lie between two.
func ulps(a, b float32) int64 {
	place := func(f float32) int64 {
		if i := int64(int32(math.Float32bits(f))); i >= 0 {
			return i
		} else {
			return math.MinInt32 - i
		}
	}
	return max(place(a)-place(b), place(b)-place(a))
}

func TestRun_VectorExp(t *testing.T) {
	m := loaded(t, c.Emitter{}, module(t, vectorCalls("exp4", "exp", 4), vectorCalls("exp16", "exp", 16), vectorCalls("sigmoid16", "sigmoid", 16)))
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 88.72283, 88.722839, 88.72284, 89,
		-87.33654, -87.33655, -103.27892, -103.97207, -103.97208, -104, -1e30, math.MaxFloat32, -math.MaxFloat32, 1e-45, -1e-45}
	for x := float32(-105); x < 90; x += 0.00037 { // all binades, denormal results too
		values = append(values, x)
	}
	for len(values)%16 != 0 {
		values = append(values, 1)
	}
	for name, exact := range map[string]func(float64) float64{"exp4": math.Exp, "exp16": math.Exp, "sigmoid16": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }} {
		out := tensor(t, make([]float32, len(values)), int64(len(values)))
		_, err := call(t, m, name, tensor(t, values, int64(len(values))), out)
		require.NoError(t, err)
		worst, where := int64(0), float32(0)
		for i, got := range slice[float32](t, out) {
			want := float32(exact(float64(values[i])))
			if math.IsNaN(float64(values[i])) {
				require.True(t, math.IsNaN(float64(got)), name)
				continue
			}
			require.False(t, math.IsNaN(float64(got)), "%s(%v)", name, values[i])
			if name == "sigmoid16" && values[i] < -87 { // by its formula these are 0, or nearly
				require.InDelta(t, want, got, 1e-37)
				continue
			}
			if d := ulps(got, want); d > worst {
				worst, where = d, values[i]
			}
		}
		require.LessOrEqual(t, worst, int64(2), "%s(%v)", name, where)
	}
}
