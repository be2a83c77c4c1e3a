package ops

import (
	"fmt"
	"strings"

	"tvmgo/tir"
)

// cubicWeights returns the weights of the four elements around a position: two at or before it, two behind. f is its
// distance from the second one, of 0 to 1, and a the coefficient of the cubic convolution.
func cubicWeights(f tir.Expr, a float64) []tir.Expr {
	one := tir.Const(f.DType(), 1)
	g := tir.Sub(one, f)
	return []tir.Expr{cubicFar(tir.Add(f, one), a), cubicNear(f, a), cubicNear(g, a), cubicFar(tir.Add(g, one), a)}
}

// cubicNear is the kernel of the cubic convolution at a distance of at most 1: ((a+2)·x - (a+3))·x² + 1.
func cubicNear(x tir.Expr, a float64) tir.Expr {
	t := x.DType()
	return tir.Add(tir.Mul(tir.Sub(tir.Mul(tir.Const(t, a+2), x), tir.Const(t, a+3)), tir.Mul(x, x)), tir.Const(t, 1))
}

// cubicFar is the kernel at a distance from 1 to 2: ((a·x - 5a)·x + 8a)·x - 4a.
func cubicFar(x tir.Expr, a float64) tir.Expr {
	t := x.DType()
	e := tir.Mul(tir.Sub(tir.Mul(tir.Const(t, a), x), tir.Const(t, 5*a)), x)
	return tir.Sub(tir.Mul(tir.Add(e, tir.Const(t, 8*a)), x), tir.Const(t, 4*a))
}

// floatIn returns the type in which floats for elements of a type are computed: float64 for itself, else float32.
func floatIn(t tir.Type) tir.Type {
	if t == tir.Float64 {
		return t
	}
	return tir.Float32
}

// rounding converts a float to an element type; to integers it rounds to nearest, ties to even.
func rounding(t tir.Type, e tir.Expr) tir.Expr {
	if tir.IsInt(t) {
		e = tir.Intrin("nearbyint", e)
	}
	return castTo(t, e)
}

// clampIndex returns v limited to 0 … n-1, an index of a dimension of size n, which is not empty.
func clampIndex(v, n tir.Expr) tir.Expr {
	return tir.Max(tir.IntConst(v.DType(), 0), tir.Min(v, tir.Sub(castIndex(v, n), tir.IntConst(v.DType(), 1))))
}

// oneOf returns an error if an option is none of the known ones; the first one is the default.
func oneOf(what string, value *string, known ...string) error {
	if *value == "" {
		*value = known[0]
	}
	for _, k := range known {
		if *value == k {
			return nil
		}
	}
	return fmt.Errorf("%s %q: want %s", what, *value, strings.Join(known, ", "))
}
