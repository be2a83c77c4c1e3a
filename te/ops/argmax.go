package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// ArgMax is the row-major position of the greatest element among those of the reduced axes, as an int64; of several
// equal elements, that of the first. NaN counts as greater than every number. axes and keepDims are as for Sum. An axis
// with constant size 0 is an error; if a variable size is 0, the result is the greatest value of the axis's type.
func ArgMax(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return argReduce("argmax", tir.OpGT, x, name, axes, keepDims)
}

// ArgMin is the position of the least element, as for ArgMax; NaN counts as less than every number.
func ArgMin(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return argReduce("argmin", tir.OpLT, x, name, axes, keepDims)
}

// ArgMaxLast is ArgMax, but of several equal elements the position is that of the last. If a variable size is 0, the
// result is the least value of the axis's type.
func ArgMaxLast(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return argReduce("argmaxlast", tir.OpGT, x, name, axes, keepDims)
}

// ArgMinLast is ArgMin, but of several equal elements the position is that of the last, as for ArgMaxLast.
func ArgMinLast(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return argReduce("argminlast", tir.OpLT, x, name, axes, keepDims)
}

func argReduce(kind string, better tir.BinaryOp, x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	last := kind == "argmaxlast" || kind == "argminlast"
	in, bad := numbers.reduced(name, x, axes)
	if bad != nil {
		return bad
	}
	s := x.ProducerShape()
	var shape []tir.Expr
	var k []*tir.IterVar
	for d, n := range s {
		switch {
		case !in[d]:
			shape = append(shape, n)
			continue
		case isConst(n, 0):
			return failed(name, "axis %d of tensor %s has no elements: it has no position to return", d, x.ProducerName())
		case keepDims:
			shape = append(shape, tir.IntConst(n.DType(), 1))
		}
		k = append(k, reduceAxis(n, "k"))
	}
	if len(k) == 0 { // a single element has position 0
		return te.Compute(shape, name, func(...tir.Expr) tir.Expr { return tir.I64(0) })
	}
	var where tir.Expr = k[0].Var
	for _, a := range k[1:] {
		where = tir.Add(tir.Mul(where, a.Extent), a.Var)
	}
	r := positionReducer(better, last)
	found := te.ComputeMulti(shape, name+".found", func(i ...tir.Expr) []tir.Expr {
		at := make([]tir.Expr, len(s))
		next, a := 0, 0
		for d := range s {
			if in[d] {
				at[d] = k[a].Var
				a++
				if keepDims {
					next++
				}
				continue
			}
			at[d] = i[next]
			next++
		}
		return r.Over([]tir.Expr{simplified(where), x.At(at...)}, k...)
	})
	out := Map(found[0], name, func(e tir.Expr) tir.Expr { return tir.NewCast(tir.Int64, e) })
	return by(out, &Operator{Kind: kind, Inputs: []*te.Tensor{x}, Parts: found[:1]})
}

// positionReducer reduces pairs of a position and a value to the pair with the best value, of several equal values the
// one with the least position, or with last the greatest. NaN is better than every number.
func positionReducer(better tir.BinaryOp, last bool) *te.Reducer {
	return te.NewReducer(func(l, r []tir.Expr) []tir.Expr {
		wins, ties := tir.NewBinary(better, l[1], r[1]), tir.EQ(l[1], r[1])
		if a, b := isNaN(l[1]), isNaN(r[1]); a != nil {
			wins, ties = tir.Or(wins, tir.And(a, tir.NewNot(b))), tir.Or(ties, tir.And(a, b))
		}
		sooner := tir.LE(l[0], r[0])
		if last {
			sooner = tir.GE(l[0], r[0])
		}
		keep := tir.Or(wins, tir.And(ties, sooner))
		return []tir.Expr{tir.NewSelect(keep, l[0], r[0]), tir.NewSelect(keep, l[1], r[1])}
	}, func(t []tir.Type) []tir.Expr {
		return []tir.Expr{limit(t[0], !last), limit(t[1], better == tir.OpLT)}
	})
}
