package ops

import (
	"fmt"
	"math"

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

// The ends of a range: after the last element, and, for negative steps, before the first.
const (
	ToEnd   = math.MaxInt
	ToStart = math.MinInt
)

// Range selects the indices of an axis from Begin to End, excluding End, in steps of Step. As in Python, negative
// values of Begin and End count from the end, values beyond the dimension are clipped, and Step may be negative. Step 0
// stands for 1.
type Range struct {
	Axis, Begin, End, Step int
}

// Slice is a part of a tensor: the given ranges of the given axes, and all of the other axes. For an axis whose size is
// a variable, Begin must not be negative, Step must be positive, and End must be ToEnd.
func Slice(x *te.Tensor, name string, ranges ...Range) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	shape, seen := append([]tir.Expr{}, s...), make([]bool, len(s))
	begin, step := make([]int, len(s)), make([]int, len(s))
	for _, r := range ranges {
		d, bad := axisOf(name, x, r.Axis, len(s))
		if bad != nil {
			return bad
		}
		if seen[d] {
			return failed(name, "axis %d of tensor %s is given twice", r.Axis, x.ProducerName())
		}
		if r.Step == 0 {
			r.Step = 1
		}
		seen[d] = true
		if r.Step > math.MaxInt32 || r.Step < -math.MaxInt32 {
			return failed(name, "axis %d of tensor %s: the step %d does not fit into the index type", r.Axis,
				x.ProducerName(), r.Step)
		}
		size, known := constSize(s[d])
		if !known {
			if r.Begin < 0 || r.Begin > math.MaxInt32 || r.End != ToEnd || r.Step < 0 {
				return failed(name, "axis %d of tensor %s has %s elements: for a variable size, want Begin "+
					">= 0, End = ToEnd and Step > 0", r.Axis, x.ProducerName(), text.Print(s[d]))
			}
			begin[d], step[d] = r.Begin, r.Step
			left := tir.Max(like(s[d], 0), plus(s[d], -r.Begin))
			shape[d] = simplified(tir.FloorDiv(plus(left, r.Step-1), like(s[d], r.Step)))
			continue
		}
		var n int
		begin[d], n = r.within(int(size))
		step[d] = r.Step
		shape[d] = like(s[d], n)
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := make([]tir.Expr, len(i))
		for d := range i {
			if isConst(shape[d], 0) {
				return tir.Const(x.ProducerDType(), 0) // the axis is empty
			}
			if at[d] = i[d]; seen[d] {
				at[d] = plus(tir.Mul(i[d], like(i[d], step[d])), begin[d])
			}
		}
		return x.At(at...)
	})
	return by(out, &Operator{Kind: "slice", Inputs: []*te.Tensor{x}})
}

// within returns the first index of a range, and the number of its indices, for a dimension with size elements.
func (r Range) within(size int) (begin, n int) {
	// clamped limits an end of the range to an index from least to most
	clamped := func(v, least, most int) int {
		if v < 0 && v > ToStart {
			v += size
		}
		return min(max(v, least), most)
	}
	if r.Step > 0 {
		b, e := clamped(r.Begin, 0, size), clamped(r.End, 0, size)
		return b, max(0, (e-b+r.Step-1)/r.Step)
	}
	b, e := clamped(r.Begin, -1, size-1), clamped(r.End, -1, size-1)
	return b, max(0, (b-e-r.Step-1)/-r.Step)
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
