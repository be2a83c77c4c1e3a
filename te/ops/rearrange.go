package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// move makes a tensor whose elements are elements of x: at returns the indices in x of an element of the result.
func move(kind string, x *te.Tensor, name string, shape []tir.Expr, at func(i []tir.Expr) []tir.Expr) *te.Tensor {
	for d, n := range shape {
		if sizeBad(n) {
			return failed(name, "dimension %d of the result for tensor %s: %w", d, x.ProducerName(), n.(*tir.Bad).Err)
		}
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		if empty(shape) || empty(x.ProducerShape()) {
			return tir.Const(x.ProducerDType(), 0)
		}
		return x.At(at(i)...)
	})
	return by(out, &Operator{Kind: kind, Inputs: []*te.Tensor{x}})
}

// BroadcastTo repeats the elements of x as in NumPy: shapes are aligned at the last dimension, and a dimension that is
// missing in x or has size 1 gets the size in shape. A size of 1 in shape leaves the size of x as it is, and so do
// dimensions that shape lacks.
func BroadcastTo(x *te.Tensor, name string, shape ...tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	to := te.Placeholder(shape, x.ProducerDType(), "shape")
	if err := to.Err(); err != nil {
		return failed(name, "the new shape of tensor %s: %w", x.ProducerName(), err)
	}
	all, bad := broadcast(name, x, to)
	if bad != nil {
		return bad
	}
	return move("broadcastto", x, name, all, func(i []tir.Expr) []tir.Expr { return pickAt(x.ProducerShape(), i) })
}

// ExpandDims adds dimensions of size 1: axes are their places in the result. A negative axis counts from its end.
func ExpandDims(x *te.Tensor, name string, axes ...int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	added := make([]bool, len(s)+len(axes))
	for _, axis := range axes {
		d, bad := axisOf(name, x, axis, len(added))
		if bad != nil {
			return failed(name, "new axis %d of tensor %s: the result has %d dimensions: want %d to %d", axis,
				x.ProducerName(), len(added), -len(added), len(added)-1)
		}
		if added[d] {
			return failed(name, "new axis %d of tensor %s is given twice", axis, x.ProducerName())
		}
		added[d] = true
	}
	var shape []tir.Expr
	next := 0
	for _, is := range added {
		if is {
			shape = append(shape, tir.I32(1))
			continue
		}
		shape = append(shape, s[next])
		next++
	}
	return move("expanddims", x, name, shape, func(i []tir.Expr) (at []tir.Expr) {
		for d, is := range added {
			if !is {
				at = append(at, i[d])
			}
		}
		return at
	})
}

// Squeeze removes dimensions of size 1: the given axes, or, without axes, all that have the constant size 1.
func Squeeze(x *te.Tensor, name string, axes ...int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	if len(axes) == 0 {
		for d, n := range s {
			if isOne(n) {
				axes = append(axes, d)
			}
		}
	}
	removed := make([]bool, len(s))
	if len(axes) > 0 {
		var bad *te.Tensor
		if removed, bad = axesOf(name, x, axes); bad != nil {
			return bad
		}
	}
	var shape []tir.Expr
	for d, n := range s {
		switch {
		case !removed[d]:
			shape = append(shape, n)
		case !isOne(simplified(n)):
			return failed(name, "axis %d of tensor %s has size %s: want 1", d, x.ProducerName(), text.Print(n))
		}
	}
	return move("squeeze", x, name, shape, func(i []tir.Expr) (at []tir.Expr) {
		for d, n := range s {
			if removed[d] {
				at = append(at, like(n, 0))
				continue
			}
			at, i = append(at, i[0]), i[1:]
		}
		return at
	})
}

// times returns the size n·by, with the type of n.
func times(n, by tir.Expr) tir.Expr {
	if a, ok := constSize(n); ok {
		if b, ok := constSize(by); ok && a >= 0 && b >= 0 {
			return indexSize([]tir.Expr{n}, product([]tir.Expr{n, by}))
		}
	}
	return simplified(tir.Mul(n, tir.NewCast(n.DType(), by)))
}

// Tile repeats the whole tensor: repeats[d] times along dimension d.
func Tile(x *te.Tensor, name string, repeats ...tir.Expr) *te.Tensor {
	if bad := check(name, len(repeats), x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	shape := make([]tir.Expr, len(s))
	for d, n := range s {
		if bad := repeatable(name, x, d, repeats[d]); bad != nil {
			return bad
		}
		shape[d] = times(n, repeats[d])
	}
	return move("tile", x, name, shape, func(i []tir.Expr) []tir.Expr {
		at := make([]tir.Expr, len(i))
		for d := range i {
			if at[d] = i[d]; !isOne(repeats[d]) {
				at[d] = tir.FloorMod(i[d], s[d])
			}
		}
		return at
	})
}

// repeatable returns nil if dimension d can be repeated n times.
func repeatable(name string, x *te.Tensor, d int, n tir.Expr) *te.Tensor {
	if tir.IsNil(n) {
		return failed(name, "the number of repeats of axis %d of tensor %s is nil", d, x.ProducerName())
	}
	if c, ok := constSize(n); ok && c < 0 {
		return failed(name, "axis %d of tensor %s is repeated %d times: want 0 or more", d, x.ProducerName(), c)
	}
	if !sizeBad(n) && !tir.IsInt(n.DType()) {
		return failed(name, "the number of repeats of axis %d of tensor %s has type %s: want an integer", d,
			x.ProducerName(), n.DType())
	}
	return nil
}

// Repeat repeats each element n times along an axis; a negative axis counts from the end.
func Repeat(x *te.Tensor, name string, axis int, n tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	d, bad := axisOf(name, x, axis, len(x.ProducerShape()))
	if bad != nil {
		return bad
	}
	if bad := repeatable(name, x, d, n); bad != nil {
		return bad
	}
	shape := append([]tir.Expr{}, x.ProducerShape()...)
	shape[d] = times(shape[d], n)
	return move("repeat", x, name, shape, func(i []tir.Expr) []tir.Expr {
		at := append([]tir.Expr{}, i...)
		at[d] = tir.FloorDiv(i[d], tir.NewCast(i[d].DType(), n))
		return at
	})
}

// Reverse reverses the order of the elements along axes; nil stands for all of them.
func Reverse(x *te.Tensor, name string, axes ...int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	in, bad := axesOf(name, x, axes)
	if bad != nil {
		return bad
	}
	return move("reverse", x, name, x.ProducerShape(), func(i []tir.Expr) []tir.Expr {
		at := append([]tir.Expr{}, i...)
		for d, n := range x.ProducerShape() {
			if in[d] {
				at[d] = tir.Sub(plus(n, -1), i[d])
			}
		}
		return at
	})
}

// ReverseSequence reverses, for each index b of the batch axis, the first lengths[b] elements along the time axis; the
// others stay where they are. lengths is a vector of integers; a length beyond the axis counts as its size.
func ReverseSequence(x, lengths *te.Tensor, name string, batchAxis, timeAxis int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := check(name, 1, lengths); bad != nil {
		return bad
	}
	if bad := indexes.of(name, lengths); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	batch, bad := axisOf(name, x, batchAxis, len(s))
	if bad != nil {
		return bad
	}
	time, bad := axisOf(name, x, timeAxis, len(s))
	if bad != nil {
		return bad
	}
	if batch == time {
		return failed(name, "axis %d of tensor %s is both the batch and the time: want different ones", batchAxis,
			x.ProducerName())
	}
	if n := lengths.ProducerShape()[0]; !arith.ProveEqual(n, s[batch]) {
		return failed(name, "axis %d of tensor %s has %s elements, and there are %s lengths in tensor %s: want equal "+
			"numbers", batch, x.ProducerName(), text.Print(s[batch]), text.Print(n), lengths.ProducerName())
	}
	return by(move("reversesequence", x, name, s, func(i []tir.Expr) []tir.Expr {
		t := i[time].DType()
		length := tir.NewCast(tir.Int64, lengths.At(i[batch]))
		n := tir.NewCast(t, tir.Min(length, tir.NewCast(tir.Int64, s[time])))
		at := append([]tir.Expr{}, i...)
		at[time] = tir.NewSelect(tir.LT(i[time], n), tir.Sub(tir.Sub(n, like(i[time], 1)), i[time]), i[time])
		return at
	}), &Operator{Kind: "reversesequence", Inputs: []*te.Tensor{x, lengths}})
}
