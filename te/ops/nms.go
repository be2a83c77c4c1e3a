package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// SuppressionLimits are the limits of NonMaxSuppression: numbers, which may be elements of tensors.
type SuppressionLimits struct {
	Boxes   *te.Tensor // of integers: the greatest number of boxes of a class in an image; nil: no limit
	Overlap *te.Tensor // float32: the greatest overlap of two boxes, from 0 to 1; nil: 0
	Score   *te.Tensor // float32: scores have to be greater; nil: no limit
}

// NonMaxSuppression selects boxes with great scores that do not overlap much. boxes has shape [images, n, 4], and
// scores [images, classes, n]; both are float32. A box has the coordinates y, x, y, x of two opposite corners or, if
// centered is set, x, y of its center, its width and its height. For each image and class, boxes are selected in the
// order of their scores; a box is left out if the area that it shares with one that was selected is more than the part
// Overlap of the area that both cover. The tensors of limits have one element.
//
// The results are a matrix of int64, with image, class and box of each selected one in a row, and the number of rows
// that count, an int64 without dimensions. The matrix has a row for every box of each class; those beyond the number
// are 0.
func NonMaxSuppression(boxes, scores *te.Tensor, limits SuppressionLimits, name string, centered bool) []*te.Tensor {
	bad := checkSuppression(boxes, scores, limits, name)
	if bad != nil {
		return []*te.Tensor{bad, bad}
	}
	s := scores.ProducerShape()
	inputs := []*te.Tensor{boxes, scores}
	for _, t := range []*te.Tensor{limits.Boxes, limits.Overlap, limits.Score} {
		if t != nil {
			inputs = append(inputs, t)
		}
	}
	index := te.ExternResult{Shape: s, Type: tir.Int32}
	rows := indexSize(s, product(s))
	all := te.Extern([]te.ExternResult{{Shape: []tir.Expr{rows, tir.I32(3)}, Type: tir.Int64}, {Type: tir.Int64}, index,
		index, index, {Shape: s[:2], Type: tir.Int64}}, inputs, name+".boxes", func(ins, outs []*tir.Buffer) tir.Stmt {
		m := suppression{boxes: ins[0], scores: ins[1], centered: centered, n: s[2], order: outs[2], scratch: outs[3],
			selected: outs[4], counts: outs[5]}
		rest := ins[2:]
		next := func(t *te.Tensor) tir.Expr {
			if t == nil {
				return nil
			}
			e := tir.BufferAt(rest[0], first(rest[0].Shape)...)
			rest = rest[1:]
			return e
		}
		m.most, m.overlap, m.least = next(limits.Boxes), next(limits.Overlap), next(limits.Score)
		return m.statement(outs[0], outs[1])
	})
	return published(name, all[:2]...)
}

func checkSuppression(boxes, scores *te.Tensor, limits SuppressionLimits, name string) *te.Tensor {
	if bad := check(name, 3, boxes, scores); bad != nil {
		return bad
	}
	for _, t := range []*te.Tensor{boxes, scores, limits.Overlap, limits.Score} {
		if t == nil {
			continue
		}
		if bad := check(name, -1, t); bad != nil {
			return bad
		}
		if t.ProducerDType() != tir.Float32 {
			return failed(name, "tensor %s has type %s: want float32", t.ProducerName(), t.ProducerDType())
		}
	}
	if limits.Boxes != nil {
		if bad := check(name, -1, limits.Boxes); bad != nil {
			return bad
		}
		if bad := indexes.of(name, limits.Boxes); bad != nil {
			return bad
		}
	}
	for _, t := range []*te.Tensor{limits.Boxes, limits.Overlap, limits.Score} {
		if t != nil && !isConst(product(t.ProducerShape()), 1) {
			return failed(name, "tensor %s has %s elements: want 1", t.ProducerName(), text.Print(product(t.ProducerShape())))
		}
	}
	b, s := boxes.ProducerShape(), scores.ProducerShape()
	if !isConst(b[2], 4) || !arith.ProveEqual(b[0], s[0]) || !arith.ProveEqual(b[1], s[2]) {
		return failed(name, "tensors %s and %s have shapes %s and %s: want [images, n, 4] and [images, classes, n]",
			boxes.ProducerName(), scores.ProducerName(), shapeText(b), shapeText(s))
	}
	return nil
}

// suppression makes the statement of NonMaxSuppression. order, scratch and selected are indices for each image and
// class; counts are the numbers of selected ones.
type suppression struct {
	boxes, scores                    *tir.Buffer
	order, scratch, selected, counts *tir.Buffer
	most, overlap, least             tir.Expr // nil: no limit
	n                                tir.Expr
	centered                         bool
}

func (m *suppression) statement(out, number *tir.Buffer) tir.Stmt {
	classes := m.counts.Shape
	choose := parallel(classes, func(at []tir.Expr) tir.Stmt {
		score := func(k tir.Expr) tir.Expr { return tir.BufferAt(m.scores, append(append([]tir.Expr{}, at...), k)...) }
		return tir.Sequence(counted(m.n, m.order, at), counted(m.n, m.selected, at),
			mergeSort(m.n, m.order, m.scratch, at, func(a, b tir.Expr) tir.Expr { return precedes(score(a), score(b), true) }),
			m.choose(at, score))
	})
	// counts become the numbers of the first rows
	one := tir.I64(1)
	sum := cells([]tir.Type{tir.Int64}, "rows", func(v []cell) tir.Stmt {
		return tir.Sequence(v[0].set(tir.I64(0)), nested(classes, "c", func(c []tir.Expr) tir.Stmt {
			return let("own", tir.BufferAt(m.counts, c...), func(own tir.Expr) tir.Stmt {
				return tir.Sequence(store(m.counts, v[0].get(), c...), v[0].set(tir.Add(v[0].get(), own)))
			})
		}), store(number, v[0].get()))
	})
	write := parallel(classes, func(c []tir.Expr) tir.Stmt {
		full := func(k tir.Expr) []tir.Expr { return append(append([]tir.Expr{}, c...), k) }
		return cells([]tir.Type{tir.Int64}, "row", func(v []cell) tir.Stmt {
			row := v[0]
			return tir.Sequence(row.set(tir.BufferAt(m.counts, c...)), serial(m.n, "k", func(k tir.Expr) tir.Stmt {
				return let("box", tir.BufferAt(m.selected, full(k)...), func(box tir.Expr) tir.Stmt {
					put := func(d int32, e tir.Expr) tir.Stmt {
						return store(out, tir.NewCast(tir.Int64, e), row.get(), tir.I32(d))
					}
					return &tir.If{Cond: tir.GE(box, tir.I32(0)), Then: tir.Sequence(put(0, c[0]), put(1, c[1]), put(2, box),
						row.set(tir.Add(row.get(), one)))}
				})
			}))
		})
	})
	return tir.Sequence(cleared(out), choose, sum, write)
}

// choose selects the boxes of a class in an image: selected has their indices, then -1.
func (m *suppression) choose(at []tir.Expr, score func(k tir.Expr) tir.Expr) tir.Stmt {
	full := func(k tir.Expr) []tir.Expr { return append(append([]tir.Expr{}, at...), k) }
	return cells([]tir.Type{tir.Int32, tir.Bool}, "chosen", func(v []cell) tir.Stmt {
		count, keep := v[0], v[1]
		each := serial(m.n, "k", func(k tir.Expr) tir.Stmt {
			return let("box", tir.BufferAt(m.order, full(k)...), func(box tir.Expr) tir.Stmt {
				var conds []tir.Expr
				if m.most != nil {
					conds = append(conds, tir.LT(tir.NewCast(tir.Int64, count.get()), tir.NewCast(tir.Int64, m.most)))
				}
				if m.least != nil {
					conds = append(conds, tir.GT(score(box), m.least))
				}
				compare := serial(count.get(), "other", func(o tir.Expr) tir.Stmt {
					return let("chosen", tir.BufferAt(m.selected, full(o)...), func(chosen tir.Expr) tir.Stmt {
						return m.overlaps(at[0], box, chosen, keep.set(tir.BoolConst(false)))
					})
				})
				return when(conds, tir.Sequence(keep.set(tir.BoolConst(true)), compare,
					&tir.If{Cond: keep.get(), Then: tir.Sequence(store(m.selected, box, full(count.get())...),
						count.set(tir.Add(count.get(), tir.I32(1))))}))
			})
		})
		rest := serial(m.n, "k", func(k tir.Expr) tir.Stmt {
			return &tir.If{Cond: tir.GE(tir.NewCast(tir.Int32, k), count.get()), Then: store(m.selected, tir.I32(-1),
				full(k)...)}
		})
		return tir.Sequence(count.set(tir.I32(0)), each, rest, store(m.counts, tir.NewCast(tir.Int64, count.get()), at...))
	})
}

// overlaps executes a statement if two boxes of an image overlap more than they may.
func (m *suppression) overlaps(image, a, b tir.Expr, then tir.Stmt) tir.Stmt {
	half := tir.F32(0.5)
	// sides returns the lesser and the greater coordinate of a box in a dimension
	sides := func(box tir.Expr, d int32) (low, high tir.Expr) {
		p := tir.BufferAt(m.boxes, image, box, tir.I32(d))
		q := tir.BufferAt(m.boxes, image, box, tir.I32(d+2))
		if m.centered {
			return tir.Sub(p, tir.Mul(q, half)), tir.Add(p, tir.Mul(q, half))
		}
		return tir.Min(p, q), tir.Max(p, q)
	}
	var values []tir.Expr
	for d := range int32(2) {
		for _, box := range []tir.Expr{a, b} {
			low, high := sides(box, d)
			values = append(values, low, high)
		}
	}
	return named("side", values, func(v []tir.Expr) tir.Stmt {
		shared := func(d int) tir.Expr {
			return tir.Max(tir.F32(0), tir.Sub(tir.Min(v[d+1], v[d+3]), tir.Max(v[d], v[d+2])))
		}
		area := func(k int) tir.Expr { return tir.Mul(tir.Sub(v[k+1], v[k]), tir.Sub(v[k+5], v[k+4])) }
		return named("area", []tir.Expr{tir.Mul(shared(0), shared(4)), area(0), area(2)}, func(s []tir.Expr) tir.Stmt {
			limit := m.overlap
			if limit == nil {
				limit = tir.F32(0)
			}
			both := tir.Sub(tir.Add(s[1], s[2]), s[0])
			return &tir.If{Cond: holds([]tir.Expr{tir.GT(s[0], tir.F32(0)), tir.GT(s[1], tir.F32(0)), tir.GT(s[2], tir.F32(0)),
				tir.GT(tir.Div(s[0], both), limit)}), Then: then}
		})
	})
}
