// Package rows schedules reductions of rows, and row-wise operators such as softmax, by vectors: one thread computes a
// row. The schedulers of CPUs and of devices whose driver runs kernels on a CPU share it.
package rows

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// interleaved is the number of independent vector accumulators of a reduction: the latency of an addition in cycles.
const interleaved = 4

// quarter is the length of the last vector of a reduction, whose elements are then taken one by one.
const quarter = 4

// localRow is the size in bytes up to which a row is on the stack.
const localRow = 16 << 10

// Scheduler says how rows are computed.
type Scheduler struct {
	// Lanes returns the number of elements of a type in a vector; 0 for types without vectors, and for types that
	// accumulate in another type.
	Lanes func(tir.Type) int
	// Distribute distributes the loop over rows over threads, and returns the innermost loop of rows. work is false if
	// there is only one row.
	Distribute func(st *te.Stage, rows *tir.IterVar, work bool) *tir.IterVar
	// FetchAhead says that processors fetch only what is in the same page as earlier reads: while a row is computed, its
	// place in the result and the next row of the inputs are fetched, if they are more than caches hold.
	FetchAhead bool
}

// Operator schedules a row-wise operator such as softmax: threads process rows, and within a row all parts are
// vectorized. Its reductions are over the last dimension, with one value per row; everything else is elementwise.
// inverse allows multiplication by the inverse of a divisor, which must be neither large nor small. It returns false,
// without a change, if the operator has another form.
func (v Scheduler) Operator(s *te.Schedule, root *te.Tensor, parts []*te.Tensor, inverse bool) bool {
	shape := root.ProducerShape()
	typ := root.ProducerDType()
	if tir.IsFloat(typ) && typ.Bits == 16 { // operators compute these in float32
		typ = tir.Float32
	}
	lanes := int64(v.Lanes(typ))
	last := len(shape) - 1
	if lanes == 0 || last < 0 || len(s.Stage(root).ReduceAxes()) > 0 {
		return false
	}
	width, known := shape[last].(*tir.IntImm)
	if !known || width.Value < 2*lanes {
		return false
	}
	reduces := false
	for _, p := range parts {
		reduce, ok := rowPart(s.Stage(p), shape)
		if !ok {
			return false
		}
		reduces = reduces || reduce
	}
	if !reduces {
		return false
	}
	var inner []*te.Tensor // in the order of computation
	if inverse {
		parts = MultiplyByInverse(s, root, parts)
	}
	for _, p := range parts {
		if len(s.Stage(p).ReduceAxes()) > 0 {
			inner = append(inner, v.splitReduction(s, p, lanes)...)
		}
		inner = append(inner, p)
	}
	st := s.Stage(root)
	axes := st.Axes()
	rows := axes[0]
	if last == 0 { // a single row: the loop is needed to attach the parts
		rows, _ = st.SplitParts(axes[0], 1)
	}
	for _, a := range axes[min(1, last):last] {
		rows = st.Fuse(rows, a)
	}
	rows = v.Distribute(st, rows, last > 0)
	for _, p := range slices.Backward(inner) {
		s.Stage(p).ComputeAt(st, rows)
		if width.Value*int64(p.ProducerDType().Bits/8) <= localRow {
			s.Stage(p).SetScope("local")
		}
	}
	fetched := !v.FetchAhead
	for _, p := range append(inner, root) {
		vector := stepVectors(s.Stage(p), p, last+1, lanes)
		if st := s.Stage(p); !fetched && p != root && vector != nil && len(st.ReduceAxes()) == 0 {
			fetched = true
			fetchAhead(s, st, root, vector)
		}
	}
	return s.Err() == nil
}

// MultiplyByInverse replaces the division of a row by one value by a multiplication by its inverse, which is much
// faster. It returns the parts, including the inverses.
func MultiplyByInverse(s *te.Schedule, root *te.Tensor, parts []*te.Tensor) []*te.Tensor {
	all := slices.Clone(parts)
	inverse := map[*te.Tensor]*te.Tensor{}
	for _, t := range append(slices.Clone(parts), root) {
		st := s.Stage(t)
		shared := func(l *tir.ProducerLoad) bool { // several elements read the same value
			return slices.ContainsFunc(st.Axes(), func(a *tir.IterVar) bool { return sizeOf(a) != 1 && !uses(l, a.Var) })
		}
		found := false
		m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
			d, ok := e.(*tir.Binary)
			if !ok || d.Op != tir.OpDiv || !tir.IsFloat(d.DType()) {
				return e
			}
			l, ok := d.B.(*tir.ProducerLoad)
			if !ok || !shared(l) {
				return e
			}
			from, ok := l.Producer.(*te.Tensor)
			if !ok || !slices.Contains(parts, from) {
				return e
			}
			if inverse[from] == nil {
				inverse[from] = te.Compute(from.ProducerShape(), from.ProducerName()+".inverse", func(i ...tir.Expr) tir.Expr {
					return tir.Div(tir.Const(from.ProducerDType(), 1), from.At(i...))
				})
				all = slices.Insert(all, slices.Index(all, from)+1, inverse[from])
			}
			found = true
			return tir.Mul(d.A, inverse[from].At(l.Indices...))
		}}
		formula, axes := m.MutateExpr(st.Formulas()[0]), st.Axes()
		if !found || len(st.ReduceAxes()) > 0 {
			continue
		}
		s.Replace(t, te.Compute(t.ProducerShape(), t.ProducerName()+".multiplied", func(i ...tir.Expr) tir.Expr {
			to := map[*tir.Var]tir.Expr{}
			for d, a := range axes {
				to[a.Var] = i[d]
			}
			return tir.Substitute(formula, to)
		}))
	}
	return all
}

// rowPart reports whether a stage is computed row by row, and whether it is a reduction.
func rowPart(st *te.Stage, shape []tir.Expr) (reduce, ok bool) {
	last := len(shape) - 1
	axes, formulas := st.Axes(), st.Formulas()
	if len(formulas) != 1 {
		return false, false
	}
	r, reduce := formulas[0].(*tir.Reduce)
	same := func(n int) bool {
		for d := range n {
			if !arith.ProveEqual(axes[d].Extent, shape[d]) {
				return false
			}
		}
		return true
	}
	number := len(axes) == last || len(axes) == last+1 && sizeOf(axes[last]) == 1 // one value per row
	if !reduce {
		return false, number && same(last) || len(axes) == last+1 && same(last+1)
	}
	if r.Cond != nil || len(r.Sources) != 1 || len(r.Axes) != 1 || !arith.ProveEqual(r.Axes[0].Extent, shape[last]) {
		return true, false
	}
	low, zero := r.Axes[0].Min.(*tir.IntImm)
	return true, number && same(last) && zero && low.Value == 0
}

// Within schedules a reduction of rows that is computed inside of a loop of another stage, row by row and by vectors.
// Call it before the stage is attached.
func (v Scheduler) Within(s *te.Schedule, t *te.Tensor) {
	lanes := int64(v.Lanes(t.ProducerDType()))
	steps := v.splitReduction(s, t, lanes)
	st := s.Stage(t)
	axes := st.Axes()
	for _, p := range slices.Backward(steps) {
		s.Stage(p).ComputeAt(st, axes[len(axes)-1])
		s.Stage(p).SetScope("local")
		if len(p.ProducerShape()) > len(axes) { // the others have one value per row
			stepVectors(s.Stage(p), p, len(axes), lanes)
		} else {
			unrollShort(s.Stage(p))
		}
	}
	unrollShort(st)
}

// splitReduction vectorizes the reduction of a row. A block of lanes accumulates along the row. The block is reduced to
// one vector, and this vector and the rest of the row to a scalar. It returns the steps in order.
func (v Scheduler) splitReduction(s *te.Schedule, t *te.Tensor, lanes int64) []*te.Tensor {
	st := s.Stage(t)
	r := st.Formulas()[0].(*tir.Reduce)
	k := r.Axes[0]
	n := sizeOf(k)
	block := lanes * interleaved
	if n < 2*block {
		block = lanes
	}
	axes := st.Axes()
	typ := k.Var.Type
	number := func(n int64) tir.Expr { return tir.IntConst(typ, n) }
	over := func(source func(at tir.Expr) tir.Expr, count int64) tir.Expr {
		a := te.ReduceAxis(number(0), number(count), k.Var.Name)
		return &tir.Reduce{Combiner: r.Combiner, Sources: []tir.Expr{source(a.Var)}, Axes: []*tir.IterVar{a}}
	}
	element := func(row []tir.Expr, at tir.Expr) tir.Expr {
		to := map[*tir.Var]tir.Expr{k.Var: at}
		for d, a := range axes {
			to[a.Var] = row[d]
		}
		return tir.Substitute(r.Sources[0], to)
	}
	shape := func(more ...int64) []tir.Expr {
		out := slices.Clone(t.ProducerShape())
		for _, n := range more {
			out = append(out, number(n))
		}
		return out
	}
	with := func(row []tir.Expr, at ...tir.Expr) []tir.Expr { return append(slices.Clone(row), at...) }
	name := t.ProducerName()
	// fold adds up vectors: a tensor of several per row becomes one of shorter ones.
	fold := func(from *te.Tensor, suffix string, n, lanes int64) *te.Tensor {
		return te.Compute(shape(lanes), name+suffix, func(i ...tir.Expr) tir.Expr {
			row, lane := i[:len(axes)], i[len(axes)]
			return over(func(at tir.Expr) tir.Expr { return from.At(with(row, tir.Add(tir.Mul(at, number(lanes)), lane))...) },
				n/lanes)
		})
	}
	spread := te.Compute(shape(block), name+".block", func(i ...tir.Expr) tir.Expr {
		row, lane := i[:len(axes)], i[len(axes)]
		return over(func(at tir.Expr) tir.Expr { return element(row, tir.Add(tir.Mul(at, number(block)), lane)) }, n/block)
	})
	steps := []*te.Tensor{spread}
	folded := spread
	if block > lanes {
		folded = fold(spread, ".vector", block, lanes)
		steps = append(steps, folded)
	}
	rest := lanes
	if lanes > quarter {
		rest = quarter
		folded = fold(folded, ".quarter", lanes, rest)
		steps = append(steps, folded)
	}
	all := func(row []tir.Expr) tir.Expr {
		return over(func(at tir.Expr) tir.Expr { return folded.At(with(row, at)...) }, rest)
	}
	done := n / block * block
	if done == n {
		s.Replace(t, te.Compute(t.ProducerShape(), name+".all", func(i ...tir.Expr) tir.Expr { return all(i) }))
		return steps
	}
	head := te.Compute(t.ProducerShape(), name+".head", func(i ...tir.Expr) tir.Expr { return all(i) })
	tail := te.Compute(t.ProducerShape(), name+".tail", func(i ...tir.Expr) tir.Expr {
		return over(func(at tir.Expr) tir.Expr { return element(i, tir.Add(at, number(done))) }, n-done)
	})
	s.Replace(t, te.Compute(t.ProducerShape(), name+".all", func(i ...tir.Expr) tir.Expr {
		c := r.Combiner
		return tir.Substitute(c.Results[0], map[*tir.Var]tir.Expr{c.Left[0]: head.At(i...), c.Right[0]: tail.At(i...)})
	}))
	return append(steps, head, tail)
}

// unrollShort unrolls the reduction of a short vector, so that the vector may be in registers.
func unrollShort(st *te.Stage) {
	if k := st.ReduceAxes(); len(k) == 1 && sizeOf(k[0]) > 0 && sizeOf(k[0]) <= quarter {
		st.Unroll(k[0])
	}
}

// stepVectors vectorizes a step of a reduction, or a part along its row. rank is the number of dimensions of rows.
// It returns the loop over vectors, or nil.
func stepVectors(st *te.Stage, t *te.Tensor, rank int, lanes int64) *tir.IterVar {
	n := t.ProducerShape()
	if len(n) > rank && isConst(n[rank], quarter) {
		lanes = quarter
	}
	vector := rowVectors(st, t, lanes)
	if len(n) == rank {
		unrollShort(st)
	}
	return vector
}

// rowVectors vectorizes a part along its row. It returns the loop over vectors, or nil.
func rowVectors(st *te.Stage, t *te.Tensor, lanes int64) *tir.IterVar {
	axes := st.Axes()
	reduce := st.ReduceAxes()
	if len(axes) == 0 {
		return nil
	}
	last := axes[len(axes)-1]
	n := sizeOf(last)
	if n < lanes || !slices.Contains(st.Leaves(), last) {
		if n < lanes || len(reduce) > 0 || len(axes) > 1 { // values per row
			return nil
		}
		leaves := st.Leaves()
		last = leaves[len(leaves)-1]
	}
	vector, lane := st.Split(last, int(lanes))
	st.Vectorize(lane)
	if len(reduce) > 0 {
		st.Reorder(append(reduce, vector, lane)...)
		if n/lanes <= interleaved {
			st.Unroll(vector)
		}
		if count := sizeOf(reduce[0]); count > 0 && count <= interleaved {
			st.Unroll(reduce[0])
		}
	}
	return vector
}
