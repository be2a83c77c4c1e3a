package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// ArgSort returns, for each place of the sorted order along an axis, the index of the element, with type t, an integer
// type. The order is stable: equal elements keep their order, also when it is descending. NaN counts as greater than
// every number.
func ArgSort(x *te.Tensor, name string, axis int, descending bool, t tir.Type) *te.Tensor {
	order, at, bad := sortOrder(x, name, axis, descending)
	if bad != nil {
		return bad
	}
	if !ints.has(t) {
		return failed(name, "the indices have type %s: want %s", t, ints.want)
	}
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		return tir.NewCast(t, order.At(append(without(i, at), i[at])...))
	})
	return by(out, &Operator{Kind: "argsort", Inputs: []*te.Tensor{x}, Attrs: at})
}

// Sort sorts the elements along an axis; see ArgSort.
func Sort(x *te.Tensor, name string, axis int, descending bool) *te.Tensor {
	order, at, bad := sortOrder(x, name, axis, descending)
	if bad != nil {
		return bad
	}
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr { return atOrder(x, order, at, i) })
	return by(out, &Operator{Kind: "sort", Inputs: []*te.Tensor{x}, Attrs: at})
}

// TopK returns the greatest k elements along an axis, or the least if largest is not set, and their indices of type t.
// They are sorted, the first one first; of equal elements, those with the lesser index come first. NaN counts as
// greater than every number. k is a size that is no greater than that of the axis.
func TopK(x *te.Tensor, name string, k tir.Expr, axis int, largest bool, t tir.Type) (both []*te.Tensor) {
	order, at, bad := sortOrder(x, name, axis, largest)
	if bad == nil && tir.IsNil(k) {
		bad = failed(name, "the number of elements to select from tensor %s is nil", x.ProducerName())
	}
	if bad == nil && !ints.has(t) {
		bad = failed(name, "the indices have type %s: want %s", t, ints.want)
	}
	if bad == nil {
		n, known := constSize(k)
		if m, sure := constSize(x.ProducerShape()[at]); known && sure && n > m {
			bad = failed(name, "%d elements are selected from axis %d of tensor %s, which has %d: want no more", n, at,
				x.ProducerName(), m)
		}
	}
	if bad != nil {
		return []*te.Tensor{bad, bad}
	}
	shape := append([]tir.Expr{}, x.ProducerShape()...)
	shape[at] = k
	values := te.Compute(shape, name+".v0", func(i ...tir.Expr) tir.Expr { return atOrder(x, order, at, i) })
	indices := te.Compute(shape, name+".v1", func(i ...tir.Expr) tir.Expr {
		return tir.NewCast(t, order.At(append(without(i, at), i[at])...))
	})
	return []*te.Tensor{values, indices}
}

// atOrder returns the element of x whose place in the order along an axis is i[at].
func atOrder(x, order *te.Tensor, at int, i []tir.Expr) tir.Expr {
	if empty(x.ProducerShape()) {
		return tir.Const(x.ProducerDType(), 0)
	}
	// the bounds are those of the order's values
	n := x.ProducerShape()[at]
	index := tir.Max(tir.I32(0), tir.Min(order.At(append(without(i, at), i[at])...), plus(tir.NewCast(tir.Int32, n), -1)))
	return x.At(inserted(without(i, at), at, index)...)
}

// sortOrder checks the arguments of a sort, and returns the indices along the axis in sorted order. The axis is their
// last dimension.
func sortOrder(x *te.Tensor, name string, axis int, descending bool) (order *te.Tensor, at int, bad *te.Tensor) {
	if bad := check(name, -1, x); bad != nil {
		return nil, 0, bad
	}
	if bad := numbers.of(name, x); bad != nil {
		return nil, 0, bad
	}
	s := x.ProducerShape()
	if at, bad = axisOf(name, x, axis, len(s)); bad != nil {
		return nil, 0, bad
	}
	n := s[at]
	if c, ok := constSize(n); ok && c > math.MaxInt32 {
		return nil, 0, failed(name, "axis %d of tensor %s has %d elements: want at most 2147483647", at, x.ProducerName(), c)
	}
	rows := without(s, at)
	length := simplified(tir.NewCast(tir.Int32, n))
	shape := append(append([]tir.Expr{}, rows...), length)
	both := te.Extern([]te.ExternResult{{Shape: shape, Type: tir.Int32}, {Shape: shape, Type: tir.Int32}}, []*te.Tensor{x},
		name+".order", func(ins, outs []*tir.Buffer) tir.Stmt {
			return parallel(rows, func(row []tir.Expr) tir.Stmt {
				x := func(k tir.Expr) tir.Expr { return tir.BufferAt(ins[0], inserted(row, at, k)...) }
				return tir.Sequence(counted(length, outs[0], row), mergeSort(length, outs[0], outs[1], row,
					func(a, b tir.Expr) tir.Expr { return precedes(x(a), x(b), descending) }))
			})
		})
	return both[0], at, nil
}

// precedes reports whether a comes before b in an order in which NaN is greater than every number.
func precedes(a, b tir.Expr, descending bool) tir.Expr {
	if descending {
		a, b = b, a
	}
	before := tir.LT(a, b)
	if n := isNaN(b); n != nil {
		before = tir.Or(before, tir.And(n, tir.EQ(a, a)))
	}
	return before
}

// sortedRun is the number of elements that are sorted by insertion before runs are merged.
const sortedRun = 8

// mergeSort sorts the n indices in row of a buffer, with another buffer as scratch memory. less compares the elements
// at two indices; equal elements keep their order.
func mergeSort(n tir.Expr, to, scratch *tir.Buffer, row []tir.Expr, less func(a, b tir.Expr) tir.Expr) tir.Stmt {
	t := tir.Int64
	if c, ok := constSize(n); ok && c < 1<<28 { // the width of runs grows beyond it
		t = tir.Int32
	}
	n = simplified(tir.NewCast(t, n))
	c := func(v int64) tir.Expr { return tir.IntConst(t, v) }
	next := func(e tir.Expr) tir.Expr { return tir.Add(e, c(1)) }
	full := func(i tir.Expr) []tir.Expr { return append(append([]tir.Expr{}, row...), i) }
	at := func(b *tir.Buffer, i tir.Expr) tir.Expr { return tir.BufferAt(b, full(i)...) }
	insert := serial(n, "i", func(i tir.Expr) tir.Stmt {
		return cells([]tir.Type{t, tir.Bool}, "place", func(v []cell) tir.Stmt {
			j, moving := v[0], v[1]
			start := tir.Mul(tir.FloorDiv(i, c(sortedRun)), c(sortedRun))
			return let("moved", at(to, i), func(moved tir.Expr) tir.Stmt {
				step := let("before", at(to, tir.Sub(j.get(), c(1))), func(before tir.Expr) tir.Stmt {
					return &tir.If{Cond: less(moved, before), Then: tir.Sequence(store(to, before, full(j.get())...),
						j.set(tir.Sub(j.get(), c(1))), moving.set(tir.GT(j.get(), start))), Else: moving.set(tir.BoolConst(false))}
				})
				return tir.Sequence(j.set(i), moving.set(tir.GT(i, start)), &tir.While{Cond: moving.get(), Body: step},
					store(to, moved, full(j.get())...))
			})
		})
	})
	// merge merges pairs of runs of a width
	merge := func(from, into *tir.Buffer, width tir.Expr) tir.Stmt {
		return cells([]tir.Type{t, t, t, t}, "cursor", func(v []cell) tir.Stmt {
			left, right, middle, end := v[0], v[1], v[2], v[3]
			return tir.Sequence(end.set(c(0)), serial(n, "k", func(k tir.Expr) tir.Stmt {
				take := func(one cell) tir.Stmt {
					return tir.Sequence(store(into, at(from, one.get()), full(k)...), one.set(next(one.get())))
				}
				start := &tir.If{Cond: tir.EQ(k, end.get()), Then: tir.Sequence(left.set(k),
					middle.set(tir.Min(n, tir.Add(k, width))), right.set(middle.get()),
					end.set(tir.Min(n, tir.Add(middle.get(), width))))}
				compared := let("a", at(from, left.get()), func(a tir.Expr) tir.Stmt {
					return let("b", at(from, right.get()), func(b tir.Expr) tir.Stmt {
						return &tir.If{Cond: less(b, a), Then: take(right), Else: take(left)}
					})
				})
				return tir.Sequence(start, &tir.If{Cond: tir.GE(left.get(), middle.get()), Then: take(right),
					Else: &tir.If{Cond: tir.GE(right.get(), end.get()), Then: take(left), Else: compared}})
			}))
		})
	}
	return tir.Sequence(insert, cells([]tir.Type{t}, "width", func(v []cell) tir.Stmt {
		width := v[0]
		return tir.Sequence(width.set(c(sortedRun)), &tir.While{Cond: tir.LT(width.get(), n), Body: tir.Sequence(
			merge(to, scratch, width.get()), width.set(tir.Mul(width.get(), c(2))),
			merge(scratch, to, width.get()), width.set(tir.Mul(width.get(), c(2))))})
	}))
}

// counted sets row of a buffer to the indices below n.
func counted(n tir.Expr, b *tir.Buffer, row []tir.Expr) tir.Stmt {
	return serial(n, "i", func(i tir.Expr) tir.Stmt {
		return store(b, tir.NewCast(b.DType, i), append(append([]tir.Expr{}, row...), i)...)
	})
}
