package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

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

// Slice is a part of a tensor: the given ranges of the given axes, and all of the other axes.
func Slice(x *te.Tensor, name string, ranges ...Range) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	shape, seen := append([]tir.Expr{}, s...), make([]bool, len(s))
	begin, step := make([]tir.Expr, len(s)), make([]int, len(s))
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
			if step[d] = r.Step; r.Begin < 0 || r.Begin > math.MaxInt32 || r.End != ToEnd || r.Step < 0 {
				begin[d], shape[d] = r.open().within(s[d])
				continue
			}
			begin[d] = like(s[d], r.Begin)
			left := tir.Max(like(s[d], 0), plus(s[d], -r.Begin))
			shape[d] = simplified(tir.FloorDiv(plus(left, r.Step-1), like(s[d], r.Step)))
			continue
		}
		first, n := r.within(int(size))
		begin[d], step[d], shape[d] = like(s[d], first), r.Step, like(s[d], n)
	}
	return sliced(x, name, shape, begin, step)
}

// sliced is the part of a tensor from begin in steps of step. Where begin is nil, it has all elements of the dimension.
func sliced(x *te.Tensor, name string, shape, begin []tir.Expr, step []int) *te.Tensor {
	return move("slice", x, name, shape, func(i []tir.Expr) []tir.Expr {
		at := make([]tir.Expr, len(i))
		for d := range i {
			if at[d] = i[d]; begin[d] != nil {
				at[d] = tir.Add(tir.Mul(i[d], like(i[d], step[d])), begin[d])
				if c, ok := constSize(begin[d]); ok {
					at[d] = plus(tir.Mul(i[d], like(i[d], step[d])), int(c))
				}
			}
		}
		return at
	})
}

// OpenRange is a Range whose ends are integers that are computed when the function is called: variables, sizes, or
// formulas of them. A nil Begin is the first element in the direction of Step, a nil End is after the last. Step 0
// stands for 1.
type OpenRange struct {
	Axis       int
	Begin, End tir.Expr
	Step       int
}

// OpenSlice is Slice for ranges whose ends are no constants.
func OpenSlice(x *te.Tensor, name string, ranges ...OpenRange) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	shape, begin, step := append([]tir.Expr{}, s...), make([]tir.Expr, len(s)), make([]int, len(s))
	for _, r := range ranges {
		d, bad := axisOf(name, x, r.Axis, len(s))
		if bad != nil {
			return bad
		}
		if begin[d] != nil {
			return failed(name, "axis %d of tensor %s is given twice", r.Axis, x.ProducerName())
		}
		if r.Step == 0 {
			r.Step = 1
		}
		if r.Step > math.MaxInt32 || r.Step < -math.MaxInt32 {
			return failed(name, "axis %d of tensor %s: the step %d does not fit into the index type", r.Axis,
				x.ProducerName(), r.Step)
		}
		for _, e := range []tir.Expr{r.Begin, r.End} {
			if e != nil && (sizeBad(e) || !tir.IsInt(e.DType()) || e.DType() == tir.UInt64) {
				return failed(name, "an end of the range of axis %d of tensor %s has type %s: want int32 or int64", r.Axis,
					x.ProducerName(), e.DType())
			}
		}
		step[d] = r.Step
		begin[d], shape[d] = r.within(s[d])
	}
	return sliced(x, name, shape, begin, step)
}

// open returns the same range as an OpenRange.
func (r Range) open() OpenRange {
	o := OpenRange{Axis: r.Axis, Step: r.Step}
	if r.Step > 0 || r.Begin != ToEnd {
		o.Begin = tir.I64(int64(r.Begin))
	}
	if r.End != ToEnd && r.End != ToStart || r.Step > 0 == (r.End == ToStart) {
		o.End = tir.I64(int64(r.End))
	}
	return o
}

// within is Range.within for a size that may be a variable.
func (r OpenRange) within(size tir.Expr) (begin, n tir.Expr) {
	wide, zero, one := tir.NewCast(tir.Int64, size), tir.I64(0), tir.I64(1)
	least, most := zero, wide
	if r.Step < 0 {
		least, most = tir.I64(-1), tir.Sub(wide, one)
	}
	clamped := func(e, otherwise tir.Expr) tir.Expr {
		if e == nil {
			return otherwise
		}
		v := tir.NewCast(tir.Int64, e)
		if c, ok := constSize(v); !ok {
			v = tir.NewSelect(tir.LT(v, zero), tir.Add(v, wide), v)
		} else if c < 0 {
			v = tir.Add(wide, tir.I64(max(c, math.MinInt32)))
		} else {
			v = tir.I64(min(c, math.MaxInt32))
		}
		return tir.Min(most, tir.Max(least, v))
	}
	t, by := size.DType(), int64(r.Step)
	narrow := func(e tir.Expr) tir.Expr { return simplified(tir.NewCast(t, simplified(e))) }
	if r.Step > 0 {
		b, e := clamped(r.Begin, zero), clamped(r.End, wide)
		return narrow(b), narrow(tir.Max(zero, tir.FloorDiv(tir.Add(tir.Sub(e, b), tir.I64(by-1)), tir.I64(by))))
	}
	b, e := clamped(r.Begin, most), clamped(r.End, least)
	return narrow(b), narrow(tir.Max(zero, tir.FloorDiv(tir.Add(tir.Sub(b, e), tir.I64(-by-1)), tir.I64(-by))))
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
