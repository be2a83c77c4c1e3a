package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// Full is a tensor with the same value in every element.
func Full(shape []tir.Expr, value float64, t tir.Type, name string) *te.Tensor {
	c, bad := valueOf(name, t, value)
	if bad != nil {
		return bad
	}
	return te.Compute(shape, name, func(...tir.Expr) tir.Expr { return c })
}

// valueOf returns a constant of an element type.
func valueOf(name string, t tir.Type, v float64) (tir.Expr, *te.Tensor) {
	if !elements.has(t) {
		return nil, failed(name, "the tensor has type %s: want %s", t, elements.want)
	}
	c := tir.Const(t, v)
	if b, ok := c.(*tir.Bad); ok {
		return nil, failed(name, "value %v: %w", v, b.Err)
	}
	return c, nil
}

// Arange is a vector of the values from start to stop, excluding stop, in steps of step.
func Arange(start, stop, step float64, t tir.Type, name string) *te.Tensor {
	n := math.Ceil((stop - start) / step)
	switch {
	case step == 0 || math.IsNaN(n) || math.IsInf(n, 0):
		return failed(name, "a range from %v to %v in steps of %v: want finite numbers, and a step other than 0",
			start, stop, step)
	case n > math.MaxInt32:
		return failed(name, "a range from %v to %v in steps of %v has more than 2147483647 elements", start, stop, step)
	case !isNumber(t):
		return failed(name, "the tensor has type %s: want %s", t, numbers.want)
	}
	n = max(0, n)
	work := workType(t)
	for _, v := range []float64{start, start + max(0, n-1)*step} {
		if _, bad := valueOf(name, work, v); bad != nil {
			return bad
		}
	}
	if tir.IsInt(t) && step != math.Trunc(step) {
		return failed(name, "the step is %v: want an integer for type %s", step, t)
	}
	return te.Compute(te.Dims(int32(n)), name, func(i ...tir.Expr) tir.Expr {
		if tir.IsInt(t) { // in 64 bits, because the step may not fit into the type
			if n <= 1 {
				return tir.NewCast(t, tir.Const(tir.Int64, start))
			}
			return tir.NewCast(t, tir.Add(tir.Const(tir.Int64, start), tir.Mul(tir.NewCast(tir.Int64, i[0]),
				tir.Const(tir.Int64, step))))
		}
		return tir.NewCast(t, tir.Add(tir.Const(work, start), tir.Mul(tir.NewCast(work, i[0]), tir.Const(work, step))))
	})
}

// OneHot adds a last dimension of depth elements to the indices: on at the index, off elsewhere, and only off if the
// index is out of range.
func OneHot(indices *te.Tensor, depth int, on, off float64, t tir.Type, name string) *te.Tensor {
	if bad := checkIndices(name, indices); bad != nil {
		return bad
	}
	if depth < 0 || depth > math.MaxInt32 {
		return failed(name, "the depth for the indices of tensor %s is %d: want 0 or more", indices.ProducerName(), depth)
	}
	yes, bad := valueOf(name, t, on)
	if bad != nil {
		return bad
	}
	no, bad := valueOf(name, t, off)
	if bad != nil {
		return bad
	}
	return oneHot(indices, tir.I32(int32(depth)), len(indices.ProducerShape()), name,
		func(i tir.Expr) tir.Expr { return i }, yes, no)
}

// OneHotAlong adds a dimension of depth elements to the indices, at an axis of the result, which counts from its end if
// it is negative. values is a vector of two elements: the second at the index, the first elsewhere. Negative indices
// count from the end of the new dimension; if an index is out of range, all elements are the first value.
func OneHotAlong(indices, values *te.Tensor, name string, depth tir.Expr, axis int) *te.Tensor {
	if bad := checkIndices(name, indices); bad != nil {
		return bad
	}
	if bad := check(name, 1, values); bad != nil {
		return bad
	}
	if n := values.ProducerShape()[0]; !isConst(n, 2) {
		return failed(name, "tensor %s has %s elements: want 2, the values elsewhere and at the index",
			values.ProducerName(), text.Print(n))
	}
	at, bad := axisOf(name, indices, axis, len(indices.ProducerShape())+1)
	if bad != nil {
		return bad
	}
	if tir.IsNil(depth) {
		return failed(name, "the depth for the indices of tensor %s is nil", indices.ProducerName())
	}
	n := tir.NewCast(tir.Int64, depth)
	return oneHot(indices, depth, at, name, func(i tir.Expr) tir.Expr {
		return tir.NewSelect(tir.LT(i, tir.I64(0)), tir.Add(i, n), i)
	}, values.At(tir.I32(1)), values.At(tir.I32(0)))
}

func checkIndices(name string, indices *te.Tensor) *te.Tensor {
	if bad := check(name, -1, indices); bad != nil {
		return bad
	}
	return indexes.of(name, indices)
}

// oneHot adds a dimension to the indices, whose elements are yes at the resolved index, and no elsewhere.
func oneHot(indices *te.Tensor, depth tir.Expr, at int, name string, resolve func(tir.Expr) tir.Expr,
	yes, no tir.Expr) *te.Tensor {
	s := indices.ProducerShape()
	shape := append(append(append([]tir.Expr{}, s[:at]...), depth), s[at:]...)
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		index := tir.NewCast(tir.Int64, indices.At(append(append([]tir.Expr{}, i[:at]...), i[at+1:]...)...))
		return tir.NewSelect(tir.EQ(resolve(index), tir.NewCast(tir.Int64, i[at])), yes, no)
	})
}
