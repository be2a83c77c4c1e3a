package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// Concat joins tensors of one type along an axis; a negative axis counts from the end. All other sizes must be equal.
func Concat(name string, axis int, all ...*te.Tensor) *te.Tensor {
	at, bad := joined(name, axis, 0, all)
	if bad != nil {
		return bad
	}
	first := all[0].ProducerShape()
	shape := append([]tir.Expr{}, first...)
	ends := make([]tir.Expr, len(all))
	for n, t := range all {
		size := t.ProducerShape()[at]
		if c, ok := constSize(size); n == 0 {
			ends[n] = size
		} else if ok {
			ends[n] = simplified(plus(ends[n-1], int(c)))
		} else {
			ends[n] = simplified(tir.Add(ends[n-1], size))
		}
		if sizeBad(ends[n]) {
			return failed(name, "the total size of axis %d of tensors %s to %s does not fit into the index type", at,
				all[0].ProducerName(),
				t.ProducerName())
		}
	}
	shape[at] = ends[len(all)-1]
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		element := func(n int) tir.Expr {
			x := append([]tir.Expr{}, i...)
			if n > 0 {
				x[at] = tir.Sub(i[at], ends[n-1])
			}
			if isConst(all[n].ProducerShape()[at], 0) {
				return tir.Const(all[n].ProducerDType(), 0) // the axis is empty
			}
			return all[n].At(x...)
		}
		e := element(len(all) - 1)
		for n := len(all) - 2; n >= 0; n-- {
			e = tir.Intrin("if_then_else", tir.LT(i[at], ends[n]), element(n), e)
		}
		return e
	})
	return by(out, &Operator{Kind: "concat", Inputs: all, Attrs: at})
}

// Stack joins tensors of one type and shape along a new axis of the result; a negative axis counts from the result's
// end.
func Stack(name string, axis int, all ...*te.Tensor) *te.Tensor {
	at, bad := joined(name, axis, 1, all)
	if bad != nil {
		return bad
	}
	s := all[0].ProducerShape()
	shape := append(append(append([]tir.Expr{}, s[:at]...), tir.I32(int32(len(all)))), s[at:]...)
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		x := append(append([]tir.Expr{}, i[:at]...), i[at+1:]...)
		e := all[len(all)-1].At(x...)
		for n := len(all) - 2; n >= 0; n-- {
			e = tir.Intrin("if_then_else", tir.EQ(i[at], like(i[at], n)), all[n].At(x...), e)
		}
		return e
	})
	return by(out, &Operator{Kind: "stack", Inputs: all, Attrs: at})
}

// joined checks tensors that are to be joined along an axis. more is the number of dimensions that the result has in
// addition; if it is 0, the sizes along the axis may differ.
func joined(name string, axis, more int, all []*te.Tensor) (int, *te.Tensor) {
	if len(all) == 0 {
		return 0, failed(name, "there are no tensors to join: want one or more")
	}
	if bad := check(name, -1, all...); bad != nil {
		return 0, bad
	}
	if bad := sameType(name, all...); bad != nil {
		return 0, bad
	}
	first := all[0].ProducerShape()
	at, bad := axisOf(name, all[0], axis, len(first)+more)
	if bad != nil {
		return 0, bad
	}
	if bad := check(name, len(first), all...); bad != nil {
		return 0, bad
	}
	for _, t := range all[1:] {
		for d, n := range t.ProducerShape() {
			if (more > 0 || d != at) && !arith.ProveEqual(first[d], n) {
				return 0, failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes", d, all[0].ProducerName(),
					t.ProducerName(), text.Print(first[d]), text.Print(n))
			}
		}
	}
	return at, nil
}

// Split divides a tensor along an axis into parts of these sizes, whose sum must be the axis' size. The parts are named
// name.v0, name.v1, ….
func Split(x *te.Tensor, name string, axis int, sizes ...int) []*te.Tensor {
	fail := func(bad *te.Tensor) []*te.Tensor {
		all := make([]*te.Tensor, max(1, len(sizes)))
		for i := range all {
			all[i] = bad
		}
		return all
	}
	if bad := check(name, -1, x); bad != nil {
		return fail(bad)
	}
	at, bad := axisOf(name, x, axis, len(x.ProducerShape()))
	if bad != nil {
		return fail(bad)
	}
	sum := 0
	for _, n := range sizes {
		if n < 0 {
			return fail(failed(name, "a part of axis %d of tensor %s has size %d: want 0 or more", axis,
				x.ProducerName(), n))
		}
		sum += n
	}
	if n := x.ProducerShape()[at]; len(sizes) == 0 || !isConst(n, int64(sum)) {
		return fail(failed(name, "axis %d of tensor %s has %s elements, and the sizes of the %d parts add up to %d: "+
			"want equal numbers",
			axis, x.ProducerName(), text.Print(n), len(sizes), sum))
	}
	var all []*te.Tensor
	from := 0
	for i, n := range sizes {
		all = append(all, Slice(x, fmt.Sprintf("%s.v%d", name, i), Range{Axis: at, Begin: from, End: from + n}))
		from += n
	}
	return all
}
