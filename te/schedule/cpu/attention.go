package cpu

import (
	"math"
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

const (
	// attentionKeys is the greatest number of keys whose scores are kept at a time.
	attentionKeys = 256
	// attentionOpenKeys is that number if the number of keys is unknown: a call with few computes the others in vain.
	attentionOpenKeys = 128
	// attentionQueries is about the number of queries that share a chunk of keys in the cache.
	attentionQueries = 32
)

// attention is ops.Attention computed by blocks of queries: for each chunk of keys, the scores of a block are in the
// cache, and sums of products in registers. Keys are copied to panels before, so that the scores of adjacent keys are
// in a vector. Chunks are combined as the operator says. Its own chunks are larger than those that suit devices.
type attention struct {
	s           *te.Schedule
	simd        simd
	lanes       int64
	work        tir.Type
	name        string
	batch       []*tir.IterVar // of scores
	n           *tir.IterVar   // queries
	m           tir.Expr       // keys
	d, j        *tir.IterVar   // the sums over the elements of a key, and over the keys of a chunk
	chunk, key  *tir.IterVar   // of scores
	q, k        tir.Expr       // formulas of the scores
	part        tir.Producer   // the operator's scores
	shown       *te.Stage      // and its scaled and masked scores
	value       tir.Expr       // the formula of a value in products
	valueAxes   []*tir.IterVar // of products
	e           int64          // elements of a value
	top, all    *tir.Combiner
	rows        int64 // queries of a tile
	tiles       int64 // of a block of queries
	block       int64 // queries of a block
	keys        int64 // of a tile
	elements    int64 // of a tile
	size        int64 // keys of a chunk
	chunks      tir.Expr
	even        bool // chunks divide the keys
	keyPanels   *te.Tensor
	valuePanels *te.Tensor // nil: values are read where they are
}

// scheduleAttention schedules ops.Attention of float32 or float16. It returns false, without a change, if vectors don't
// help, or the size of a value is unknown.
func scheduleAttention(g *schedule.Group, v simd) bool {
	a := attentionOf(g, v)
	if a == nil {
		return false
	}
	result := g.Schedule.Stage(g.Result).Tensor()
	a.keyPanels = a.panelsOfKeys()
	values := g.Schedule.Stage(g.Parts()[5])
	if !a.even || a.e%a.elements != 0 || !adjacent(g.Schedule, values, a.valueAxes[len(a.valueAxes)-1]) {
		a.valuePanels = a.panelsOfValues()
	}
	scores := a.scores()
	shown := a.masked(scores)
	top := a.greatest(shown)
	weights := te.Compute(shown.ProducerShape(), a.name+".weights", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("exp", tir.Sub(shown.At(i...), top.At(i[:len(i)-1]...)))
	})
	sums := a.sumsOf(weights)
	products := a.products(weights)
	var all []*te.Tensor
	if !isOne(a.chunks) {
		all = a.combined(top, sums, products)
	}
	b := len(a.batch)
	s := g.Schedule
	s.Replace(g.Result, te.Compute(result.ProducerShape(), a.name+".whole", func(i ...tir.Expr) tir.Expr {
		at := append(slices.Clone(i[:b]), over(i[b], a.block))
		row, element := rest(i[b], a.block), i[b+1]
		var sum, product tir.Expr
		if all != nil {
			sum, product = all[1].At(append(at, row, element)...), all[2].At(append(at, row, element)...)
		} else {
			at = append(at, tir.IntConst(a.chunks.DType(), 0))
			sum = sums.At(append(slices.Clone(at), row)...)
			product = products.At(append(at, a.tileOf(row, element, a.elements)...)...)
		}
		none := tir.EQ(sum, tir.Const(a.work, 0)) // no key is seen
		value := tir.Expr(tir.NewSelect(none, tir.Const(a.work, 0), tir.Div(product, sum)))
		if t := result.ProducerDType(); t != a.work {
			value = tir.NewCast(t, value)
		}
		return value
	}))
	if g.Root != g.Result {
		s.Stage(g.Result).ComputeInline()
	}
	a.schedule(s.Stage(g.Root), scores, shown, top, weights, sums, products, all)
	return s.Err() == nil
}

// attentionOf analyzes the operator and chooses the sizes of tiles; nil if the schedule does not suit it.
func attentionOf(g *schedule.Group, v simd) *attention {
	if g.Op == nil || g.Op.Kind != "attention" || len(g.Parts()) != 7 {
		return nil
	}
	s, parts := g.Schedule, g.Parts()
	st := func(i int) *te.Stage { return s.Stage(parts[i]) }
	reduction := func(i int) *tir.Reduce { r, _ := st(i).Formulas()[0].(*tir.Reduce); return r }
	factors := func(i int) (x, y tir.Expr) {
		if r := reduction(i); r != nil {
			if p, ok := r.Sources[0].(*tir.Binary); ok && p.Op == tir.OpMul {
				return p.A, p.B
			}
		}
		return nil, nil
	}
	a := &attention{s: s, work: parts[0].ProducerDType(), name: g.Result.ProducerName(), part: parts[0], shown: st(1),
		simd: v}
	a.lanes = int64(v.lanes(a.work))
	axes := st(0).Axes()
	b := len(axes) - 3
	a.batch, a.n, a.chunk, a.key = axes[:b], axes[b], axes[b+1], axes[b+2]
	a.q, a.k = factors(0)
	a.k = unguarded(a.k)
	_, a.value = factors(5)
	a.value = unguarded(a.value)
	if a.lanes == 0 || a.q == nil || a.value == nil || reduction(2) == nil || reduction(6) == nil {
		return nil
	}
	for _, x := range slices.Concat(axes, st(5).Axes(), st(0).ReduceAxes(), st(5).ReduceAxes()) {
		if x.Var.Type != a.n.Var.Type { // indices are combined
			return nil
		}
	}
	a.d, a.j = st(0).ReduceAxes()[0], st(5).ReduceAxes()[0]
	a.valueAxes = st(5).Axes()
	a.top, a.all = reduction(2).Combiner, reduction(6).Combiner
	shape := g.Op.Inputs[1].ProducerShape()
	a.m = shape[len(shape)-2]
	m, known := tir.IntValue(a.m)
	n := sizeOf(a.n)
	a.e = sizeOf(a.valueAxes[b+2])
	if known && m == 0 || n == 0 || 2*a.e < a.lanes || sizeOf(a.d) == 0 {
		return nil
	}
	vectors := func(n int64) int64 {
		if n > 0 && n <= a.lanes {
			return 1
		}
		return 2
	}
	a.elements, a.keys, a.size = vectors(a.e)*a.lanes, 2*a.lanes, attentionOpenKeys
	if known {
		a.keys = vectors(m) * a.lanes
		a.size = ceilDiv(ceilDiv(m, ceilDiv(m, attentionKeys)), a.keys) * a.keys
		a.even = m%a.size == 0
		a.chunks = tir.IntConst(a.m.DType(), ceilDiv(m, a.size))
	} else {
		a.chunks = simplified(tir.FloorDiv(tir.Add(a.m, tir.IntConst(a.m.DType(), a.size-1)),
			tir.IntConst(a.m.DType(), a.size)))
	}
	most := min(v.rowsBeside(2), 14)
	a.rows = min(most, 8)
	if n >= 0 {
		a.rows = rowsOf(n, most, 2)
	}
	a.tiles = max(1, attentionQueries/a.rows)
	if n >= 0 {
		a.tiles = min(a.tiles, ceilDiv(n, a.rows))
	}
	a.block = a.rows * a.tiles
	return a
}

// unguarded removes the condition that a key exists.
func unguarded(e tir.Expr) tir.Expr {
	if c, ok := e.(*tir.Call); ok && c.Name == "if_then_else" {
		return c.Args[1]
	}
	return e
}

// adjacent reports whether consecutive values of an axis read adjacent elements, also where tensors between are
// computed inline.
func adjacent(s *te.Schedule, st *te.Stage, axis *tir.IterVar) bool {
	ok := true
	schedule.EachRead(s, st, func(_ *te.Tensor, at []tir.Expr) {
		for d, x := range at {
			if !uses(x, axis.Var) {
				continue
			}
			next := tir.Substitute(x, map[*tir.Var]tir.Expr{axis.Var: tir.Add(axis.Var, tir.IntConst(axis.Var.Type, 1))})
			ok = ok && d == len(at)-1 && isOne(simplified(tir.Sub(next, x)))
		}
	})
	return ok
}

func isOne(e tir.Expr) bool {
	n, ok := tir.IntValue(e)
	return ok && n == 1
}

// numberLike is an integer of the type of another expression.
func numberLike(like tir.Expr, n int64) tir.Expr { return tir.IntConst(like.DType(), n) }

// shape returns the dimensions of a tensor that the loops over blocks and chunks compute.
func (a *attention) shape(sizes ...int64) []tir.Expr {
	out := append(a.blocks(), a.chunks)
	for _, n := range sizes {
		out = append(out, numberLike(a.n.Var, n))
	}
	return out
}

// blocks returns the dimensions of batches and of blocks of queries.
func (a *attention) blocks() []tir.Expr {
	var out []tir.Expr
	for _, x := range a.batch {
		out = append(out, x.Extent)
	}
	return append(out, tiles(a.n, a.block))
}

// query returns a query of a block; behind the last one, it is the last one again.
func (a *attention) query(block, row tir.Expr) tir.Expr {
	at := tir.Add(tir.Mul(block, numberLike(block, a.block)), row)
	if n := sizeOf(a.n); n >= 0 && n%a.block == 0 {
		return at
	}
	return tir.Min(at, tir.Sub(a.n.Extent, numberLike(a.n.Extent, 1)))
}

// tileOf returns indices of a row and a column by tiles.
func (a *attention) tileOf(row, column tir.Expr, width int64) []tir.Expr {
	return []tir.Expr{over(row, a.rows), over(column, width), rest(row, a.rows), rest(column, width)}
}

// substituted returns a formula over axes of the operator with other indices: those of batches, and more in pairs of an
// axis and an index.
func (a *attention) substituted(formula tir.Expr, axes []*tir.IterVar, batch []tir.Expr,
	more map[*tir.IterVar]tir.Expr) tir.Expr {
	to := map[*tir.Var]tir.Expr{}
	for i := range a.batch {
		to[axes[i].Var] = batch[i]
	}
	for axis, x := range more {
		to[axis.Var] = x
	}
	return tir.Substitute(formula, to)
}

// panels are values in the order in which tiles read them: [batch, chunk, tile, step, lane]. at returns an element for
// indices of the batches that the operand has, and of a key; the other index is a step or a lane.
func (a *attention) panels(name string, formula tir.Expr, axes []*tir.IterVar, tiles, steps tir.Expr, width int64,
	at func(batch []tir.Expr, chunk, tile, step, lane tir.Expr) tir.Expr) *te.Tensor {
	batch := among(formula, axes[:len(a.batch)])
	var shape []tir.Expr
	for _, x := range batch {
		shape = append(shape, x.Extent)
	}
	b := len(batch)
	shape = append(shape, a.chunks, tiles, steps, numberLike(tiles, width))
	return te.Compute(shape, a.name+"."+name, func(i ...tir.Expr) tir.Expr {
		full := make([]tir.Expr, len(a.batch))
		for k, x := range axes[:len(a.batch)] {
			full[k] = x.Var
			if n := slices.Index(batch, x); n >= 0 {
				full[k] = i[n]
			}
		}
		return at(full, i[b], i[b+1], i[b+2], i[b+3])
	})
}

// guarded is e where a condition holds, else 0. all is a condition on whole tiles for which it always holds.
func (a *attention) guarded(e, all, each tir.Expr) tir.Expr {
	zero := tir.Const(e.DType(), 0)
	return tir.Intrin("if_then_else", all, e, tir.Intrin("if_then_else", each, e, zero))
}

func (a *attention) keyOf(chunk, within tir.Expr) tir.Expr {
	return tir.Add(tir.Mul(chunk, numberLike(chunk, a.size)), within)
}

func (a *attention) panelsOfKeys() *te.Tensor {
	axes := append(slices.Clone(a.batch), a.n, a.chunk, a.key)
	tiles := numberLike(a.m, a.size/a.keys)
	return a.panels("keys", a.k, axes, tiles, a.d.Extent, a.keys,
		func(batch []tir.Expr, chunk, tile, step, lane tir.Expr) tir.Expr {
			start := a.keyOf(chunk, tir.Mul(tile, numberLike(tile, a.keys)))
			key := tir.Add(start, lane)
			value := a.substituted(a.k, axes, batch,
				map[*tir.IterVar]tir.Expr{a.chunk: numberLike(a.m, 0), a.key: key, a.d: step})
			if a.even {
				return value
			}
			return a.guarded(value, tir.LE(tir.Add(start, numberLike(start, a.keys)), a.m), tir.LT(key, a.m))
		})
}

func (a *attention) panelsOfValues() *te.Tensor {
	tiles := numberLike(a.m, ceilDiv(a.e, a.elements))
	b := len(a.batch)
	return a.panels("values", a.value, a.valueAxes, tiles, numberLike(a.m, a.size), a.elements,
		func(batch []tir.Expr, chunk, tile, step, lane tir.Expr) tir.Expr {
			key := a.keyOf(chunk, step)
			element := tir.Add(tir.Mul(tile, numberLike(tile, a.elements)), lane)
			value := a.valueAt(batch, key, element)
			if a.e%a.elements != 0 {
				e := a.valueAxes[b+2].Extent
				value = a.guarded(value, tir.LT(tile, over(e, a.elements)), tir.LT(element, e))
			}
			if a.even {
				return value
			}
			return tir.Intrin("if_then_else", tir.LT(key, a.m), value, tir.Const(value.DType(), 0))
		})
}

func (a *attention) valueAt(batch []tir.Expr, key, element tir.Expr) tir.Expr {
	b := len(a.batch)
	return a.substituted(a.value, a.valueAxes, batch, map[*tir.IterVar]tir.Expr{
		a.valueAxes[b+1]: numberLike(a.m, 0), a.j: key, a.valueAxes[b+2]: element})
}

// panelAt reads panels that panels has made.
func (a *attention) panelAt(panels *te.Tensor, formula tir.Expr, axes []*tir.IterVar, batch []tir.Expr,
	more ...tir.Expr) tir.Expr {
	var at []tir.Expr
	for i, x := range axes[:len(a.batch)] {
		if uses(formula, x.Var) {
			at = append(at, batch[i])
		}
	}
	return panels.At(append(at, more...)...)
}

// reduceOver returns an axis to sum over.
func reduceOver(n tir.Expr, name string) *tir.IterVar {
	return te.ReduceAxis(tir.IntConst(n.DType(), 0), n, name)
}

// scores are the products of queries and keys: [batch, block, chunk, row tile, key tile, row, key].
func (a *attention) scores() *te.Tensor {
	b := len(a.batch)
	axes := append(slices.Clone(a.batch), a.n, a.chunk, a.key)
	d := reduceOver(a.d.Extent, "d")
	shape := a.shape(a.tiles, a.size/a.keys, a.rows, a.keys)
	return te.Compute(shape, a.name+".scores", func(i ...tir.Expr) tir.Expr {
		row := tir.Add(tir.Mul(i[b+2], numberLike(i[b+2], a.rows)), i[b+4])
		q := a.substituted(a.q, axes, i[:b], map[*tir.IterVar]tir.Expr{a.n: a.query(i[b], row), a.d: d.Var})
		return te.Sum(tir.Mul(q, a.panelAt(a.keyPanels, a.k, axes, i[:b], i[b+1], i[b+3], d.Var, i[b+5])), d)
	})
}

// masked are the scaled scores as the operator defines them, -inf for keys that a query does not see.
func (a *attention) masked(scores *te.Tensor) *te.Tensor {
	b := len(a.batch)
	axes := a.shown.Axes()
	formula := a.shown.Formulas()[0]
	return te.Compute(a.shape(a.block, a.size), a.name+".shown", func(i ...tir.Expr) tir.Expr {
		score := scores.At(append(slices.Clone(i[:b+2]), a.tileOf(i[b+2], i[b+3], a.keys)...)...)
		at := func(key tir.Expr) tir.Expr {
			m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
				if l, ok := e.(*tir.ProducerLoad); ok && l.Producer == a.part {
					return score
				}
				return e
			}}
			return a.substituted(m.MutateExpr(formula), axes, i[:b], map[*tir.IterVar]tir.Expr{
				axes[b]: a.query(i[b], i[b+2]), axes[b+1]: numberLike(a.m, 0), axes[b+2]: key})
		}
		key := a.keyOf(i[b+1], i[b+3])
		if a.even {
			return at(key)
		}
		last := tir.Sub(a.m, numberLike(a.m, 1))
		end := tir.Mul(tir.Add(i[b+1], numberLike(i[b+1], 1)), numberLike(i[b+1], a.size))
		return tir.Intrin("if_then_else", tir.LE(end, a.m), at(key),
			tir.NewSelect(tir.LT(key, a.m), at(tir.Min(key, last)), tir.Const(a.work, math.Inf(-1))))
	})
}

// rowOf is a reduction of each row of a tensor to one value.
func (a *attention) rowOf(x *te.Tensor, name string, over func(element tir.Expr, j *tir.IterVar) tir.Expr) *te.Tensor {
	shape := x.ProducerShape()
	last := len(shape) - 1
	j := reduceOver(shape[last], "j")
	return te.Compute(shape[:last], a.name+"."+name, func(i ...tir.Expr) tir.Expr {
		return over(x.At(append(i, j.Var)...), j)
	})
}

func (a *attention) greatest(shown *te.Tensor) *te.Tensor {
	return a.rowOf(shown, "top", func(x tir.Expr, j *tir.IterVar) tir.Expr {
		return &tir.Reduce{Combiner: a.top, Sources: []tir.Expr{x}, Axes: []*tir.IterVar{j}}
	})
}

func (a *attention) sumsOf(weights *te.Tensor) *te.Tensor {
	return a.rowOf(weights, "total", func(x tir.Expr, j *tir.IterVar) tir.Expr { return te.Sum(x, j) })
}

// products are the sums of weighted values: [batch, block, chunk, row tile, element tile, row, element].
func (a *attention) products(weights *te.Tensor) *te.Tensor {
	b := len(a.batch)
	j := reduceOver(numberLike(a.m, a.size), "j")
	shape := a.shape(a.tiles, ceilDiv(a.e, a.elements), a.rows, a.elements)
	return te.Compute(shape, a.name+".mixed", func(i ...tir.Expr) tir.Expr {
		row := tir.Add(tir.Mul(i[b+2], numberLike(i[b+2], a.rows)), i[b+4])
		var value tir.Expr
		if a.valuePanels != nil {
			value = a.panelAt(a.valuePanels, a.value, a.valueAxes, i[:b], i[b+1], i[b+3], j.Var, i[b+5])
		} else {
			element := tir.Add(tir.Mul(i[b+3], numberLike(i[b+3], a.elements)), i[b+5])
			value = a.valueAt(i[:b], a.keyOf(i[b+1], j.Var), element)
		}
		return te.Sum(tir.Mul(weights.At(append(slices.Clone(i[:b+2]), row, j.Var)...), value), j)
	})
}

// combined combines chunks as the operator does: [batch, block, row, element], where the elements are those of whole
// tiles.
func (a *attention) combined(top, sums, products *te.Tensor) []*te.Tensor {
	b := len(a.batch)
	chunk := reduceOver(a.chunks, "chunk")
	shape := append(a.blocks(), numberLike(a.n.Var, a.block), numberLike(a.n.Var, ceilDiv(a.e, a.elements)*a.elements))
	return te.ComputeMulti(shape, a.name+".online", func(i ...tir.Expr) []tir.Expr {
		at := append(slices.Clone(i[:b+1]), chunk.Var)
		row := append(slices.Clone(at), i[b+1])
		sources := []tir.Expr{top.At(row...), sums.At(row...),
			products.At(append(slices.Clone(at), a.tileOf(i[b+1], i[b+2], a.elements)...)...)}
		var out []tir.Expr
		for n := range sources {
			out = append(out, &tir.Reduce{Combiner: a.all, Sources: sources, Axes: []*tir.IterVar{chunk}, Value: n})
		}
		return out
	})
}
