//go:build cgo

package c_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// nearest16 rounds a number to a number of binary digits, ties to even, and no finer than least.
func nearest16(v float64, digits, least int, greatest float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	_, e := math.Frexp(v)
	unit := math.Ldexp(1, max(e-digits, least))
	if v = math.RoundToEven(v/unit) * unit; math.Abs(v) > greatest {
		return math.Inf(int(math.Copysign(1, v)))
	}
	return v
}

// value16 returns the value of 16 bits, of which digits bits are the mantissa.
func value16(bits uint16, digits, bias int) float64 {
	sign, e, m := 1.0, int(bits>>digits)&(1<<(15-digits)-1), float64(bits&(1<<digits-1))
	if bits>>15 != 0 {
		sign = -1
	}
	switch {
	case e == 1<<(15-digits)-1 && m == 0:
		return math.Inf(int(sign))
	case e == 1<<(15-digits)-1:
		return math.NaN()
	case e == 0:
		return sign * math.Ldexp(m, 1-bias-digits)
	}
	return sign * math.Ldexp(m+math.Ldexp(1, digits), e-bias-digits)
}

// Conversions to 16-bit floats by the processor's instructions, if the code is compiled for them, give the same result
// as those by arithmetic.
func TestRun_Halves(t *testing.T) {
	var funcs []*tir.PrimFunc
	var names []string
	for _, half := range []tir.Type{tir.Float16, tir.BFloat16} {
		for _, lanes := range []int{1, 4, 8, 16} {
			cast := func(suffix string, from, to tir.Type) {
				names = append(names, fmt.Sprintf("%s%s_%d", half, suffix, lanes))
				funcs = append(funcs, inVectors(names[len(names)-1], from, to, lanes,
					func(x tir.Expr) tir.Expr { return tir.NewCast(tir.Vector(to, lanes), x) }))
			}
			cast("", tir.Float32, half)
			cast("_back", half, tir.Float32)
		}
	}
	program := module(t, funcs...)
	for _, flags := range [][]string{{"-O2"}, {"-O3", "-march=native"}, {"-O1", "-ffp-contract=off"}} {
		source := must.Get(runtime.NewCSource(emit(t, c.Emitter{}, program), "c",
			names, nil))(t)
		defer source.Close()
		path := filepath.Join(t.TempDir(), "halves.so")
		require.NoError(t, export.Library(context.Background(), source, path, export.Flags(flags...)))
		m := must.Get(runtime.Load(context.Background(), path))(t)
		defer m.Close()
		for _, row := range []struct {
			name                string
			dtype               dlpack.DataType
			digits, bias, least int
			greatest            float64
		}{{"float16", dlpack.Float16, 10, 15, -24, 65504},
			{"bfloat16", dlpack.BFloat16, 7, 127, -133, math.Ldexp(255, 120)}} {
			r := testseed.Rand(t)
			var all []float32
			for bits := range 1 << 15 { // each value, and those around the middle between it and the next
				x := value16(uint16(bits), row.digits, row.bias)
				middle := math.Float32bits(float32((x + value16(uint16(bits+1), row.digits, row.bias)) / 2))
				for _, b := range []uint32{math.Float32bits(float32(x)), middle - 1, middle, middle + 1, r.Uint32()} {
					all = append(all, math.Float32frombits(b), -math.Float32frombits(b))
				}
			}
			for _, lanes := range []int{1, 4, 8, 16} {
				narrow := modules.Empty(t, row.dtype, int64(len(all)))
				back := modules.Empty(t, dlpack.Float32, int64(len(all)))
				must.Get(modules.Call(t, m, fmt.Sprintf("%s_%d", row.name, lanes), modules.Tensor(t, all), narrow))(t)
				must.Get(modules.Call(t, m, fmt.Sprintf("%s_back_%d", row.name, lanes), narrow, back))(t)
				view := must.Get(narrow.View(dlpack.UInt16, []int64{int64(len(all))}, nil, 0))(t)
				bits, values := modules.Slice[uint16](t, view), modules.Slice[float32](t, back)
				for i, x := range all {
					want := nearest16(float64(x), row.digits+1, row.least, row.greatest)
					for _, got := range []float64{value16(bits[i], row.digits, row.bias), float64(values[i])} {
						if got != want && (got == got || want == want) || math.Signbit(got) != math.Signbit(want) && want == want {
							t.Fatalf("%v %s, %d lanes, of %g (%#x) is %g (%#x), want %g", flags, row.name, lanes, x,
								math.Float32bits(x), got, bits[i], want)
						}
					}
				}
				require.NoError(t, view.Close())
			}
		}
	}
}

// inVectors is elementwise for a multiple of some lanes, which are computed as a vector.
func inVectors(name string, from, to tir.Type, lanes int, f func(x tir.Expr) tir.Expr) *tir.PrimFunc {
	if lanes == 1 {
		return elementwise(name, from, to, f)
	}
	n, i := i64("n"), i64("i")
	a, b := tir.NewBuffer("A", from, n), tir.NewBuffer("B", to, n)
	each := &tir.Ramp{Base: tir.Mul(i, tir.I64(int64(lanes))), Stride: tir.I64(1), Lanes: lanes}
	return tensors(name, loop(tir.Serial, i, tir.FloorDiv(n, tir.I64(int64(lanes))), store(b, f(at(a, each)), each)), a, b)
}

// An integer close to the middle between two 16-bit floats becomes the nearer one: it is rounded once, without an
// intermediate float.
func TestRun_HalvesOfIntegers(t *testing.T) {
	types := []tir.Type{tir.Int32, tir.UInt32, tir.Int64, tir.UInt64}
	var funcs []*tir.PrimFunc
	for _, from := range types {
		for _, to := range []tir.Type{tir.Float16, tir.BFloat16} {
			funcs = append(funcs, elementwise(fmt.Sprintf("%s_%s", from, to), from, to,
				func(x tir.Expr) tir.Expr { return tir.NewCast(to, x) }))
		}
	}
	program := module(t, funcs...)
	reference := must.Get(tirrun.Compile(program, tirrun.Options{}))(t)
	m := loaded(t, c.Emitter{}, program)
	for _, from := range types {
		var all []int64
		for high := range int(from.Bits) {
			for low := range high {
				for d := int64(-1); d <= 1; d++ {
					x := int64(1)<<high + int64(1)<<low + d
					all = append(all, x, -x)
				}
			}
		}
		in := must.Get(tirrun.From(from, all, int64(len(all))))(t)
		for _, to := range []tir.Type{tir.Float16, tir.BFloat16} {
			want := must.Get(tirrun.New(to, int64(len(all))))(t)
			name := fmt.Sprintf("%s_%s", from, to)
			must.Get(reference.Call(name, in, want))(t)
			got := modules.Empty(t, to, int64(len(all)))
			must.Get(modules.Call(t, m, name, like(t, in), got))(t)
			same(t, want, got, name)
		}
	}
}
