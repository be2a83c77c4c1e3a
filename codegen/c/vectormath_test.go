//go:build cgo

package c_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
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

// ulps returns the number of floats between two.
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
	m := loaded(t, c.Emitter{}, module(t, vectorCalls("exp4", "exp", 4), vectorCalls("exp16", "exp", 16),
		vectorCalls("sigmoid16", "sigmoid", 16), vectorCalls("erf8", "erf", 8), vectorCalls("erf16", "erf", 16),
		vectorCalls("tanh4", "tanh", 4), vectorCalls("tanh16", "tanh", 16)))
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), 88.72283, 88.722839, 88.72284, 89,
		-87.33654, -87.33655, -103.27892, -103.97207, -103.97208, -104, -1e30, math.MaxFloat32, -math.MaxFloat32, 1e-45,
		-1e-45}
	for x := float32(-105); x < 90; x += 0.00037 { // all binades, denormal results too
		values = append(values, x)
	}
	for x := float32(-4.1); x < 4.1; x += 0.0000091 { // where erf and tanh are not 1
		values = append(values, x)
	}
	for len(values)%16 != 0 {
		values = append(values, 1)
	}
	for name, exact := range map[string]func(float64) float64{"exp4": math.Exp, "exp16": math.Exp,
		"erf8": math.Erf, "erf16": math.Erf, "tanh4": math.Tanh, "tanh16": math.Tanh,
		"sigmoid16": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }} {
		out := modules.Tensor(t, make([]float32, len(values)), int64(len(values)))
		must.Get(modules.Call(t, m, name, modules.Tensor(t, values, int64(len(values))), out))(t)
		worst, where := int64(0), float32(0)
		for i, got := range modules.Slice[float32](t, out) {
			want := float32(exact(float64(values[i])))
			if math.IsNaN(float64(values[i])) {
				require.True(t, math.IsNaN(float64(got)), name)
				continue
			}
			require.False(t, math.IsNaN(float64(got)), "%s(%v)", name, values[i])
			if name == "sigmoid16" && values[i] < -87 { // the formula gives 0, or nearly 0
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

// TestEmit_VectorExp expects one function call for a whole vector if the processor has that vector type, and only then.
func TestEmit_VectorExp(t *testing.T) {
	for _, v := range []struct {
		intrinsic string
		lanes     int
		whole     bool
	}{{"exp", 4, true}, {"exp", 8, true}, {"exp", 16, true}, {"sigmoid", 8, true}, {"erf", 8, true}, {"tanh", 16, true},
		{"exp", 5, false}, {"exp", 32, false},
		{"sqrt", 8, false}} {
		code := emit(t, c.Emitter{}, module(t, vectorCalls("f", v.intrinsic, v.lanes)))
		whole := strings.Contains(code, "tvmgo_exp_") || strings.Contains(code, "tvmgo_erf_")
		require.Equal(t, v.whole, whole, "%s of %d lanes:\n%s", v.intrinsic, v.lanes, code)
		if v.whole {
			for _, scalar := range []string{"expf(", "erff(", "tanhf("} {
				require.NotContains(t, code, scalar, "%s of %d lanes", v.intrinsic, v.lanes)
			}
		}
	}
}

// vectorPair computes the lesser, or the greater, of two tensors by vectors of 8 lanes.
func vectorPair(name string, op func(a, b tir.Expr) tir.Expr, t tir.Type) *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b, c := tir.NewBuffer("A", t, n), tir.NewBuffer("B", t, n), tir.NewBuffer("C", t, n)
	r := &tir.Ramp{Base: tir.Mul(i, tir.I64(8)), Stride: tir.I64(1), Lanes: 8}
	return tensors(name, loop(tir.Serial, i, tir.FloorDiv(n, tir.I64(8)), store(c, op(at(a, r), at(b, r)), r)), a, b, c)
}

// TestRun_VectorExtremes expects min and max of vectors to equal those of scalars: the second operand, if one is NaN or
// both are zeros.
func TestRun_VectorExtremes(t *testing.T) {
	m := loaded(t, c.Emitter{}, module(t, vectorPair("min32", tir.Min, tir.Float32),
		vectorPair("max32", tir.Max, tir.Float32),
		vectorPair("min64", tir.Min, tir.Float64), vectorPair("max64", tir.Max, tir.Float64)))
	nan, inf, minus := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	a := []float64{1, 2, nan, 3, 0, minus, inf, -inf}
	b := []float64{2, 1, 3, nan, minus, 0, 1, nan}
	for name, first := range map[string]func(a, b float64) bool{"min": func(a, b float64) bool { return a < b },
		"max": func(a, b float64) bool { return a > b }} {
		var want []uint64
		for i := range a {
			x := b[i]
			if first(a[i], b[i]) {
				x = a[i]
			}
			want = append(want, math.Float64bits(x))
		}
		out := modules.Tensor(t, make([]float64, 8), 8)
		must.Get(modules.Call(t, m, name+"64", modules.Tensor(t, a, 8), modules.Tensor(t, b, 8), out))(t)
		var got []uint64
		for _, x := range modules.Slice[float64](t, out) {
			got = append(got, math.Float64bits(x))
		}
		require.Equal(t, want, got, name)

		small := func(v []float64) []float32 {
			s := make([]float32, len(v))
			for i := range v {
				s[i] = float32(v[i])
			}
			return s
		}
		out = modules.Tensor(t, make([]float32, 8), 8)
		must.Get(modules.Call(t, m, name+"32", modules.Tensor(t, small(a), 8), modules.Tensor(t, small(b), 8), out))(t)
		for i, x := range modules.Slice[float32](t, out) {
			w := float32(math.Float64frombits(want[i]))
			require.Equal(t, math.Signbit(float64(w)), math.Signbit(float64(x)), "%s: %d", name, i)
			require.Equal(t, w != w, x != x, "%s: %d", name, i)
			require.True(t, w != w || w == x, "%s: %d: %v", name, i, x)
		}
	}
}

// TestEmit_VectorExtremes expects the processor's instruction for vectors of floats, and plain C for those of integers.
func TestEmit_VectorExtremes(t *testing.T) {
	for typ, own := range map[tir.Type]bool{tir.Float32: true, tir.Float64: true, tir.Int32: false} {
		for name, op := range map[string]func(a, b tir.Expr) tir.Expr{"min": tir.Min, "max": tir.Max} {
			code := emit(t, c.Emitter{}, module(t, vectorPair("f", op, typ)))
			require.Equal(t, own, strings.Contains(code, "tvmgo_"+name+"_"), "%s of %s:\n%s", name, typ, code)
		}
	}
}

// TestEmit_LocalMemory keeps memory of scope local on the stack, with a larger limit than that of other memory.
func TestEmit_LocalMemory(t *testing.T) {
	for scope, workspace := range map[string]bool{"global": true, "local": false} {
		acc := tir.NewBuffer("acc", tir.Float32, tir.I32(c.LocalLimit/4))
		acc.Scope = scope
		out, i := tir.NewBuffer("out", tir.Float32, tir.I32(4)), tir.NewVar("i", tir.Int32)
		body := &tir.Alloc{Buffer: acc,
			Body: loop(tir.Serial, i, tir.I32(4), tir.Sequence(store(acc, tir.F32(1), i), store(out, at(acc, i), i)))}
		code := emit(t, c.Emitter{}, module(t, tensors("f", body, out)))
		require.Equal(t, workspace, strings.Contains(code, "TVMBackendAllocWorkspace"), "%s:\n%s", scope, code)
	}
}

// TestEmit_PlainDivision expects C's division for operands that cannot be negative.
func TestEmit_PlainDivision(t *testing.T) {
	out, i, n := tir.NewBuffer("out", tir.Int32, tir.I32(24)), tir.NewVar("i", tir.Int32), tir.NewVar("n", tir.Int32)
	f := tensors("f", loop(tir.Serial, i, tir.I32(24),
		store(out, tir.Add(tir.FloorDiv(i, tir.I32(5)), tir.FloorMod(tir.Add(i, tir.I32(3)), tir.I32(7))), i)), out)
	code := emit(t, c.Emitter{}, module(t, f))
	require.NotContains(t, code, "tvmgo_floor")
	require.Contains(t, code, "i / 5 + (i + 3) % 7")
	for _, e := range []tir.Expr{tir.Sub(i, tir.I32(3)), n} { // these may be negative
		f := tensors("f", loop(tir.Serial, i, tir.I32(24), store(out, tir.FloorDiv(e, tir.I32(5)), i)), out)
		f.Params = append(f.Params, n)
		require.Contains(t, emit(t, c.Emitter{}, module(t, f)), "tvmgo_floordiv_int32")
	}
}
