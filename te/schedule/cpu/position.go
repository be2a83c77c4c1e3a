package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

const (
	greatestFrom = 128  // the number of elements from which vectors find the greatest
	quarter      = 4    // the shortest vector to which vectors are reduced
	rowsAtOnce   = 8    // the rows that columns are compared with between a load and a store of the best values
	mostColumns  = 2048 // of a block of columns, of which they find the greatest of each
)

// scheduleGreatest schedules argmax and argmin along one axis by vectors of values and of positions: along rows, lanes
// reduce the row; along another axis, lanes are adjacent results. It returns false, without a change, for others.
func scheduleGreatest(g *schedule.Group, v simd) bool {
	if g.Op == nil || len(g.Parts()) != 1 || g.Root != g.Result {
		return false
	}
	better, last := tir.OpGT, false
	switch g.Op.Kind {
	case "argmax":
	case "argmaxlast":
		last = true
	case "argmin":
		better = tir.OpLT
	case "argminlast":
		better, last = tir.OpLT, true
	default:
		return false
	}
	st := g.Schedule.Stage(g.Parts()[0])
	r, ok := st.Formulas()[0].(*tir.Reduce)
	if !ok || r.Cond != nil || len(r.Sources) != 2 || len(r.Axes) != 1 || len(st.Axes()) == 0 ||
		len(g.Schedule.Stage(g.Root).Axes()) != len(st.Axes()) || pointsOf(st) < greatestFrom {
		return false
	}
	much := pointsOf(st) >= parallelFrom
	position, value := r.Sources[0].DType(), r.Sources[1].DType()
	p := &positions{g: g, r: r, axes: st.Axes(), lanes: int64(v.lanes(value)), much: much,
		ordered: orderedPositions(better, last, r.Combiner.Identity[1])}
	low, zero := tir.IntValue(r.Axes[0].Min)
	if n := sizeOf(r.Axes[0]); n < 1 || !zero || low != 0 || p.lanes == 0 || position.Bits != value.Bits {
		return false
	}
	if contiguousAlong(r, r.Sources[1]) {
		return p.alongRows()
	}
	return p.acrossRows()
}

// orderedPositions reduces pairs of a position and a value in the order of their positions: it needs to compare no
// positions. If all values are the identity's, the first position is 0, as the identity's.
func orderedPositions(better tir.BinaryOp, last bool, worst tir.Expr) *te.Reducer {
	return te.NewReducer(func(l, r []tir.Expr) []tir.Expr {
		isFloat := tir.IsFloat(l[1].DType())
		if last {
			return choose(tir.NewBinary(better, l[1], r[1]), l, numberOver(isFloat, l, r))
		}
		same := map[tir.BinaryOp]tir.BinaryOp{tir.OpGT: tir.OpGE, tir.OpLT: tir.OpLE}[better]
		if isFloat {
			r = choose(tir.EQ(l[1], l[1]), r, l)
		}
		return choose(tir.NewBinary(same, l[1], r[1]), l, r)
	}, func(t []tir.Type) []tir.Expr { return []tir.Expr{tir.IntConst(t[0], 0), worst} })
}

// choose returns one of two pairs. Selects of selects become vector instructions, other than conditions with "or".
func choose(cond tir.Expr, a, b []tir.Expr) []tir.Expr {
	return []tir.Expr{tir.NewSelect(cond, a[0], b[0]), tir.NewSelect(cond, a[1], b[1])}
}

// numberOver returns the left pair if its value is NaN, and that of the right one is not.
func numberOver(isFloat bool, l, r []tir.Expr) []tir.Expr {
	if !isFloat {
		return r
	}
	return choose(tir.EQ(r[1], r[1]), choose(tir.EQ(l[1], l[1]), r, l), r)
}

// positions is the schedule of argmax or argmin.
type positions struct {
	g       *schedule.Group
	r       *tir.Reduce // of positions and values
	axes    []*tir.IterVar
	lanes   int64
	much    bool // enough for threads
	ordered *te.Reducer
}

// sources returns the position and the value of an element, by its indices.
func (p *positions) sources(i []tir.Expr, k tir.Expr) []tir.Expr {
	to := map[*tir.Var]tir.Expr{p.r.Axes[0].Var: k}
	for d, a := range p.axes {
		to[a.Var] = i[d]
	}
	return []tir.Expr{tir.Substitute(p.r.Sources[0], to), tir.Substitute(p.r.Sources[1], to)}
}

// pairs returns the tensors of positions and values of a shape that reduces n pairs each, in any order.
func (p *positions) pairs(suffix string, shape []tir.Expr, n int64, at func(i []tir.Expr, k tir.Expr) []tir.Expr,
) []*te.Tensor {
	k := p.axis(n)
	return te.ComputeMulti(shape, p.g.Result.ProducerName()+suffix, func(i ...tir.Expr) []tir.Expr {
		pair := at(i, k.Var)
		both := make([]tir.Expr, 2)
		for value := range both {
			both[value] = &tir.Reduce{Combiner: p.r.Combiner, Sources: pair, Axes: []*tir.IterVar{k}, Value: value}
		}
		return both
	})
}

func (p *positions) axis(n int64) *tir.IterVar {
	t := p.r.Axes[0].Var.Type
	return te.ReduceAxis(tir.IntConst(t, 0), tir.IntConst(t, n), "k")
}

// replace makes the result the positions that a function returns.
func (p *positions) replace(position func(i []tir.Expr) tir.Expr) {
	result := p.g.Result
	p.g.Schedule.Replace(result, te.Compute(result.ProducerShape(), result.ProducerName()+".positions",
		func(i ...tir.Expr) tir.Expr { return tir.NewCast(result.ProducerDType(), position(i)) }))
}

// alongRows reduces a row by vectors, these to one vector, and its lanes and the rest of the row to a pair.
func (p *positions) alongRows() bool {
	n := sizeOf(p.r.Axes[0])
	block := 4 * p.lanes
	for block > p.lanes && n < 2*block {
		block /= 2
	}
	if n < 2*block {
		return false
	}
	shape := p.g.Result.ProducerShape()
	number := func(n int64) tir.Expr { return tir.IntConst(p.r.Axes[0].Var.Type, n) }
	with := func(n int64) []tir.Expr { return append(slices.Clone(shape), tir.I32(int32(n))) }
	rank := len(shape)
	k := p.axis(n / block)
	name := p.g.Result.ProducerName()
	lanes := te.ComputeMulti(with(block), name+".lanes", func(i ...tir.Expr) []tir.Expr {
		at := tir.Add(tir.Mul(k.Var, number(block)), i[rank])
		return p.ordered.Over(p.sources(i[:rank], at), k)
	})
	steps := [][]*te.Tensor{lanes}
	for from, width := lanes, block; width > 1; {
		next := int64(1)
		switch {
		case width > p.lanes:
			next = p.lanes
		case width > quarter:
			next = quarter
		}
		shape := with(next)
		if next == 1 {
			shape = p.g.Result.ProducerShape()
		}
		source := from
		from = p.pairs(".folded", shape, width/next, func(i []tir.Expr, k tir.Expr) []tir.Expr {
			at := k
			if next > 1 {
				at = tir.Add(tir.Mul(k, number(next)), i[rank])
			}
			all := append(slices.Clone(i[:rank]), at)
			return []tir.Expr{source[0].At(all...), source[1].At(all...)}
		})
		steps = append(steps, from)
		width = next
	}
	whole := steps[len(steps)-1]
	var rest []*te.Tensor
	if done := n / block * block; done < n {
		rest = p.pairs(".rest", shape, n-done, func(i []tir.Expr, k tir.Expr) []tir.Expr {
			return p.sources(i, tir.Add(k, number(done)))
		})
		steps = append(steps, rest)
	}
	p.replace(func(i []tir.Expr) tir.Expr {
		if rest == nil {
			return whole[0].At(i...)
		}
		c := p.r.Combiner
		return tir.Substitute(c.Results[0], map[*tir.Var]tir.Expr{c.Left[0]: whole[0].At(i...),
			c.Left[1]: whole[1].At(i...), c.Right[0]: rest[0].At(i...), c.Right[1]: rest[1].At(i...)})
	})
	root := p.g.Schedule.Stage(p.g.Result)
	rows := fused(root, root.Axes())
	if p.much {
		root.Parallel(rows)
	}
	for _, x := range steps {
		st := p.g.Schedule.Stage(x[0])
		st.ComputeAt(root, rows)
		st.SetScope("local")
		axes := st.Axes()
		if len(axes) == rank {
			continue
		}
		last := axes[rank]
		vector, lane := st.Split(last, int(min(sizeOf(last), p.lanes)))
		st.Reorder(append(st.ReduceAxes(), vector, lane)...)
		st.Vectorize(lane)
		st.Unroll(vector)
	}
	return p.g.Schedule.Err() == nil
}

// acrossRows reduces the columns of blocks of them, whose results stay in the first cache.
func (p *positions) acrossRows() bool {
	last := p.axes[len(p.axes)-1]
	n := sizeOf(last)
	ok := n >= 2*p.lanes
	tir.Walk(p.r.Sources[1], func(node any) bool { // what is read is contiguous along the last dimension
		if l, isLoad := node.(*tir.ProducerLoad); isLoad {
			for d, x := range l.Indices {
				ok = ok && (!uses(x, last.Var) || d == len(l.Indices)-1 && x == tir.Expr(last.Var))
			}
		}
		return ok
	})
	if !ok {
		return false
	}
	k := p.axis(sizeOf(p.r.Axes[0]))
	best := te.ComputeMulti(p.g.Result.ProducerShape(), p.g.Result.ProducerName()+".best",
		func(i ...tir.Expr) []tir.Expr { return p.ordered.Over(p.sources(i, k.Var), k) })
	p.replace(func(i []tir.Expr) tir.Expr { return best[0].At(i...) })
	root := p.g.Schedule.Stage(p.g.Result)
	axes := root.Axes()
	width := min(max(n/4, 16*p.lanes), mostColumns) / p.lanes * p.lanes
	block, column := root.Split(axes[len(axes)-1], int(width))
	root.Split(column, int(p.lanes))
	blocks := fused(root, append(slices.Clone(axes[:len(axes)-1]), block))
	if p.much {
		root.Parallel(blocks)
	}
	st := p.g.Schedule.Stage(best[0])
	st.ComputeAt(root, blocks)
	st.SetScope("local")
	own := st.Axes()
	vector, lane := st.Split(own[len(own)-1], int(p.lanes))
	several, one := st.Split(st.ReduceAxes()[0], rowsAtOnce)
	st.Reorder(several, vector, one, lane)
	st.Unroll(one)
	st.Vectorize(lane)
	return p.g.Schedule.Err() == nil
}
