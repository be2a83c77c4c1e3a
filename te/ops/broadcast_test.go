//go:build cgo

package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// stretched returns the element of an array for indices of the shape that it was broadcast to.
func (a *nd) stretched(i []int) float64 {
	at := make([]int, len(a.shape))
	for d := range at {
		if at[d] = i[len(i)-len(at)+d]; a.shape[d] == 1 {
			at[d] = 0
		}
	}
	return a.at(at...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var _ = valueCases("broadcast", broadcastCases)

func broadcastCases() []opCase {
	type binary struct {
		name   string
		make   func(x, y *te.Tensor, name string) *te.Tensor
		f      func(a, b float64) float64
		types  []tir.Type
		result tir.Type // of comparisons
		tol    bool
	}
	nan := math.NaN()
	whole := func(f, g func(a, b float64) float64) func(tir.Type) func(a, b float64) float64 {
		return func(t tir.Type) func(a, b float64) float64 {
			if tir.IsFloat(t) {
				return f
			}
			return func(a, b float64) float64 {
				if b == 0 {
					return 0
				}
				return g(a, b)
			}
		}
	}
	floorMod := func(a, b float64) float64 {
		m := math.Mod(a, b)
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	}
	floor := func(a, b float64) float64 { return math.Floor(a / b) }
	typed := map[string]func(tir.Type) func(a, b float64) float64{
		"divide": whole(func(a, b float64) float64 { return a / b }, func(a, b float64) float64 {
			return math.Trunc(a / b)
		}),
		"floordivide": whole(floor, floor),
		"floormod":    whole(floorMod, floorMod),
		"truncmod":    whole(math.Mod, math.Mod),
	}
	most := func(f func(a, b float64) float64) func(a, b float64) float64 {
		return func(a, b float64) float64 {
			if a != a || b != b {
				return nan
			}
			return f(a, b)
		}
	}
	shapes := [][3][]int{{{3, 5}, {3, 5}, {3, 5}}, {{3, 1}, {5}, {3, 5}}, {{}, {2, 3}, {2, 3}}, {{1}, {0}, {0}},
		{{4, 1, 3}, {2, 1}, {4, 2, 3}},
		{{7}, {1, 1}, {1, 7}}, {{5, 37}, {37}, {5, 37}}, {{2, 0}, {1, 1}, {2, 0}}, {{2, 0, 0, 5}, {5}, {2, 0, 0, 5}}, {{1},
			{1}, {1}}, {{}, {}, {}}}
	var cases []opCase
	n := 0
	for _, b := range []binary{
		{"add", Add, func(a, b float64) float64 { return a + b }, allNumbers, tir.Void, false},
		{"subtract", Subtract, func(a, b float64) float64 { return a - b }, allNumbers, tir.Void, false},
		{"multiply", Multiply, func(a, b float64) float64 { return a * b }, allNumbers, tir.Void, false},
		{"divide", Divide, nil, allNumbers, tir.Void, false},
		{"floordivide", FloorDivide, nil, allNumbers, tir.Void, false},
		{"floormod", FloorMod, nil, allNumbers, tir.Void, false},
		{"truncmod", TruncMod, nil, allNumbers, tir.Void, false},
		{"minimum", Minimum, most(math.Min), allNumbers, tir.Void, false},
		{"maximum", Maximum, most(math.Max), allNumbers, tir.Void, false},
		{"power", Power, math.Pow, floatTypes, tir.Void, true},
		{"equal", Equal, func(a, b float64) float64 { return truth(a == b) }, append([]tir.Type{tir.Bool}, allNumbers...),
			tir.Bool, false},
		{"notequal", NotEqual, func(a, b float64) float64 { return truth(a != b) },
			append([]tir.Type{tir.Bool}, allNumbers...), tir.Bool, false},
		{"less", Less, func(a, b float64) float64 { return truth(a < b) }, allNumbers, tir.Bool, false},
		{"lessequal", LessEqual, func(a, b float64) float64 { return truth(a <= b) }, allNumbers, tir.Bool, false},
		{"greater", Greater, func(a, b float64) float64 { return truth(a > b) }, allNumbers, tir.Bool, false},
		{"greaterequal", GreaterEqual, func(a, b float64) float64 { return truth(a >= b) }, allNumbers, tir.Bool, false},
		{"and", LogicalAnd, func(a, b float64) float64 { return truth(a != 0 && b != 0) }, []tir.Type{tir.Bool},
			tir.Bool, false},
		{"or", LogicalOr, func(a, b float64) float64 { return truth(a != 0 || b != 0) }, []tir.Type{tir.Bool},
			tir.Bool, false},
		{"xor", LogicalXor, func(a, b float64) float64 { return truth((a != 0) != (b != 0)) }, []tir.Type{tir.Bool},
			tir.Bool, false},
	} {
		for _, dt := range b.types {
			s := shapes[n%len(shapes)]
			n++
			x, y := sample(dt, s[0]...), sample(dt, s[1]...)
			for i := range y.v {
				if dt != tir.Bool {
					y.v[i] = rounded16(dt, y.v[len(y.v)-1-i]+truth(tir.IsFloat(dt))/4) // in another order, and floats without zeros
				}
			}
			if b.name == "power" {
				for i := range x.v {
					x.v[i] = rounded16(dt, math.Abs(x.v[i])+0.5)
				}
			}
			f, result := b.f, b.result
			if typed[b.name] != nil {
				f = typed[b.name](dt)
			}
			if result == tir.Void {
				result = dt
			}
			c := opCase{name: fmt.Sprintf("%s of %s%v and %v", b.name, dt, s[0], s[1]), ins: []*nd{x, y},
				want: each(result, s[2], func(i []int) float64 { return rounded16(result, f(x.stretched(i), y.stretched(i))) }),
				make: func(x []*te.Tensor) *te.Tensor { return b.make(x[0], x[1], "Z") }}
			if b.tol {
				c.tol = 4 * tolerance(dt)
			}
			if b.name == "floordivide" && dt == tir.BFloat16 || b.name == "divide" && tir.IsFloat(dt) {
				c.tol = tolerance(dt)
			}
			cases = append(cases, c)
		}
	}
	for _, dt := range floatTypes { // NaN
		x, y := &nd{dt, []int{3}, []float64{nan, 1, 2}}, &nd{dt, []int{3}, []float64{1, nan, 3}}
		for name, w := range map[string]struct {
			make func(x, y *te.Tensor, name string) *te.Tensor
			want float64
		}{"minimum": {Minimum, 2}, "maximum": {Maximum, 3}} {
			cases = append(cases, opCase{name: "no number: " + name, ins: []*nd{x, y},
				want: &nd{dt, []int{3}, []float64{nan, nan, w.want}},
				make: func(x []*te.Tensor) *te.Tensor { return w.make(x[0], x[1], "Z") }})
		}
	}
	// divisions that trap
	for dt, least := range map[tir.Type]float64{tir.Int8: -128, tir.Int16: -1 << 15, tir.Int32: -1 << 31,
		tir.Int64: -1 << 63} {
		x, y := &nd{dt, []int{4}, []float64{least, 5, least, -7}}, &nd{dt, []int{4}, []float64{-1, 0, 1, -1}}
		if dt == tir.Int64 { // numbers that float64 can represent
			y.v[2] = -1
		}
		div, mod := []float64{least, 0, least, 7}, []float64{0, 0, 0, 0}
		for name, w := range map[string]struct {
			make func(x, y *te.Tensor, name string) *te.Tensor
			want []float64
		}{"divide": {Divide, div}, "floordivide": {FloorDivide, div}, "floormod": {FloorMod, mod},
			"truncmod": {TruncMod, mod}} {
			cases = append(cases, opCase{name: fmt.Sprintf("edge of %s of %s", name, dt), ins: []*nd{x, y},
				want: &nd{dt, []int{4}, w.want},
				make: func(x []*te.Tensor) *te.Tensor { return w.make(x[0], x[1], "Z") }})
		}
	}
	for k, dt := range append([]tir.Type{tir.Bool}, allNumbers...) {
		s := shapes[k%len(shapes)]
		cond, x, y := sample(tir.Bool, s[0]...), sample(dt, s[1]...), sample(dt, s[2]...)
		cases = append(cases, opCase{name: fmt.Sprintf("where of %s", dt), ins: []*nd{cond, x, y},
			make: func(x []*te.Tensor) *te.Tensor { return Where(x[0], x[1], x[2], "W") },
			want: each(dt, s[2], func(i []int) float64 {
				if cond.stretched(i) != 0 {
					return x.stretched(i)
				}
				return y.stretched(i)
			})})
	}
	row, all := sample(tir.Int32, 37), sample(tir.Int32, 5, 37)
	cases = append(cases, opCase{name: "zip", ins: []*nd{row, all}, make: func(x []*te.Tensor) *te.Tensor {
		return Zip(x[0], x[1], "Z", func(a, b tir.Expr) tir.Expr { return tir.Sub(tir.Mul(a, a), b) })
	}, want: each(tir.Int32, all.shape, func(i []int) float64 { return row.at(i[1])*row.at(i[1]) - all.at(i...) })})
	return cases
}

// TestBroadcast_AnySize broadcasts variable sizes that are provably equal, occur only once, or meet a 1.
func TestBroadcast_AnySize(t *testing.T) {
	n, m := te.Var("n"), te.Var("m")
	p := func(name string, s ...tir.Expr) *te.Tensor { return te.Placeholder(s, tir.Float32, name) }
	one := tir.I32(1)
	for want, y := range map[string]*te.Tensor{
		"[n, m]":     Add(p("X", n, m), p("Y", m), "Z"),
		"[m, n]":     Add(p("X", one, n), p("Y", m, one), "Z"),
		"[n + 1, m]": Add(p("X", tir.Add(n, one), m), p("Y", tir.Add(one, n), one), "Z"),
		"[n]":        Add(p("X", tir.Sub(tir.Add(n, m), m)), p("Y", n), "Z"),
	} {
		require.NoError(t, y.Err())
		s := y.ProducerShape()
		if want == "[n]" { // the first one
			require.True(t, arith.ProveEqual(s[0], n))
			continue
		}
		require.Equal(t, want, shapeText(s))
	}
	require.ErrorContains(t, Add(p("X", n), p("Y", m), "Z").Err(), "dimension 0 of tensors X and Y is n and m: want "+
		"equal sizes, or 1")
	require.ErrorContains(t, Add(p("X", n), p("Y", tir.I32(4)), "Z").Err(), "dimension 0 of tensors X and Y is n and 4")
}
