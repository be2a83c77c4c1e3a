//go:build cgo

package c_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

var divisions = []tir.BinaryOp{tir.OpDiv, tir.OpFloorDiv, tir.OpMod, tir.OpFloorMod}

// byConstant divides each element of A by a constant.
func byConstant(name string, op tir.BinaryOp, e tir.Type, by int64) *tir.PrimFunc {
	return elementwise(name, e, e, func(x tir.Expr) tir.Expr { return &tir.Binary{Op: op, A: x, B: tir.IntConst(e, by)} })
}

// byRange divides the only element of A by the values of a loop's variable, starting at low.
func byRange(name string, op tir.BinaryOp, e tir.Type, low, count int64) *tir.PrimFunc {
	j := tir.NewVar("j", e)
	a, b := tir.NewBuffer("A", e, tir.I64(1)), tir.NewBuffer("B", e, tir.I64(count))
	value := &tir.Binary{Op: op, A: at(a, tir.I64(0)), B: j}
	return tensors(name, &tir.For{Var: j, Min: tir.IntConst(e, low), Extent: tir.IntConst(e, count),
		Body: store(b, value, tir.Sub(j, tir.IntConst(e, low)))}, a, b)
}

// TestOverflow_Division divides the least number of a type by -1 and by 0: by a constant divisor, and by one of which
// only the range is known.
func TestOverflow_Division(t *testing.T) {
	var funcs []*tir.PrimFunc
	for _, e := range []tir.Type{tir.Int32, tir.Int64} {
		for _, op := range divisions {
			funcs = append(funcs, byConstant(fmt.Sprintf("constant_%s_%d", e, op), op, e, -1),
				byConstant(fmt.Sprintf("below_%s_%d", e, op), op, e, -2), byRange(fmt.Sprintf("negative_%s_%d", e, op),
					op, e, -3, 3), byRange(fmt.Sprintf("zero_%s_%d", e, op), op, e, 0, 3))
		}
	}
	for _, l := range undefinedFree(t, module(t, funcs...)) {
		for _, op := range divisions {
			quotient := op == tir.OpDiv || op == tir.OpFloorDiv
			check := func(kind string, least int64, quotients, remainders []int64) {
				want := remainders
				if quotient {
					want = quotients
				}
				if kind == "constant" || kind == "below" {
					want = want[:1]
				}
				name := func(e tir.Type) string { return fmt.Sprintf("%s_%s_%d", kind, e, op) }
				if least == math.MinInt32 {
					out := modules.Empty(t, dlpack.Int32, int64(len(want)))
					must.Get(modules.Call(t, l, name(tir.Int32), modules.Tensor(t, []int32{int32(least)}), out))(t)
					for i, got := range modules.Slice[int32](t, out) {
						require.EqualValues(t, want[i], got, "%s, %d", name(tir.Int32), i)
					}
					return
				}
				out := modules.Empty(t, dlpack.Int64, int64(len(want)))
				must.Get(modules.Call(t, l, name(tir.Int64), modules.Tensor(t, []int64{least}), out))(t)
				require.Equal(t, want, modules.Slice[int64](t, out), name(tir.Int64))
			}
			for _, least := range []int64{math.MinInt32, math.MinInt64} {
				// by -3, towards 0: the exact quotient is positive, and so rounding down gives the same
				third, rest := -(least / 3), least%3
				check("constant", least, []int64{least}, []int64{0})
				check("below", least, []int64{-(least / 2)}, []int64{0})
				check("negative", least, []int64{third, -(least / 2), least}, []int64{rest, 0, 0})
				check("zero", least, []int64{0, least, least / 2}, []int64{least, 0, 0})
			}
		}
	}
}

// TestOverflow_SmallProducts multiplies numbers that C multiplies as int, which overflows for products of unsigned
// 16-bit numbers.
func TestOverflow_SmallProducts(t *testing.T) {
	square := elementwise("square", tir.UInt16, tir.UInt16, func(x tir.Expr) tir.Expr { return tir.Mul(x, x) })
	shifted := elementwise("by_constant", tir.UInt16, tir.UInt16,
		func(x tir.Expr) tir.Expr { return tir.Mul(x, tir.IntConst(tir.UInt16, 65535)) })
	m := module(t, square, shifted)
	// gcc's sanitizer does not see this one: its front end narrows a product that is converted to 16 bits.
	require.Equal(t, 2, strings.Count(emit(t, c.Emitter{}, m), "= (uint16_t)((uint32_t)"))
	for _, l := range undefinedFree(t, m) {
		x := []uint16{65535, 46341, 50000, 32768, 3}
		for name, by := range map[string]func(x uint16) uint16{"square": func(x uint16) uint16 { return x * x },
			"by_constant": func(x uint16) uint16 { return x * 65535 }} {
			out := modules.Empty(t, dlpack.UInt16, int64(len(x)))
			must.Get(modules.Call(t, l, name, modules.Tensor(t, x), out))(t)
			for i, got := range modules.Slice[uint16](t, out) {
				require.Equal(t, by(x[i]), got, "%s of %d", name, x[i])
			}
		}
	}
}

// TestOverflow_NarrowFloats converts integers whose float32 is halfway between two bfloat16, although the integers are
// not. There are no such integers for float16: those in its range are exact in float32.
func TestOverflow_NarrowFloats(t *testing.T) {
	cast := func(to tir.Type) func(x tir.Expr) tir.Expr {
		return func(x tir.Expr) tir.Expr { return tir.NewCast(tir.Float64, tir.NewCast(to, x)) }
	}
	m := module(t, elementwise("bfloat16_32", tir.Int32, tir.Float64, cast(tir.BFloat16)),
		elementwise("bfloat16_64", tir.Int64, tir.Float64, cast(tir.BFloat16)),
		elementwise("float16_32", tir.Int32, tir.Float64, cast(tir.Float16)))
	for _, l := range undefinedFree(t, m) {
		x := []int32{16842753, -16842753, 16973823, 17104897, 17235967, 1<<24 + 1<<16, math.MaxInt32}
		want := []float64{16908288, -16908288, 16908288, 17170432, 17170432, 16777216, 1 << 31}
		wide := make([]int64, len(x))
		for i, v := range x {
			wide[i] = int64(v)
		}
		for name, in := range map[string]any{"bfloat16_32": modules.Tensor(t, x), "bfloat16_64": modules.Tensor(t, wide)} {
			out := modules.Empty(t, dlpack.Float64, int64(len(x)))
			must.Get(modules.Call(t, l, name, in, out))(t)
			require.Equal(t, want, modules.Slice[float64](t, out), name)
		}
		halves := []int32{2049, 2051, 65519, 65520, -65519, 65504}
		out := modules.Empty(t, dlpack.Float64, int64(len(halves)))
		must.Get(modules.Call(t, l, "float16_32", modules.Tensor(t, halves), out))(t)
		require.Equal(t, []float64{2048, 2052, 65504, math.Inf(1), -65504, 65504}, modules.Slice[float64](t, out))
	}
}
