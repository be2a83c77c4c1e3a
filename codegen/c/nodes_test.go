//go:build cgo

package c_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// elementwise computes B[i] = f(A[i]).
func elementwise(name string, from, to tir.Type, f func(x tir.Expr) tir.Expr) *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b := tir.NewBuffer("A", from, n), tir.NewBuffer("B", to, n)
	return tensors(name, loop(tir.Serial, i, n, store(b, f(at(a, i)), i)), a, b)
}

func TestRun_Intrinsics(t *testing.T) {
	want := map[string]func(float64) float64{"exp": math.Exp, "exp2": math.Exp2,
		"exp10": func(x float64) float64 { return math.Pow(10, x) },
		"log":   math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p, "sqrt": math.Sqrt,
		"rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
		"asin": math.Asin, "acos": math.Acos,
		"atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh,
		"acosh": func(x float64) float64 { return math.Acosh(x) }, "atanh": math.Atanh, "erf": math.Erf, "floor": math.Floor,
		"ceil": math.Ceil, "trunc": math.Trunc,
		"round": math.Round, "nearbyint": math.RoundToEven,
		"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, "fabs": math.Abs}
	var funcs []*tir.PrimFunc
	for name := range want {
		f := func(x tir.Expr) tir.Expr { return tir.Intrin(name, x) }
		funcs = append(funcs, elementwise(name+"_32", tir.Float32, tir.Float32, f),
			elementwise(name+"_64", tir.Float64, tir.Float64, f))
	}
	two := map[string]func(x, y float64) float64{"pow": math.Pow, "fmod": math.Mod, "atan2": math.Atan2,
		"hypot": math.Hypot, "copysign": math.Copysign}
	for name := range two {
		funcs = append(funcs, elementwise(name+"_64", tir.Float64, tir.Float64,
			func(x tir.Expr) tir.Expr { return tir.Intrin(name, x, tir.F64(-0.3)) }))
	}
	funcs = append(funcs, elementwise("fma_64", tir.Float64, tir.Float64,
		func(x tir.Expr) tir.Expr { return tir.Intrin("fma", x, x, tir.F64(2)) }))
	m := loaded(t, c.Emitter{}, module(t, funcs...))
	x := []float64{0, 0.25, 0.5, 0.75, 1, 1.5, 2.5, -0.5, -1.5, -2.5, math.Inf(1), math.NaN()}
	check := func(name string, f func(float64) float64) {
		b := modules.Empty(t, dlpack.Float64, int64(len(x)))
		must.Get(modules.Call(t, m, name+"_64", modules.Tensor(t, x), b))(t)
		for i, got := range modules.Slice[float64](t, b) {
			near(t, f(x[i]), got, 1e-12, "%s(%v)", name, x[i])
		}
	}
	for name, f := range want {
		check(name, f)
		y := make([]float32, len(x))
		for i := range x {
			y[i] = float32(x[i])
		}
		b := modules.Empty(t, dlpack.Float32, int64(len(x)))
		must.Get(modules.Call(t, m, name+"_32", modules.Tensor(t, y), b))(t)
		for i, got := range modules.Slice[float32](t, b) {
			near(t, f(x[i]), float64(got), 1e-5, "%s(%v)", name, x[i])
		}
	}
	for name, f := range two {
		check(name, func(x float64) float64 { return f(x, -0.3) })
	}
	check("fma", func(x float64) float64 { return math.FMA(x, x, 2) })
}

func near(t *testing.T, want, got, slack float64, what string, args ...any) {
	t.Helper()
	if math.IsNaN(want) && math.IsNaN(got) || want == got {
		return
	}
	require.InDelta(t, want, got, slack*max(1, math.Abs(want)), append([]any{what}, args...)...)
}

func TestRun_OtherNodes(t *testing.T) {
	i, j, n := i64("i"), i64("j"), i64("n")
	zero, one := tir.I64(0), tir.I64(1)

	// the greatest power of two up to each number, by a loop with an unknown end
	a, b := tir.NewBuffer("A", tir.Int64, n), tir.NewBuffer("B", tir.Int64, n)
	s := tir.NewBuffer("s", tir.Int64, one)
	while := tensors("power", loop(tir.Serial, i, n, &tir.Alloc{Buffer: s, Body: tir.Sequence(store(s, one, zero),
		&tir.While{Cond: tir.LE(tir.Mul(at(s, zero), tir.I64(2)), at(a, i)),
			Body: store(s, tir.Mul(at(s, zero), tir.I64(2)), zero)},
		store(b, at(s, zero), i))}), a, b)

	// a matrix with variable strides and a variable offset
	w, h, step, off := i64("w"), i64("h"), i64("step"), i64("off")
	p := &tir.Buffer{Name: "P", Data: tir.NewVar("P", tir.Handle), DType: tir.Float32, Shape: []tir.Expr{h, w},
		Strides: []tir.Expr{step, one}, Offset: off}
	q := tir.NewBuffer("Q", tir.Float32, w, h)
	transpose := tensors("transpose", loop(tir.Serial, i, h, loop(tir.Serial, j, w, store(q, at(p, i, j), j, i))), p, q)

	// a shuffle, and names that are invalid in C
	c1, d1 := tir.NewBuffer("int", tir.Float32, tir.I64(8)), tir.NewBuffer("while", tir.Float32, tir.I64(4))
	r := &tir.Ramp{Base: tir.I64(0), Stride: one, Lanes: 8}
	odd := tensors("odd", store(d1, &tir.Shuffle{Vectors: []tir.Expr{at(c1, r)}, Indices: []int{1, 3, 5, 7}},
		&tir.Ramp{Base: zero, Stride: one, Lanes: 4}), c1, d1)

	// a parallel loop within another, C functions, and addresses
	e, f := tir.NewBuffer("E", tir.Float64, n, n), tir.NewBuffer("F", tir.Float64, n, n)
	nested := tensors("nested", tir.Sequence(
		loop(tir.Parallel, i, n, loop(tir.Parallel, j, n,
			store(f, tir.NewCall(tir.CallExtern, tir.Float64, "ldexp", at(e, i, j), tir.I32(1)), i, j))),
		&tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Handle, "memcpy",
			tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", at(f, zero, zero)), e.Data,
			tir.NewCast(tir.UInt64, tir.I64(8)))}), e, f)

	// the bits of a float, seen through another type of the same memory
	g := tir.NewBuffer("G", tir.Float32, n)
	bits := &tir.Buffer{Name: "bits", Data: g.Data, DType: tir.UInt32, Shape: g.Shape}
	k := tir.NewBuffer("K", tir.UInt32, n)
	seen := tensors("seen", loop(tir.Serial, i, n,
		tir.Sequence(store(bits, tir.Intrin("bitwise_xor", at(bits, i), tir.IntConst(tir.UInt32, 1<<31)), i),
			store(k, tir.NewCall(tir.CallIntrinsic, tir.UInt32, "reinterpret", at(g, i)), i))), g, k)
	// an unrolled loop that does not start at 0
	u := tir.NewBuffer("U", tir.Int32, tir.I64(10))
	unrolled := tensors("unrolled", &tir.For{Kind: tir.Unrolled, Var: i, Min: tir.I64(3), Extent: tir.I64(4),
		Body: store(u, tir.NewCast(tir.Int32, i), i)}, u)

	both := module(t, while, transpose, odd, nested, seen, unrolled)
	compile(t, "nodes", emit(t, c.Emitter{}, both), "-O0", "-O2")
	m := loaded(t, c.Emitter{}, both)

	out := modules.Empty(t, dlpack.Int64, 4)
	must.Get(modules.Call(t, m, "power", modules.Tensor(t, []int64{1, 5, 8, 1000}), out))(t)
	require.Equal(t, []int64{1, 4, 8, 512}, modules.Slice[int64](t, out))

	whole := modules.Tensor(t, numbers[float32](24, func(i int) float64 { return float64(i) }), 4, 6)
	part := must.Open(whole.View(dlpack.Float32, []int64{2, 3}, []int64{6, 1}, 7*4))(t)
	res := modules.Empty(t, dlpack.Float32, 3, 2)
	must.Get(modules.Call(t, m, "transpose", part, res))(t)
	require.Equal(t, []float32{7, 13, 8, 14, 9, 15}, modules.Slice[float32](t, res))
	bad := must.Open(whole.View(dlpack.Float32, []int64{2, 3}, []int64{6, 2}, 0))(t)
	_, err := modules.Call(t, m, "transpose", bad, res)
	require.ErrorContains(t, err, "transpose: argument 0 (P): strides[1] is 2, expected 1")

	four := modules.Empty(t, dlpack.Float32, 4)
	must.Get(modules.Call(t, m, "odd", modules.Tensor(t, []float32{0, 1, 2, 3, 4, 5, 6, 7}), four))(t)
	require.Equal(t, []float32{1, 3, 5, 7}, modules.Slice[float32](t, four))

	square := modules.Empty(t, dlpack.Float64, 2, 2)
	must.Get(modules.Call(t, m, "nested", modules.Tensor(t, []float64{1, 2, 3, 4}, 2, 2), square))(t)
	require.Equal(t, []float64{1, 4, 6, 8}, modules.Slice[float64](t, square))

	x, y := modules.Tensor(t, []float32{1, -2}), modules.Empty(t, dlpack.UInt32, 2)
	must.Get(modules.Call(t, m, "seen", x, y))(t)
	require.Equal(t, []float32{-1, 2}, modules.Slice[float32](t, x))
	require.Equal(t, []uint32{math.Float32bits(-1), math.Float32bits(2)}, modules.Slice[uint32](t, y))

	z := modules.Tensor(t, make([]int32, 10))
	must.Get(modules.Call(t, m, "unrolled", z))(t)
	require.Equal(t, []int32{0, 0, 0, 3, 4, 5, 6, 0, 0, 0}, modules.Slice[int32](t, z))
}

// Floor division rounds towards minus infinity, and its remainder has the sign of the divisor; C's division rounds
// towards zero.
func TestRun_Divisions(t *testing.T) {
	ops := []tir.BinaryOp{tir.OpFloorDiv, tir.OpFloorMod, tir.OpDiv, tir.OpMod}
	names := []string{"floordiv", "floormod", "div", "mod"}
	types := []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.Float16, tir.Float32, tir.Float64}
	n := tir.I64(6)
	r := &tir.Ramp{Base: tir.I64(0), Stride: tir.I64(1), Lanes: 6}
	var funcs []*tir.PrimFunc
	for k, op := range ops {
		for _, e := range types {
			a, b := tir.NewBuffer("A", tir.Float64, n), tir.NewBuffer("B", tir.Float64, n)
			out, i := tir.NewBuffer("C", tir.Float64, n), i64("i")
			quotient := func(at tir.Expr) tir.Expr {
				return tir.NewCast(tir.Float64,
					tir.NewBinary(op, tir.NewCast(e, tir.BufferAt(a, at)), tir.NewCast(e, tir.BufferAt(b, at))))
			}
			funcs = append(funcs, tensors(names[k]+"_"+e.String(), loop(tir.Serial, i, n, store(out, quotient(i), i)), a, b,
				out),
				tensors(names[k]+"_lanes_"+e.String(), store(out, quotient(r), r), a, b, out))
		}
	}
	m := loaded(t, c.Emitter{}, module(t, funcs...))
	a, b := modules.Tensor(t, []float64{7, -7, 7, -7, 6, -6}), modules.Tensor(t, []float64{2, 2, -2, -2, -3, 3})
	want := map[string][]float64{"floordiv": {3, -4, -4, 3, -2, -2}, "floormod": {1, 1, -1, -1, 0, 0},
		"div": {3, -3, -3, 3, -2, -2}, "mod": {1, -1, 1, -1, 0, 0}}
	for k, op := range ops {
		for _, e := range types {
			w := want[names[k]]
			if tir.IsFloat(e) && op == tir.OpDiv {
				w = []float64{3.5, -3.5, -3.5, 3.5, -2, -2}
			}
			for _, name := range []string{names[k] + "_" + e.String(), names[k] + "_lanes_" + e.String()} {
				out := modules.Empty(t, dlpack.Float64, 6)
				must.Get(modules.Call(t, m, name, a, b, out))(t)
				got := modules.Slice[float64](t, out)
				for i := range w {
					require.True(t, w[i] == got[i], "%s: %v, want %v", name, got, w)
				}
			}
		}
	}
}

// 32-bit indices into memory of unknown size are computed in 64 bits.
func TestEmit_WideIndices(t *testing.T) {
	n, m, i, j := i64("n"), i64("m"), tir.NewVar("i", tir.Int32), tir.NewVar("j", tir.Int32)
	a := tir.NewBuffer("A", tir.Float32, n, m)
	small := tir.NewBuffer("B", tir.Float32, tir.I32(100), tir.I32(100))
	code := emit(t, c.Emitter{}, module(t,
		tensors("f", loop(tir.Serial, i, tir.I32(9), loop(tir.Serial, j, tir.I32(9), store(a, at(small, i, j), i, j))), a,
			small)))
	require.Contains(t, code, "A[(int64_t)i * m + (int64_t)j] = B[i * 100 + j];")
}

// Bools in memory may be any byte.
func TestRun_BoolsOfAnyByte(t *testing.T) {
	r := &tir.Ramp{Base: tir.I64(0), Stride: tir.I64(1), Lanes: 4}
	a, b := tir.NewBuffer("A", tir.Bool, tir.I64(4)), tir.NewBuffer("B", tir.Int32, tir.I64(4))
	vectors := tensors("vectors", store(b, tir.NewCast(tir.Int32, at(a, r)), r), a, b)
	one := elementwise("one", tir.Bool, tir.Int32, func(x tir.Expr) tir.Expr { return tir.NewCast(tir.Int32, x) })
	m := loaded(t, c.Emitter{}, module(t, one, vectors))
	x := must.Open(modules.Tensor(t, []uint8{0, 1, 2, 255}).View(dlpack.Bool, []int64{4}, nil, 0))(t)
	for _, name := range []string{"one", "vectors"} {
		out := modules.Empty(t, dlpack.Int32, 4)
		must.Get(modules.Call(t, m, name, x, out))(t)
		require.Equal(t, []int32{0, 1, 1, 1}, modules.Slice[int32](t, out), name)
	}
}

// Every value of a type is converted to 16 bits and back correctly.
func TestRun_NarrowFloats(t *testing.T) {
	half := elementwise("half", tir.Float64, tir.Float16, func(x tir.Expr) tir.Expr { return tir.NewCast(tir.Float16, x) })
	brain := elementwise("brain", tir.Float64, tir.BFloat16,
		func(x tir.Expr) tir.Expr { return tir.NewCast(tir.BFloat16, x) })
	back := elementwise("back", tir.Float16, tir.Float64, func(x tir.Expr) tir.Expr { return tir.NewCast(tir.Float64, x) })
	m := loaded(t, c.Emitter{}, module(t, half, brain, back))
	x := []float64{0, math.Copysign(0, -1), 1, 1 + 1.0/2048, 1 + 3.0/2048, 65504, 65519.99, 65520, -1e9, 6e-8, 2.9e-8,
		2.98023223876953125e-8, 3e-8, 1e-300,
		5e-324, math.Inf(-1), math.NaN(), 3.3895313892515355e38, 3.3961775292304957e38, 3.4e38, 9.2e-41, 4e-41,
		math.MaxFloat64}
	bits := func(name string, to dlpack.DataType) []uint16 {
		b := modules.Empty(t, to, int64(len(x)))
		must.Get(modules.Call(t, m, name, modules.Tensor(t, x), b))(t)
		v := must.Get(b.View(dlpack.UInt16, []int64{int64(len(x))}, nil, 0))(t)
		defer v.Close()
		return modules.Slice[uint16](t, v)
	}
	require.Equal(t, []uint16{0, 0x8000, 0x3c00, 0x3c00, 0x3c02, 0x7bff, 0x7bff, 0x7c00, 0xfc00, 1, 0, 0, 1, 0, 0, 0xfc00,
		0x7e00, 0x7c00, 0x7c00, 0x7c00, 0, 0, 0x7c00},
		bits("half", dlpack.Float16))
	require.Equal(t, []uint16{0x7f7f, 0x7f80, 0x7f80, 1, 0, 0x7f80}, bits("brain", dlpack.BFloat16)[17:])

	every := make([]uint16, 1<<16)
	for i := range every {
		every[i] = uint16(i)
	}
	u := modules.Tensor(t, every)
	v := must.Open(u.View(dlpack.Float16, []int64{1 << 16}, nil, 0))(t)
	out := modules.Empty(t, dlpack.Float64, 1<<16)
	must.Get(modules.Call(t, m, "back", v, out))(t)
	for i, got := range modules.Slice[float64](t, out) {
		e, f := i>>10&31, float64(i&1023)
		want := math.Ldexp(1024+f, e-25)
		switch {
		case e == 31 && f != 0:
			want = math.NaN()
		case e == 31:
			want = math.Inf(1)
		case e == 0:
			want = math.Ldexp(f, -24)
		}
		near(t, math.Copysign(want, float64(1-i>>15*2)), got, 0, "%#x", i)
	}
}
