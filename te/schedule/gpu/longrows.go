package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/te/schedule/rows"
	"tvmgo/tir"
)

// Rows that no registers hold, and rows of unknown length, are read twice: the first pass reduces them to all values
// that the second one needs. For a softmax these are the maximum and the sum of the exponentials, which a greater
// maximum scales; for a norm the mean and the sum of the squared differences to it, by the formulas of Welford and
// Chan.

// long schedules a group with long rows; false, without a change, if it has another form.
func (d *rowGroup) long(g *schedule.Group, r *Reduction, e *Elementwise) bool {
	if d.RowThreads > 0 || d.rows == 0 || d.length == 0 || !d.onePass(g.Op.Kind) {
		return false
	}
	d.twice = true
	stats := d.reductions()[0]
	if g.Op.InverseDivisor {
		d.parts = rows.MultiplyByInverse(d.s, d.root, d.parts)
	}
	few := r.sized(d.s, stats, d.l)
	few.along = d.along
	few.vectorize()
	part := few.divide()
	if part == nil {
		threads := powerBelow(min(d.Threads, 512))
		if !d.along {
			threads = max(1, threads/d.Columns)
		}
		lanes := d.lanes()
		d.kernel(threads, lanes, nil)
		if lanes > 1 {
			d.vectors(stats)
		}
		return true
	}
	r.sized(d.s, part, d.l).as(few).kernel(part, []*te.Tensor{part})
	rest := r.sized(d.s, stats, d.l)
	rest.along = d.along
	if d.values {
		rest.kernel(d.root, append(slices.Clone(d.parts), d.root))
		return true
	}
	rest.kernel(stats, []*te.Tensor{stats})
	for _, t := range d.parts {
		if t != stats {
			d.s.Stage(t).ComputeInline()
		}
	}
	e.kernel(d.s, d.root, nil, d.l)
	return true
}

// reductions returns the parts that reduce rows.
func (d *rowGroup) reductions() (all []*te.Tensor) {
	for _, t := range d.parts {
		if len(d.s.Stage(t).ReduceAxes()) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// onePass replaces the reductions of the group by a single one; false, without a change, if it cannot.
func (d *rowGroup) onePass(kind string) bool {
	all := d.reductions()
	var stats []*te.Tensor
	switch {
	case len(all) == 1:
		return true
	case len(all) != 2:
		return false
	case kind == "softmax" || kind == "logsoftmax":
		stats = d.exponentials(all[0], all[1])
	default:
		stats = d.moments(all[0], all[1])
	}
	if stats == nil {
		return false
	}
	left := d.s.Stages()
	d.parts = append(stats[:1:1], slices.DeleteFunc(d.parts, func(t *te.Tensor) bool { // the others are not needed
		return !slices.ContainsFunc(left, func(st *te.Stage) bool { return st.Tensor() == t })
	})...)
	return true
}

// over reduces the element that a reduction reads to several values.
func (d *rowGroup) over(t *te.Tensor, name string, r *te.Reducer, values func(x tir.Expr) []tir.Expr) []*te.Tensor {
	st := d.s.Stage(t)
	old := st.Formulas()[0].(*tir.Reduce)
	to := map[*tir.Var]tir.Expr{}
	var axes []*tir.IterVar
	for _, a := range old.Axes {
		k := te.ReduceAxis(a.Min, a.Extent, a.Var.Name)
		axes, to[a.Var] = append(axes, k), k.Var
	}
	return te.ComputeMulti(t.ProducerShape(), name, func(i ...tir.Expr) []tir.Expr {
		for n, a := range st.Axes() {
			to[a.Var] = i[n]
		}
		return r.Over(values(tir.Substitute(old.Sources[0], to)), axes...)
	})
}

// become makes a tensor of the group the value of another one at indices over the tensor's axes, converted to its type.
func (d *rowGroup) become(t, from *te.Tensor, at []tir.Expr) {
	axes := d.s.Stage(t).Axes()
	d.s.Replace(t, te.Compute(t.ProducerShape(), t.ProducerName()+".once", func(i ...tir.Expr) tir.Expr {
		to := map[*tir.Var]tir.Expr{}
		for n, a := range axes {
			to[a.Var] = i[n]
		}
		index := make([]tir.Expr, len(at))
		for n, x := range at {
			index[n] = tir.Substitute(x, to)
		}
		return tir.NewCast(t.ProducerDType(), from.At(index...))
	}))
}

func axesOf(st *te.Stage) []tir.Expr {
	var at []tir.Expr
	for _, a := range st.Axes() {
		at = append(at, a.Var)
	}
	return at
}

// exponentials replaces the maximum of a softmax and the sum of its exponentials by one reduction. The maximum begins
// at the least finite number: the parts of threads that have seen -inf alone are 0, not NaN.
func (d *rowGroup) exponentials(top, sum *te.Tensor) []*te.Tensor {
	if !sameShape(top.ProducerShape(), sum.ProducerShape()) {
		return nil
	}
	work := sum.ProducerDType()
	scaled := func(sum, top, greater tir.Expr) tir.Expr {
		return tir.Mul(sum, tir.Intrin("exp", tir.Sub(top, greater)))
	}
	r := te.NewReducer(func(l, r []tir.Expr) []tir.Expr {
		m := tir.Max(l[0], r[0])
		return []tir.Expr{m, tir.Add(scaled(l[1], l[0], m), scaled(r[1], r[0], m))}
	}, func([]tir.Type) []tir.Expr { return []tir.Expr{leastFinite(work), tir.Const(work, 0)} })
	both := d.over(top, top.ProducerName()+".sum", r, func(x tir.Expr) []tir.Expr {
		return []tir.Expr{tir.NewCast(work, x), tir.Const(work, 1)}
	})
	d.become(top, both[0], axesOf(d.s.Stage(top)))
	d.become(sum, both[1], axesOf(d.s.Stage(sum)))
	return both
}

func leastFinite(t tir.Type) tir.Expr {
	if t == tir.Float64 {
		return tir.Const(t, -0x1.fffffffffffffp1023)
	}
	return tir.Const(t, -0x1.fffffep127)
}

// moments replaces the sum of the elements and the sum of squared differences to their mean by one reduction, to the
// number of elements, the mean, and the sum of squares.
func (d *rowGroup) moments(sum, squares *te.Tensor) []*te.Tensor {
	var mean *te.Tensor
	var at []tir.Expr // the mean's indices in the formula of the squares
	schedule.EachLoad(d.s.Stage(squares), func(l *tir.ProducerLoad) {
		if t := l.Producer.(*te.Tensor); t != sum && slices.Contains(d.parts, t) {
			mean, at = t, l.Indices
		}
	})
	if mean == nil || !sameShape(mean.ProducerShape(), sum.ProducerShape()) || len(d.s.Stage(mean).ReduceAxes()) > 0 {
		return nil
	}
	for _, x := range at { // an index over the reduction, such as the group of a channel
		for _, k := range d.s.Stage(squares).ReduceAxes() {
			if uses(x, k) {
				at = nil
			}
		}
	}
	if at == nil {
		if !sameShape(squares.ProducerShape(), mean.ProducerShape()) {
			return nil
		}
		at = axesOf(d.s.Stage(squares))
	}
	work := sum.ProducerDType()
	zero := tir.Const(work, 0)
	r := te.NewReducer(func(l, r []tir.Expr) []tir.Expr {
		count, less := tir.Add(l[0], r[0]), tir.Sub(r[1], l[1])
		share := tir.NewSelect(tir.GT(count, zero), tir.Div(r[0], count), zero)
		part := tir.Mul(less, share)
		return []tir.Expr{count, tir.Add(l[1], part), tir.Add(tir.Add(l[2], r[2]), tir.Mul(tir.Mul(less, l[0]), part))}
	}, func([]tir.Type) []tir.Expr { return []tir.Expr{zero, zero, zero} })
	all := d.over(sum, sum.ProducerName()+".moments", r, func(x tir.Expr) []tir.Expr {
		return []tir.Expr{tir.Const(work, 1), x, zero}
	})
	d.become(mean, all[1], axesOf(d.s.Stage(mean)))
	d.become(squares, all[2], at)
	return all
}

// vectors makes threads load the elements that a reduction reads as vectors.
func (d *rowGroup) vectors(t *te.Tensor) {
	st := d.s.Stage(t)
	leaves := st.Leaves()
	at := leaves[len(leaves)-2] // the loop over vectors
	var reads []*te.Tensor
	schedule.EachLoad(st, func(l *tir.ProducerLoad) {
		if from := l.Producer.(*te.Tensor); d.atPosition(st, l) && !slices.Contains(reads, from) {
			reads = append(reads, from)
		}
	})
	for _, from := range reads {
		part := d.s.Stage(d.s.CacheRead(from, "local", t))
		part.ComputeAt(st, at)
		part.SetScope("local")
		axes := part.Axes()
		for i, a := range slices.Backward(axes) {
			if d.within[i] {
				part.Vectorize(a)
				break
			}
		}
	}
}
