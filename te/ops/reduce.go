package ops

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// Sum is the sum of the elements over the axes; 0 for no elements. Nil axes stand for all axes, an empty slice for
// none, and negative axes count from the end. The result lacks the axes, or has size 1 in each if keepDims is set.
// Integers are summed in their own type and wrap: cast them first if the sum may overflow. 16-bit floats are summed in
// float32 and rounded once. All reductions take axes and keepDims in this way.
func Sum(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return fold(numbers, "sum", x, name, axes, keepDims, sumOver)
}

// Prod is the product of the elements; 1 for no elements. See Sum for axes and keepDims.
func Prod(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return fold(numbers, "prod", x, name, axes, keepDims, func(e tir.Expr, k ...*tir.IterVar) tir.Expr {
		return te.Prod(e, k...)
	})
}

// Max is the greatest element, or NaN if an element is NaN; for no elements the least value of the type, -inf for
// floats.
func Max(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return fold(numbers, "max", x, name, axes, keepDims, maxOver)
}

// Min is the least element, or NaN if an element is NaN; for no elements the greatest value of the type, inf for
// floats.
func Min(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return fold(numbers, "min", x, name, axes, keepDims, minOver)
}

// All is true if all elements are; true for no elements.
func All(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return fold(bools, "all", x, name, axes, keepDims, logicOver(tir.OpAnd, true))
}

// Any is true if at least one element is; false for no elements.
func Any(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return fold(bools, "any", x, name, axes, keepDims, logicOver(tir.OpOr, false))
}

// Mean is the sum of the elements divided by their number; NaN for no elements.
func Mean(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	in, bad := floats.reduced(name, x, axes)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	sum := wideFold(floats, "sum", x, name+".sum", axes, keepDims, sumOver)
	n := countOf(x.ProducerShape(), in, sum.ProducerDType())
	return Map(sum, name, func(e tir.Expr) tir.Expr { return tir.NewCast(t, tir.Div(e, n)) })
}

// countOf returns the number of elements in the dimensions of in, as a float.
func countOf(shape []tir.Expr, in []bool, t tir.Type) tir.Expr {
	constant, count := 1.0, tir.Expr(nil)
	for d, n := range shape {
		if !in[d] {
			continue
		}
		if c, ok := constSize(n); ok {
			constant *= float64(c)
		} else if n = tir.NewCast(t, n); count == nil {
			count = n
		} else {
			count = tir.Mul(count, n)
		}
	}
	if c := tir.Const(t, constant); count == nil {
		return c
	} else if constant != 1 {
		return tir.Mul(count, c)
	}
	return count
}

// reduction reduces a value over axes.
type reduction func(e tir.Expr, axes ...*tir.IterVar) tir.Expr

// fold makes the tensor of a reduction.
func fold(c class, kind string, x *te.Tensor, name string, axes []int, keepDims bool, r reduction) *te.Tensor {
	from := name
	if t := x.ProducerDType(); isNarrow(t) && (kind == "sum" || kind == "prod") {
		from = name + ".wide"
	}
	out := wideFold(c, kind, x, from, axes, keepDims, r)
	if t := x.ProducerDType(); out.Err() == nil && out.ProducerDType() != t {
		return Map(out, name, func(e tir.Expr) tir.Expr { return tir.NewCast(t, e) })
	}
	return out
}

// wideFold makes the tensor of a reduction. Sums and products of 16-bit floats are float32.
func wideFold(c class, kind string, x *te.Tensor, name string, axes []int, keepDims bool, r reduction) *te.Tensor {
	in, bad := c.reduced(name, x, axes)
	if bad != nil {
		return bad
	}
	wide := isNarrow(x.ProducerDType()) && (kind == "sum" || kind == "prod")
	out := overAxes(x, name, in, keepDims, func(e tir.Expr, k ...*tir.IterVar) tir.Expr {
		if wide {
			e = tir.NewCast(tir.Float32, e)
		}
		if len(k) == 0 {
			return e
		}
		return r(e, k...)
	})
	return by(out, &Operator{Kind: kind, Inputs: []*te.Tensor{x}})
}

// overAxes reduces over the dimensions of in.
func overAxes(x *te.Tensor, name string, in []bool, keepDims bool, r reduction) *te.Tensor {
	s := x.ProducerShape()
	var shape []tir.Expr
	var axes []*tir.IterVar
	for d, n := range s {
		switch {
		case !in[d]:
			shape = append(shape, n)
			continue
		case keepDims:
			shape = append(shape, tir.IntConst(n.DType(), 1))
		}
		axes = append(axes, reduceAxis(n, fmt.Sprintf("k%d", d)))
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := make([]tir.Expr, len(s))
		next, k := 0, 0
		for d := range s {
			switch {
			case in[d]:
				at[d] = axes[k].Var
				k++
				if keepDims {
					next++
				}
			default:
				at[d] = i[next]
				next++
			}
		}
		return r(x.At(at...), axes...)
	})
}

// limit returns the least or the greatest value of a type.
func limit(t tir.Type, greatest bool) tir.Expr {
	switch {
	case tir.IsFloat(t) && greatest:
		return tir.Const(t, math.Inf(1))
	case tir.IsFloat(t):
		return tir.Const(t, math.Inf(-1))
	case t == tir.UInt64 && greatest:
		return &tir.IntImm{Type: t, Value: -1}
	case tir.IsSigned(t) && greatest:
		return tir.IntConst(t, 1<<(t.Bits-1)-1)
	case tir.IsSigned(t):
		return tir.IntConst(t, -1<<(t.Bits-1))
	case greatest:
		return tir.IntConst(t, 1<<t.Bits-1)
	}
	return tir.IntConst(t, 0)
}

// extremum is a reduction to the greatest or the least value that propagates NaN.
func extremum(op tir.BinaryOp) reduction {
	r := te.NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{orNaN(l[0], tir.NewBinary(op, l[0], r[0]))} },
		func(t []tir.Type) []tir.Expr { return []tir.Expr{limit(t[0], op == tir.OpMin)} })
	return func(e tir.Expr, axes ...*tir.IterVar) tir.Expr { return r.Over([]tir.Expr{e}, axes...)[0] }
}

var maxOver, minOver = extremum(tir.OpMax), extremum(tir.OpMin)

func sumOver(e tir.Expr, axes ...*tir.IterVar) tir.Expr { return te.Sum(e, axes...) }

func logicOver(op tir.BinaryOp, start bool) reduction {
	r := te.NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{tir.NewBinary(op, l[0], r[0])} },
		func([]tir.Type) []tir.Expr { return []tir.Expr{tir.BoolConst(start)} })
	return func(e tir.Expr, axes ...*tir.IterVar) tir.Expr { return r.Over([]tir.Expr{e}, axes...)[0] }
}
