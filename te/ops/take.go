package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// Bounds selects how an index out of bounds is handled. Nothing is ever read outside of the tensor.
type Bounds uint8

const (
	Clamp   Bounds = iota // the nearest element: the first one for negative indices
	Wrap                  // modulo the size of the axis: -1 is the last element
	Zero                  // the value 0
	FromEnd               // negative indices count from the end, then as Clamp
)

// Take selects elements of x by indices along an axis: the dimensions of the indices, which are integers, replace the
// axis. A negative axis counts from the end.
func Take(x, indices *te.Tensor, name string, axis int, b Bounds) *te.Tensor {
	at, bad := b.check(name, x, indices, axis)
	if bad != nil {
		return bad
	}
	s, n := x.ProducerShape(), len(indices.ProducerShape())
	shape := append(append(append([]tir.Expr{}, s[:at]...), indices.ProducerShape()...), s[at+1:]...)
	if bad := b.readable(name, x, at, shape); bad != nil {
		return bad
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		return b.element(x, at, i[:at], indices.At(i[at:at+n]...), i[at+n:], shape)
	})
	return by(out, &Operator{Kind: "take", Inputs: []*te.Tensor{x, indices}, Attrs: at})
}

// Gather selects elements of x along an axis, each by its own index. indices has the number of dimensions of x, and,
// except along the axis, its sizes or lesser constants; the result has the shape of indices.
func Gather(x, indices *te.Tensor, name string, axis int, b Bounds) *te.Tensor {
	at, bad := b.check(name, x, indices, axis)
	if bad != nil {
		return bad
	}
	s, shape := x.ProducerShape(), indices.ProducerShape()
	if bad := check(name, len(s), indices); bad != nil {
		return failed(name, "tensor %s has %d dimensions, and the index tensor %s has %d: want equal numbers",
			x.ProducerName(),
			len(s), indices.ProducerName(), len(shape))
	}
	for d := range s {
		if d != at && !arith.ProveEqual(s[d], shape[d]) && mayExceed(shape[d], s[d]) {
			return failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes, or fewer indices", d,
				x.ProducerName(), indices.ProducerName(), text.Print(s[d]), text.Print(shape[d]))
		}
	}
	if bad := b.readable(name, x, at, shape); bad != nil {
		return bad
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		return b.element(x, at, i[:at], indices.At(i...), i[at+1:], shape)
	})
	return by(out, &Operator{Kind: "gather", Inputs: []*te.Tensor{x, indices}, Attrs: at})
}

func (b Bounds) check(name string, x, indices *te.Tensor, axis int) (int, *te.Tensor) {
	if bad := check(name, -1, x, indices); bad != nil {
		return 0, bad
	}
	if bad := b.checkTypes(name, x, indices); bad != nil {
		return 0, bad
	}
	return axisOf(name, x, axis, len(x.ProducerShape()))
}

func (b Bounds) checkTypes(name string, x, indices *te.Tensor) *te.Tensor {
	if bad := indexes.of(name, indices); bad != nil {
		return bad
	}
	if bad := elements.of(name, x); bad != nil {
		return bad
	}
	if b > FromEnd {
		return failed(name, "bounds %d: want Clamp, Wrap, Zero or FromEnd", b)
	}
	return nil
}

// readable returns nil if the axis has an element to read, if Zero needs none, or if the result has no elements.
func (b Bounds) readable(name string, x *te.Tensor, at int, shape []tir.Expr) *te.Tensor {
	if b == Zero || !isConst(x.ProducerShape()[at], 0) || empty(shape) {
		return nil
	}
	return failed(name, "axis %d of tensor %s has no elements to select from", at, x.ProducerName())
}

// empty reports whether a shape certainly has no elements.
func empty(shape []tir.Expr) bool {
	for _, n := range shape {
		if isConst(n, 0) {
			return true
		}
	}
	return false
}

// element returns x at an index between the indices of the dimensions before and after it.
func (b Bounds) element(x *te.Tensor, at int, before []tir.Expr, index tir.Expr, behind, shape []tir.Expr) tir.Expr {
	none := tir.Const(x.ProducerDType(), 0)
	n := x.ProducerShape()[at]
	if empty(shape) || isConst(n, 0) {
		return none
	}
	i, conds := b.resolve(index, n)
	return where(conds, x.At(inserted(append(append([]tir.Expr{}, before...), behind...), at, i)...), none)
}

// resolve returns the index that an index refers to in a dimension with n elements, and the conditions that there is
// one.
func (b Bounds) resolve(index, n tir.Expr) (i tir.Expr, conds []tir.Expr) {
	// The comparison is in 64 bits: the types of index and size may differ.
	i = tir.NewCast(tir.Int64, index)
	size := tir.NewCast(tir.Int64, n)
	first, last := tir.I64(0), tir.Sub(size, tir.I64(1))
	if _, known := constSize(n); !known {
		conds = append(conds, tir.GT(size, first))
	}
	switch b {
	case FromEnd, Clamp:
		if b == FromEnd {
			i = fromEnd(index, n)
		}
		i = tir.Max(first, tir.Min(i, last))
	case Wrap:
		i = tir.FloorMod(i, tir.Max(size, tir.I64(1)))
	case Zero:
		conds = within(i, n)
	}
	return i, conds
}
