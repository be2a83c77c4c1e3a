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
	Clamp Bounds = iota // the nearest element: the first one for negative indices
	Wrap                // modulo the size of the axis: -1 is the last element
	Zero                // the value 0
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

// Gather selects elements of x along an axis, each by its own index. indices has the number of dimensions of x, and its
// sizes except along the axis; the result has the shape of indices.
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
		if d != at && !arith.ProveEqual(s[d], shape[d]) {
			return failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes", d, x.ProducerName(),
				indices.ProducerName(), text.Print(s[d]), text.Print(shape[d]))
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
	if bad := indexes.of(name, indices); bad != nil {
		return 0, bad
	}
	if bad := elements.of(name, x); bad != nil {
		return 0, bad
	}
	if b > Zero {
		return 0, failed(name, "bounds %d: want Clamp, Wrap or Zero", b)
	}
	return axisOf(name, x, axis, len(x.ProducerShape()))
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
	// The comparison is in 64 bits: the types of index and size may differ.
	i, size := tir.NewCast(tir.Int64, index), tir.NewCast(tir.Int64, n)
	first, last := tir.I64(0), tir.Sub(size, tir.I64(1))
	var conds []tir.Expr
	if _, known := constSize(n); !known {
		conds = append(conds, tir.GT(size, first))
	}
	switch b {
	case Clamp:
		i = tir.Max(first, tir.Min(i, last))
	case Wrap:
		i = tir.FloorMod(i, tir.Max(size, tir.I64(1)))
	case Zero:
		conds = []tir.Expr{tir.GE(i, first), tir.LT(i, size)}
	}
	return where(conds, x.At(append(append(append([]tir.Expr{}, before...), i), behind...)...), none)
}
