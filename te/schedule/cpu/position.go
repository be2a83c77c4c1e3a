package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/te/schedule/rows"
	"tvmgo/tir"
)

const (
	greatestFrom = 128     // the number of elements from which vectors find the greatest
	chunkOfRow   = 512     // the elements of a part of a row, of which the one with the best value is searched
	mostLocal    = 1 << 14 // the size in bytes of values that are on the stack
	rowsAtOnce   = 8       // the rows that columns are compared with between a load and a store of the best values
	mostColumns  = 2048    // of a block of columns, of which they find the greatest of each
)

// scheduleGreatest schedules argmax and argmin along one axis by vectors of values and of positions: along rows, lanes
// reduce the row; along another axis, lanes are adjacent results. It returns false, without a change, for others.
func scheduleGreatest(g *schedule.Group, v simd, by rows.Scheduler) bool {
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
		last: last, by: by, ordered: orderedPositions(better, last, r.Combiner.Identity[1]),
		extreme: extremeValue(better, r.Combiner.Identity[1])}
	low, zero := tir.IntValue(r.Axes[0].Min)
	switch n := sizeOf(r.Axes[0]); {
	case n < 1 || !zero || low != 0 || p.lanes == 0:
		return false
	case contiguousAlong(r, r.Sources[1]):
		return value.Bits >= 32 && p.alongRows()
	}
	return position.Bits == value.Bits && p.acrossRows()
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

// extremeValue reduces values to the best one: NaN, if there is one.
func extremeValue(better tir.BinaryOp, worst tir.Expr) *te.Reducer {
	return te.NewReducer(func(l, r []tir.Expr) []tir.Expr {
		best := map[tir.BinaryOp]func(a, b tir.Expr) tir.Expr{tir.OpGT: tir.Max, tir.OpLT: tir.Min}[better](l[0], r[0])
		if tir.IsFloat(l[0].DType()) { // the greatest of a number and NaN is the second of them
			best = tir.NewSelect(tir.EQ(l[0], l[0]), best, l[0])
		}
		return []tir.Expr{best}
	}, func([]tir.Type) []tir.Expr { return []tir.Expr{worst} })
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
	last    bool // of several equal values, the last one is searched for
	by      rows.Scheduler
	values  *te.Tensor  // of each row, if they have to be computed
	ordered *te.Reducer // of pairs of a position and a value, in order
	extreme *te.Reducer // of values
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

// alongRows reduces chunks of a row to the best value of each, these to the chunk with the best value of all, and
// searches only this one for the position. What remains of the row is another chunk.
func (p *positions) alongRows() bool {
	n := sizeOf(p.r.Axes[0])
	if n < 2*p.lanes || n >= 1<<31 {
		return false
	}
	name, shape := p.g.Result.ProducerName(), p.g.Result.ProducerShape()
	if _, isLoad := p.r.Sources[1].(*tir.ProducerLoad); !isLoad { // computed once: twice might not give the same bits
		p.values = te.Compute(append(slices.Clone(shape), p.number(n)), name+".values", func(i ...tir.Expr) tir.Expr {
			return p.sources(i[:len(shape)], i[len(shape)])[1]
		})
	}
	var all []*chunks
	var few []*te.Tensor                        // the pair of what is too short for vectors
	var pairs []func(row []tir.Expr) []tir.Expr // of these parts of a row
	add := func(c *chunks) { all, pairs = append(all, c), append(pairs, c.pair) }
	if count := n / chunkOfRow; count > 0 {
		add(p.chunks(".chunk", count, chunkOfRow, 0))
	}
	switch rest := n % chunkOfRow; {
	case rest >= 2*p.lanes:
		add(p.chunks(".last", 1, rest, n-rest))
	case rest > 0:
		few = p.pairs(".rest", shape, rest, func(i []tir.Expr, k tir.Expr) []tir.Expr {
			return p.pairAt(i, tir.Add(k, p.number(n-rest)))
		})
		pairs = append(pairs, func(i []tir.Expr) []tir.Expr { return []tir.Expr{few[0].At(i...), few[1].At(i...)} })
	}
	p.replace(func(i []tir.Expr) tir.Expr {
		left := pairs[0](i)
		if len(pairs) == 1 {
			return left[0]
		}
		right, c := pairs[1](i), p.r.Combiner
		return tir.Substitute(c.Results[0], map[*tir.Var]tir.Expr{c.Left[0]: left[0], c.Left[1]: left[1],
			c.Right[0]: right[0], c.Right[1]: right[1]})
	})
	root := p.g.Schedule.Stage(p.g.Result)
	row := fused(root, root.Axes())
	if p.much {
		root.Parallel(row)
	}
	inRow := func(x *te.Tensor) *te.Stage {
		st := p.g.Schedule.Stage(x)
		st.ComputeAt(root, row)
		if int(n)*int(x.ProducerDType().Bits)/8 <= mostLocal || x != p.values {
			st.SetScope("local")
		}
		return st
	}
	if few != nil {
		inRow(few[0])
	}
	for _, c := range all {
		for _, x := range []*te.Tensor{c.where, c.best} {
			p.by.Within(p.g.Schedule, x)
		}
		inRow(c.where)
		if c.found != nil {
			inRow(c.found[0])
		}
		inRow(c.best)
	}
	if p.values != nil {
		st := inRow(p.values)
		own := st.Axes()
		_, lane := st.Split(own[len(own)-1], int(p.lanes))
		st.Vectorize(lane)
	}
	return p.g.Schedule.Err() == nil
}

// number is a constant position.
func (p *positions) number(n int64) tir.Expr { return tir.IntConst(p.r.Axes[0].Var.Type, n) }

// pairAt returns the position and the value of an element of a row.
func (p *positions) pairAt(i []tir.Expr, k tir.Expr) []tir.Expr {
	pair := p.sources(i, k)
	if p.values != nil {
		pair[1] = p.values.At(append(slices.Clone(i), k)...)
	}
	return pair
}

// chunks are parts of each row of the same size, one after the other.
type chunks struct {
	start tir.Type     // of positions in the row
	from  tir.Expr     // the position of the only chunk
	best  *te.Tensor   // the best value of each chunk
	found []*te.Tensor // the first position of the chunk with the best value of all, and that value; nil: there is one
	where *te.Tensor   // the position of that value in its chunk
}

// chunks returns the tensors that find the best value of count chunks of a row, from a position on.
func (p *positions) chunks(suffix string, count, size, from int64) *chunks {
	c := &chunks{from: p.number(from), start: p.r.Sources[0].DType()}
	name, shape := p.g.Result.ProducerName()+suffix, p.g.Result.ProducerShape()
	rank := len(shape)
	k := p.axis(size)
	c.best = te.Compute(append(slices.Clone(shape), p.number(count)), name+".best", func(i ...tir.Expr) tir.Expr {
		at := tir.Add(tir.Add(tir.Mul(i[rank], p.number(size)), k.Var), c.from)
		return p.extreme.Over(p.pairAt(i[:rank], at)[1:], k)[0]
	})
	if count > 1 {
		c.found = p.pairs(suffix+".found", shape, count, func(i []tir.Expr, k tir.Expr) []tir.Expr {
			start := tir.NewCast(c.start, tir.Mul(k, p.number(size)))
			return []tir.Expr{start, c.best.At(append(slices.Clone(i), k)...)}
		})
	}
	position := tir.Int32
	if c.best.ProducerDType().Bits == 64 {
		position = tir.Int64
	}
	k = p.axis(size)
	c.where = te.Compute(shape, name+".where", func(i ...tir.Expr) tir.Expr {
		best := c.of(i)
		v, here := p.pairAt(i, tir.Add(tir.NewCast(k.Var.Type, best[0]), k.Var))[1], tir.NewCast(position, k.Var)
		nowhere, least := tir.IntConst(position, size), tir.Min
		if p.last {
			nowhere, least = tir.IntConst(position, -1), tir.Max
		}
		found := tir.NewSelect(tir.EQ(v, best[1]), here, nowhere)
		if tir.IsFloat(v.DType()) { // no number equals NaN, which is the best value if there is one
			found = tir.NewSelect(tir.EQ(v, v), found, here)
		}
		first := te.NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{least(l[0], r[0])} },
			func([]tir.Type) []tir.Expr { return []tir.Expr{nowhere} })
		return first.Over([]tir.Expr{found}, k)[0]
	})
	return c
}

// of returns the first position of the chunk with the best value, and that value.
func (c *chunks) of(i []tir.Expr) []tir.Expr {
	if c.found == nil {
		return []tir.Expr{tir.NewCast(c.start, c.from), c.best.At(append(slices.Clone(i), tir.I32(0))...)}
	}
	return []tir.Expr{c.found[0].At(i...), c.found[1].At(i...)}
}

// pair returns the position of the best value in its row, and that value.
func (c *chunks) pair(i []tir.Expr) []tir.Expr {
	best := c.of(i)
	return []tir.Expr{tir.Add(best[0], tir.NewCast(c.start, c.where.At(i...))), best[1]}
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
