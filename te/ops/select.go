package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// selectionChunk is the number of elements that one thread looks at.
const selectionChunk = 1024

// chunksOf returns the number of chunks of n elements.
func chunksOf(n tir.Expr) tir.Expr {
	return simplified(tir.FloorDiv(plus(n, selectionChunk-1), like(n, selectionChunk)))
}

// selection numbers the indices below n for which a condition holds: emit gets each with its number. offsets has one
// element more than there are chunks; its last one becomes the number of all.
func selection(n tir.Expr, offsets *tir.Buffer, cond func(i tir.Expr) tir.Expr,
	emit func(i, number tir.Expr) tir.Stmt) tir.Stmt {
	t := offsets.DType
	one := tir.IntConst(t, 1)
	each := func(chunk tir.Expr, do func(i tir.Expr) tir.Stmt) tir.Stmt {
		return serial(like(n, selectionChunk), "j", func(j tir.Expr) tir.Stmt {
			i := tir.Add(tir.Mul(tir.NewCast(n.DType(), chunk), like(n, selectionChunk)), j)
			return let("i", i, func(i tir.Expr) tir.Stmt {
				return &tir.If{Cond: tir.LT(i, n), Then: &tir.If{Cond: cond(i), Then: do(i)}}
			})
		})
	}
	chunks := []tir.Expr{chunksOf(n)}
	count := parallel(chunks, func(c []tir.Expr) tir.Stmt {
		return cells([]tir.Type{t}, "number", func(v []cell) tir.Stmt {
			return tir.Sequence(v[0].set(tir.IntConst(t, 0)), each(c[0], func(tir.Expr) tir.Stmt {
				return v[0].set(tir.Add(v[0].get(), one))
			}), store(offsets, v[0].get(), plus(c[0], 1)))
		})
	})
	sum := tir.Sequence(store(offsets, tir.IntConst(t, 0), like(n, 0)), serial(chunks[0], "c", func(c tir.Expr) tir.Stmt {
		return store(offsets, tir.Add(tir.BufferAt(offsets, plus(c, 1)), tir.BufferAt(offsets, c)), plus(c, 1))
	}))
	write := parallel(chunks, func(c []tir.Expr) tir.Stmt {
		return cells([]tir.Type{t}, "number", func(v []cell) tir.Stmt {
			return tir.Sequence(v[0].set(tir.BufferAt(offsets, c[0])), each(c[0], func(i tir.Expr) tir.Stmt {
				return tir.Sequence(emit(i, v[0].get()), v[0].set(tir.Add(v[0].get(), one)))
			}))
		})
	})
	return tir.Sequence(count, sum, write)
}

// cleared sets all elements of a buffer to 0.
func cleared(b *tir.Buffer) tir.Stmt {
	return parallel(b.Shape, func(i []tir.Expr) tir.Stmt { return store(b, tir.Const(b.DType, 0), i...) })
}

// nonzero is the condition that an element is not 0, or is true.
func nonzero(e tir.Expr) tir.Expr {
	if tir.IsBool(e.DType()) {
		return e
	}
	return tir.NE(e, tir.Const(e.DType(), 0))
}

// selected returns the indices of the elements of a vector that are not 0, in order, and their number. The first result
// has as many elements as the vector; those beyond the number are 0.
func selected(n tir.Expr, inputs []*te.Tensor, name string,
	cond func(ins []*tir.Buffer, i tir.Expr) tir.Expr) []*te.Tensor {
	all := te.Extern([]te.ExternResult{{Shape: []tir.Expr{n}, Type: tir.Int64}, {Type: tir.Int64},
		{Shape: []tir.Expr{plus(chunksOf(n), 1)}, Type: tir.Int64}}, inputs, name,
		func(ins, outs []*tir.Buffer) tir.Stmt {
			offsets := outs[2]
			return tir.Sequence(cleared(outs[0]), selection(n, offsets, func(i tir.Expr) tir.Expr { return cond(ins, i) },
				func(i, number tir.Expr) tir.Stmt { return store(outs[0], tir.NewCast(tir.Int64, i), number) }),
				store(outs[1], tir.BufferAt(offsets, chunksOf(n))))
		})
	return all[:2]
}

// Nonzero returns the indices of the elements of x that are not 0 (or are true) as an int64 matrix, with a row for each
// dimension of x and a column for each element in row-major order, and the number of these elements, an int64 without
// dimensions. The matrix has a column for every element of x; those beyond the number are 0.
func Nonzero(x *te.Tensor, name string) []*te.Tensor {
	bad := check(name, -1, x)
	if bad == nil {
		bad = elements.of(name, x)
	}
	if bad != nil {
		return []*te.Tensor{bad, bad}
	}
	s := x.ProducerShape()
	n := indexSize(s, product(s))
	all := selected(n, []*te.Tensor{x}, name+".places", func(ins []*tir.Buffer, i tir.Expr) tir.Expr {
		return nonzero(tir.BufferAt(ins[0], reshaped(s, []tir.Expr{n}, []tir.Expr{i})...))
	})
	out := te.Compute([]tir.Expr{tir.I32(int32(len(s))), n}, name, func(i ...tir.Expr) tir.Expr {
		if len(s) == 0 || empty(s) {
			return tir.I64(0)
		}
		place := tir.NewCast(n.DType(), all[0].At(i[1]))
		at := reshaped(s, []tir.Expr{n}, []tir.Expr{place})
		e := tir.NewCast(tir.Int64, at[len(s)-1])
		for d := len(s) - 2; d >= 0; d-- {
			e = tir.NewSelect(tir.EQ(i[0], like(i[0], d)), tir.NewCast(tir.Int64, at[d]), e)
		}
		return e
	})
	by(out, &Operator{Kind: "nonzero", Inputs: []*te.Tensor{x}})
	return append([]*te.Tensor{out}, published(name+".number", all[1])...)
}

// Compress returns the parts of x along an axis for which cond, a vector of bool, holds, and their number, an int64
// without dimensions. If cond is shorter than the axis, the parts beyond it are left out. The first result has the
// shape of x; the parts beyond the number are 0.
func Compress(x, cond *te.Tensor, name string, axis int) []*te.Tensor {
	fail := func(bad *te.Tensor) []*te.Tensor { return []*te.Tensor{bad, bad} }
	if bad := check(name, -1, x); bad != nil {
		return fail(bad)
	}
	if bad := check(name, 1, cond); bad != nil {
		return fail(bad)
	}
	if bad := bools.of(name, cond); bad != nil {
		return fail(bad)
	}
	s := x.ProducerShape()
	at, bad := axisOf(name, x, axis, len(s))
	if bad != nil {
		return fail(bad)
	}
	m := cond.ProducerShape()[0]
	if a, ok := constSize(m); ok {
		if b, ok := constSize(s[at]); ok && a > b {
			return fail(failed(name, "tensor %s has %d elements, and axis %d of tensor %s has %s: want no more",
				cond.ProducerName(), a, at, x.ProducerName(), text.Print(s[at])))
		}
	}
	all := selected(s[at], []*te.Tensor{cond}, name+".places", func(ins []*tir.Buffer, i tir.Expr) tir.Expr {
		if empty([]tir.Expr{m}) {
			return tir.BoolConst(false)
		}
		wide := tir.NewCast(tir.Int64, i)
		return tir.Intrin("if_then_else", tir.LT(wide, tir.NewCast(tir.Int64, m)), tir.BufferAt(ins[0], i),
			tir.BoolConst(false))
	})
	out := te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		none := tir.Const(x.ProducerDType(), 0)
		if empty(s) {
			return none
		}
		from := append([]tir.Expr{}, i...)
		from[at] = all[0].At(i[at])
		return where([]tir.Expr{tir.LT(tir.NewCast(tir.Int64, i[at]), all[1].At())}, x.At(from...), none)
	})
	by(out, &Operator{Kind: "compress", Inputs: []*te.Tensor{x, cond}, Attrs: at})
	return append([]*te.Tensor{out}, published(name+".number", all[1])...)
}

// Unique returns the different parts of x along its first dimension. The results are the parts, with the shape of x;
// for each of them the first index in x, and how often it occurs; for each index of x the number of its part; all three
// are vectors of int64; and the number of different parts, an int64 without dimensions: values, first, inverse, counts,
// number. Elements beyond the number are 0. The parts are sorted, by the first element that differs, or in the order of
// their first indices. NaN equals itself, and is greater than every number.
func Unique(x *te.Tensor, name string, sorted bool) []*te.Tensor {
	fail := func(bad *te.Tensor) []*te.Tensor { return []*te.Tensor{bad, bad, bad, bad, bad} }
	if bad := check(name, -1, x); bad != nil {
		return fail(bad)
	}
	if bad := numbers.of(name, x); bad != nil {
		return fail(bad)
	}
	s := x.ProducerShape()
	if len(s) == 0 {
		return fail(failed(name, "tensor %s has no dimensions: want one or more", x.ProducerName()))
	}
	n := s[0]
	vector := te.ExternResult{Shape: []tir.Expr{n}, Type: tir.Int64}
	index := te.ExternResult{Shape: []tir.Expr{n}, Type: tir.Int32}
	all := te.Extern([]te.ExternResult{vector, vector, vector, {Type: tir.Int64}, index, index, index}, []*te.Tensor{x},
		name+".sorted", func(ins, outs []*tir.Buffer) tir.Stmt { return uniqueGroups(ins[0], outs, sorted) })
	out := te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		if empty(s) {
			return tir.Const(x.ProducerDType(), 0)
		}
		from := append([]tir.Expr{all[0].At(i[0])}, i[1:]...)
		return where([]tir.Expr{tir.LT(tir.NewCast(tir.Int64, i[0]), all[3].At())}, x.At(from...),
			tir.Const(x.ProducerDType(), 0))
	})
	by(out, &Operator{Kind: "unique", Inputs: []*te.Tensor{x}, Attrs: sorted})
	return append([]*te.Tensor{out}, published(name+".groups", all[:4]...)...)
}

// uniqueGroups computes the first indices, the inverse, the counts and the number of different parts of x. The other
// buffers are the sorted order, scratch memory, and the number of each group.
func uniqueGroups(x *tir.Buffer, outs []*tir.Buffer, sorted bool) tir.Stmt {
	first, inverse, counts, number, order, scratch, group := outs[0], outs[1], outs[2], outs[3], outs[4], outs[5], outs[6]
	n, rest := x.Shape[0], x.Shape[1:]
	at := func(row tir.Expr, i []tir.Expr) tir.Expr { return tir.BufferAt(x, append([]tir.Expr{row}, i...)...) }
	// sorts by one element after the other, the last one first: each keeps the order of equal elements
	sort := nested(rest, "c", func(c []tir.Expr) tir.Stmt {
		i := make([]tir.Expr, len(c))
		for d := range c {
			i[d] = tir.Sub(plus(rest[d], -1), c[d])
		}
		return mergeSort(n, order, scratch, nil, func(a, b tir.Expr) tir.Expr { return precedes(at(a, i), at(b, i), false) })
	})
	one, zero := tir.I64(1), tir.I64(0)
	// numbers of the groups in sorted order; scratch has the first index of each
	groups := cells([]tir.Type{tir.Int32, tir.Bool}, "group", func(v []cell) tir.Stmt {
		g, differs := v[0], v[1]
		return tir.Sequence(g.set(tir.I32(-1)), serial(n, "k", func(k tir.Expr) tir.Stmt {
			return let("own", tir.BufferAt(order, k), func(own tir.Expr) tir.Stmt {
				compare := let("before", tir.BufferAt(order, plus(k, -1)), func(before tir.Expr) tir.Stmt {
					return nested(rest, "c", func(c []tir.Expr) tir.Stmt {
						a, b := at(before, c), at(own, c)
						return &tir.If{Cond: tir.Or(precedes(a, b, false), precedes(b, a, false)),
							Then: differs.set(tir.BoolConst(true))}
					})
				})
				return tir.Sequence(differs.set(tir.EQ(k, like(k, 0))),
					&tir.If{Cond: tir.GT(k, like(k, 0)), Then: compare},
					&tir.If{Cond: differs.get(), Then: tir.Sequence(g.set(tir.Add(g.get(), tir.I32(1))),
						store(scratch, own, g.get()))},
					store(group, g.get(), own))
			})
		}), store(number, tir.Add(tir.NewCast(tir.Int64, g.get()), one)))
	})
	if len(rest) > 0 && empty(rest) {
		return tir.Sequence(cleared(first), cleared(inverse), cleared(counts), cleared(order), cleared(scratch),
			cleared(group), store(number, zero))
	}
	// the number of each group in the result is in order, which is not needed any more
	var rank tir.Stmt = counted(n, order, nil)
	if !sorted {
		rank = cells([]tir.Type{tir.Int32}, "next", func(v []cell) tir.Stmt {
			return tir.Sequence(v[0].set(tir.I32(0)), serial(n, "i", func(i tir.Expr) tir.Stmt {
				return let("g", tir.BufferAt(group, i), func(g tir.Expr) tir.Stmt {
					return &tir.If{Cond: tir.EQ(tir.BufferAt(scratch, g), tir.NewCast(tir.Int32, i)), Then: tir.Sequence(
						store(order, v[0].get(), g), v[0].set(tir.Add(v[0].get(), tir.I32(1))))}
				})
			}))
		})
	}
	results := serial(n, "i", func(i tir.Expr) tir.Stmt {
		return let("r", tir.BufferAt(order, tir.BufferAt(group, i)), func(r tir.Expr) tir.Stmt {
			return tir.Sequence(store(inverse, tir.NewCast(tir.Int64, r), i),
				&tir.If{Cond: tir.EQ(tir.BufferAt(counts, r), zero), Then: store(first, tir.NewCast(tir.Int64, i), r)},
				store(counts, tir.Add(tir.BufferAt(counts, r), one), r))
		})
	})
	return tir.Sequence(cleared(first), cleared(counts), cleared(scratch), counted(n, order, nil),
		sort, groups, rank, results)
}
