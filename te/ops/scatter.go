package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// Reduction selects how an update changes the element that it refers to.
type Reduction uint8

const (
	Assign     Reduction = iota // the update replaces the element; of several updates, the last one does
	AddTo                       // their sum
	MultiplyBy                  // their product
	Least                       // the lesser one; NaN if either is NaN
	Greatest                    // the greater one; NaN if either is NaN
)

// apply returns the element after an update.
func (r Reduction) apply(old, update tir.Expr) tir.Expr {
	switch r {
	case AddTo:
		return tir.Add(old, update)
	case MultiplyBy:
		return tir.Mul(old, update)
	case Least:
		return orNaN(old, tir.Min(old, update))
	case Greatest:
		return orNaN(old, tir.Max(old, update))
	}
	return update
}

func (r Reduction) check(name string, data, indices, updates *te.Tensor) *te.Tensor {
	if bad := check(name, -1, data, indices, updates); bad != nil {
		return bad
	}
	if bad := indexes.of(name, indices); bad != nil {
		return bad
	}
	if r > Greatest {
		return failed(name, "reduction %d: want Assign, AddTo, MultiplyBy, Least or Greatest", r)
	}
	if r != Assign {
		if bad := numbers.of(name, data); bad != nil {
			return bad
		}
	}
	return sameType(name, data, updates)
}

// ScatterElements is data with changed elements: each element of updates changes the element of data at its own
// indices, except that the index along the axis is the one in indices. indices and updates have the number of
// dimensions of data, one shape, and sizes that are no greater than those of data except along the axis. Negative
// indices count from the end; updates with an index out of range are ignored.
func ScatterElements(data, indices, updates *te.Tensor, name string, axis int, r Reduction) *te.Tensor {
	if bad := r.check(name, data, indices, updates); bad != nil {
		return bad
	}
	s, n := data.ProducerShape(), indices.ProducerShape()
	at, bad := axisOf(name, data, axis, len(s))
	if bad != nil {
		return bad
	}
	if bad := check(name, len(s), data, indices, updates); bad != nil {
		return bad
	}
	for d := range s {
		if u := updates.ProducerShape()[d]; !arith.ProveEqual(n[d], u) {
			return failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes", d,
				indices.ProducerName(), updates.ProducerName(), text.Print(n[d]), text.Print(u))
		}
		x, known := constSize(n[d])
		if y, sure := constSize(s[d]); d != at && known && sure && x > y {
			return failed(name, "dimension %d of tensors %s and %s is %d and %d: want no more than in the first one", d,
				data.ProducerName(), indices.ProducerName(), y, x)
		}
	}
	return statement("scatterelements", name, s, data.ProducerDType(), []*te.Tensor{data, indices, updates},
		func(ins []*tir.Buffer, out *tir.Buffer) tir.Stmt {
			return tir.Sequence(copied(out, ins[0]), parallel(without(n, at), func(rest []tir.Expr) tir.Stmt {
				var inside []tir.Expr
				for d, i := range inserted(rest, at, nil) {
					if d != at && !arith.ProveEqual(n[d], s[d]) && mayExceed(n[d], s[d]) {
						inside = append(inside, tir.LT(i, s[d]))
					}
				}
				return when(inside, serial(n[at], "j", func(j tir.Expr) tir.Stmt {
					from := inserted(rest, at, j)
					return let("at", fromEnd(tir.BufferAt(ins[1], from...), s[at]), func(i tir.Expr) tir.Stmt {
						to := inserted(rest, at, i)
						return when(within(i, s[at]), store(out, r.apply(tir.BufferAt(out, to...), tir.BufferAt(ins[2], from...)),
							to...))
					})
				}))
			}))
		})
}

// ScatterND is data with changed parts. The last dimension of indices, of constant size k, holds the first k indices of
// a part of data; the other dimensions count the parts. updates has these dimensions, then those of a part. Negative
// indices count from the end; updates with an index out of range are ignored.
func ScatterND(data, indices, updates *te.Tensor, name string, r Reduction) *te.Tensor {
	if bad := r.check(name, data, indices, updates); bad != nil {
		return bad
	}
	s, n := data.ProducerShape(), indices.ProducerShape()
	k, bad := tupleSize(name, data, indices, 0)
	if bad != nil {
		return bad
	}
	tuples, part := n[:len(n)-1], s[k:]
	want := append(append([]tir.Expr{}, tuples...), part...)
	if bad := check(name, len(want), updates); bad != nil {
		return failed(name, "tensor %s has shape %s: want %s, that of the indices and the parts", updates.ProducerName(),
			shapeText(updates.ProducerShape()), shapeText(want))
	}
	for d, u := range updates.ProducerShape() {
		if !arith.ProveEqual(u, want[d]) {
			return failed(name, "tensor %s has shape %s: want %s, that of the indices and the parts", updates.ProducerName(),
				shapeText(updates.ProducerShape()), shapeText(want))
		}
	}
	return statement("scatternd", name, s, data.ProducerDType(), []*te.Tensor{data, indices, updates},
		func(ins []*tir.Buffer, out *tir.Buffer) tir.Stmt {
			return tir.Sequence(copied(out, ins[0]), parallel(part, func(rest []tir.Expr) tir.Stmt {
				return nested(tuples, "j", func(j []tir.Expr) tir.Stmt {
					first := make([]tir.Expr, k)
					for d := range first {
						first[d] = fromEnd(tir.BufferAt(ins[1], append(append([]tir.Expr{}, j...), tir.I32(int32(d)))...), s[d])
					}
					return named("at", first, func(at []tir.Expr) tir.Stmt {
						var inside []tir.Expr
						for d := range at {
							inside = append(inside, within(at[d], s[d])...)
						}
						to := append(append([]tir.Expr{}, at...), rest...)
						from := append(append([]tir.Expr{}, j...), rest...)
						return when(inside, store(out, r.apply(tir.BufferAt(out, to...), tir.BufferAt(ins[2], from...)), to...))
					})
				})
			}))
		})
}

// tupleSize returns the size of the last dimension of indices: the number of dimensions of data, after the first batch
// ones, that they select from.
func tupleSize(name string, data, indices *te.Tensor, batch int) (int, *te.Tensor) {
	n := indices.ProducerShape()
	if len(n) == 0 {
		return 0, failed(name, "tensor %s has no dimensions: want the indices of a part in the last one",
			indices.ProducerName())
	}
	k, known := constSize(n[len(n)-1])
	if most := len(data.ProducerShape()) - batch; !known || k > int64(most) {
		return 0, failed(name, "the last dimension of tensor %s has size %s: want a constant, at most %d for tensor %s",
			indices.ProducerName(), text.Print(n[len(n)-1]), most, data.ProducerName())
	}
	return int(k), nil
}

// GatherND selects parts of x. The last dimension of indices, of constant size k, holds the indices of a part in the k
// dimensions of x that follow the first batch ones; the other dimensions count the parts. The first batch dimensions of
// both tensors are equal. The result has the dimensions of indices without the last one, then those of a part. b
// handles indices out of range as for Take.
func GatherND(x, indices *te.Tensor, name string, batch int, b Bounds) *te.Tensor {
	if bad := check(name, -1, x, indices); bad != nil {
		return bad
	}
	s, n := x.ProducerShape(), indices.ProducerShape()
	if bad := b.checkTypes(name, x, indices); bad != nil {
		return bad
	}
	if batch < 0 || batch > len(s) || batch >= len(n) {
		return failed(name, "%d batch dimensions of tensors %s and %s, which have %d and %d dimensions: want 0 or more, and "+
			"less than the second has", batch, x.ProducerName(), indices.ProducerName(), len(s), len(n))
	}
	k, bad := tupleSize(name, x, indices, batch)
	if bad != nil {
		return bad
	}
	for d := range batch {
		if !arith.ProveEqual(s[d], n[d]) {
			return failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes", d, x.ProducerName(),
				indices.ProducerName(), text.Print(s[d]), text.Print(n[d]))
		}
	}
	last := len(n) - 1
	shape := append(append([]tir.Expr{}, n[:last]...), s[batch+k:]...)
	for d := range k {
		if bad := b.readable(name, x, batch+d, shape); bad != nil {
			return bad
		}
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		none := tir.Const(x.ProducerDType(), 0)
		if empty(shape) || empty(s) {
			return none
		}
		at := append([]tir.Expr{}, i[:batch]...)
		var conds []tir.Expr
		for d := range k {
			e := indices.At(append(append([]tir.Expr{}, i[:last]...), tir.I32(int32(d)))...)
			index, inside := b.resolve(e, s[batch+d])
			at, conds = append(at, index), append(conds, inside...)
		}
		return where(conds, x.At(append(at, i[last:]...)...), none)
	})
	return by(out, &Operator{Kind: "gathernd", Inputs: []*te.Tensor{x, indices}, Attrs: batch})
}

// UpdateCache writes rows into a cache, such as keys and values of attention: along an axis, which is not the first
// one, the elements from starts[b] on are those of updates for index b of the first dimension, as many as updates has.
// If circular is set, positions are taken modulo the size of the axis; otherwise those beyond it are ignored. starts is
// a vector of integers; nil stands for zeros.
func UpdateCache(cache, updates, starts *te.Tensor, name string, axis int, circular bool) *te.Tensor {
	if bad := check(name, -1, cache, updates); bad != nil {
		return bad
	}
	s, u := cache.ProducerShape(), updates.ProducerShape()
	if bad := sameType(name, cache, updates); bad != nil {
		return bad
	}
	if bad := check(name, len(s), updates); bad != nil {
		return bad
	}
	at, bad := axisOf(name, cache, axis, len(s))
	if bad != nil {
		return bad
	}
	if at == 0 {
		return failed(name, "axis %d of tensor %s is that of the batch: want a later one", axis, cache.ProducerName())
	}
	for d := range s {
		if d != at && !arith.ProveEqual(s[d], u[d]) {
			return failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes", d, cache.ProducerName(),
				updates.ProducerName(), text.Print(s[d]), text.Print(u[d]))
		}
	}
	inputs := []*te.Tensor{cache, updates}
	if starts != nil {
		if bad := check(name, 1, starts); bad != nil {
			return bad
		}
		if bad := indexes.of(name, starts); bad != nil {
			return bad
		}
		if n := starts.ProducerShape()[0]; !arith.ProveEqual(n, s[0]) {
			return failed(name, "tensor %s has %s elements: want one for each of %s in the first dimension of tensor %s",
				starts.ProducerName(), text.Print(n), text.Print(s[0]), cache.ProducerName())
		}
		inputs = append(inputs, starts)
	}
	out := te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		old := cache.At(i...)
		if empty(u) {
			return old
		}
		rel := tir.NewCast(tir.Int64, i[at])
		if starts != nil {
			rel = tir.Sub(rel, tir.NewCast(tir.Int64, starts.At(i[0])))
		}
		if circular {
			rel = tir.FloorMod(rel, tir.Max(tir.I64(1), tir.NewCast(tir.Int64, s[at])))
		}
		from := append([]tir.Expr{}, i...)
		from[at] = rel
		return where(within(rel, u[at]), updates.At(from...), old)
	})
	return by(out, &Operator{Kind: "updatecache", Inputs: inputs, Attrs: at})
}
