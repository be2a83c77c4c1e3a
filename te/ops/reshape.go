package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// Reshape gives the elements another shape, in row-major order. One size may be -1: it follows from the others. Both
// shapes must provably have the same number of elements.
func Reshape(x *te.Tensor, name string, shape ...tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	old := x.ProducerShape()
	shape = append([]tir.Expr{}, shape...)
	free := -1
	for d, n := range shape {
		switch c, ok := n.(*tir.IntImm); {
		case n == nil:
			return failed(name, "new size %d of tensor %s is nil", d, x.ProducerName())
		case ok && c.Value == -1 && free >= 0:
			return failed(name, "new sizes %d and %d of tensor %s are both -1: want at most one", free, d,
				x.ProducerName())
		case ok && c.Value == -1:
			free = d
		case ok && c.Value < 0:
			return failed(name, "new size %d of tensor %s is %d: want 0 or more, or -1", d, x.ProducerName(), c.Value)
		}
	}
	if free >= 0 {
		rest := product(append(append([]tir.Expr{}, shape[:free]...), shape[free+1:]...))
		if isConst(rest, 0) {
			return failed(name, "new size %d of tensor %s is -1, and others are 0: set the size", free,
				x.ProducerName())
		}
		shape[free] = indexSize(old, simplified(tir.FloorDiv(product(old), rest)))
		if sizeBad(shape[free]) {
			return failed(name, "new size %d of tensor %s is -1, and does not follow from %s elements", free,
				x.ProducerName(), text.Print(product(old)))
		}
	}
	if !arith.ProveEqual(product(old), product(shape)) {
		return failed(name, "tensor %s has %s elements, and the new shape %s: want equal numbers", x.ProducerName(),
			text.Print(product(old)), text.Print(product(shape)))
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		for _, n := range old {
			if isConst(n, 0) {
				return tir.Const(x.ProducerDType(), 0) // no elements
			}
		}
		return x.At(reshaped(old, shape, i)...)
	})
	return by(out, &Operator{Kind: "reshape", Inputs: []*te.Tensor{x}})
}

// Flatten merges the dimensions before an axis into one, and those from the axis on into another. A negative axis
// counts from the end; the axis may be the number of dimensions.
func Flatten(x *te.Tensor, name string, axis int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	at, bad := axisOf(name, x, axis, len(s)+1)
	if axis < 0 {
		at, bad = axisOf(name, x, axis, len(s))
	}
	if bad != nil {
		return bad
	}
	return Reshape(x, name, indexSize(s[:at], product(s[:at])), indexSize(s[at:], product(s[at:])))
}

// product returns the number of elements of a shape: a constant of type int64, or an expression with the type of the
// sizes.
func product(shape []tir.Expr) tir.Expr {
	constant, t := int64(1), tir.Int32
	var all tir.Expr
	for _, n := range shape {
		if n.DType() == tir.Int64 {
			t = tir.Int64
		}
		if c, ok := constSize(n); !ok {
			continue
		} else if c > 0 && constant > math.MaxInt64/c {
			constant = math.MaxInt64 // saturated: no tensor is that large
		} else {
			constant *= c
		}
		if constant > math.MaxInt32 {
			t = tir.Int64
		}
	}
	for _, n := range shape {
		if _, ok := constSize(n); ok {
			continue
		} else if n = tir.NewCast(t, n); all == nil {
			all = n
		} else {
			all = tir.Mul(all, n)
		}
	}
	if all == nil {
		return tir.I64(constant)
	}
	return simplified(tir.Mul(all, tir.IntConst(t, constant)))
}

// indexSize converts a size to int32 if the sizes in from are int32, unless it is a constant that does not fit.
func indexSize(from []tir.Expr, n tir.Expr) tir.Expr {
	for _, s := range from {
		if s.DType() != tir.Int32 {
			return n
		}
	}
	if c, ok := constSize(n); ok {
		if c > math.MaxInt32 {
			return n
		}
		return tir.IntConst(tir.Int32, c)
	}
	return simplified(tir.NewCast(tir.Int32, n))
}

// reshaped returns the indices in shape from of the element with indices i in shape to. Common leading dimensions keep
// their indices.
func reshaped(to, from, i []tir.Expr) []tir.Expr {
	at := make([]tir.Expr, len(to))
	same := 0
	for same < len(to) && same < len(from) && arith.ProveEqual(to[same], from[same]) {
		at[same] = tir.NewCast(to[same].DType(), i[same])
		same++
	}
	t := tir.Int32
	if n, ok := constSize(product(to[same:])); !ok || n > math.MaxInt32 {
		t = tir.Int64
	}
	place := tir.Expr(tir.IntConst(t, 0))
	for d := same; d < len(from); d++ {
		place = tir.Add(tir.Mul(place, tir.NewCast(t, from[d])), tir.NewCast(t, i[d]))
	}
	for d := len(to) - 1; d >= same; d-- {
		n := tir.NewCast(t, to[d])
		if at[d] = place; d > same {
			at[d] = tir.FloorMod(place, n)
			place = tir.FloorDiv(place, n)
		}
		at[d] = simplified(tir.NewCast(to[d].DType(), at[d]))
	}
	return at
}
