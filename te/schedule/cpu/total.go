package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/te/schedule/rows"
	"tvmgo/tir"
)

const (
	totalFrom    = 2048 // the number of values from which a reduction to one value has steps
	mostParts    = 64   // of a reduction of a vector
	elementsEach = 8192 // of each part
)

// scheduleTotal schedules a reduction of all elements to one value: threads reduce the rows of a matrix, or the
// parts of a vector, by vectors, and their results are reduced in the same way. It returns false, without a change,
// for others.
func scheduleTotal(g *schedule.Group, by rows.Scheduler) bool {
	st := g.Schedule.Stage(g.Result)
	if len(g.Parts()) > 0 || len(st.Formulas()) != 1 {
		return false
	}
	for _, a := range st.Axes() {
		if sizeOf(a) != 1 {
			return false
		}
	}
	r, ok := st.Formulas()[0].(*tir.Reduce)
	lanes := int64(by.Lanes(g.Result.ProducerDType()))
	if !ok || r.Cond != nil || len(r.Sources) != 1 || lanes == 0 || !contiguousAlong(r, r.Sources[0]) {
		return false
	}
	t := &total{name: g.Result.ProducerName(), r: r, lanes: lanes}
	for _, a := range r.Axes {
		if low, ok := tir.IntValue(a.Min); !ok || low != 0 || sizeOf(a) < 1 {
			return false
		}
		t.sizes = append(t.sizes, sizeOf(a))
	}
	t.at = func(i []tir.Expr) tir.Expr {
		to := map[*tir.Var]tir.Expr{}
		for _, a := range st.Axes() {
			to[a.Var] = tir.IntConst(a.Var.Type, 0)
		}
		for d, a := range r.Axes {
			to[a.Var] = i[d]
		}
		return tir.Substitute(r.Sources[0], to)
	}
	for t.count() >= totalFrom && t.step() {
	}
	if len(t.steps) == 0 {
		return false
	}
	whole := t.reduce(nil, t.sizes, ".parts", t.at)
	g.Schedule.Replace(g.Result, te.Compute(g.Result.ProducerShape(), t.name+".all", func(...tir.Expr) tir.Expr {
		all := whole.At()
		for _, x := range t.rest {
			all = tir.Substitute(r.Combiner.Results[0], map[*tir.Var]tir.Expr{r.Combiner.Left[0]: all,
				r.Combiner.Right[0]: x.At(tir.I32(0))})
		}
		return all
	}))
	for _, x := range append(t.steps, t.rest...) {
		by.Sums(g.Schedule, x, x)
	}
	return g.Schedule.Err() == nil
}

// contiguousAlong reports whether the elements that a source of a reduction reads are adjacent along its last axis.
func contiguousAlong(r *tir.Reduce, source tir.Expr) bool {
	k := r.Axes[len(r.Axes)-1].Var
	ok := true
	tir.Walk(source, func(n any) bool {
		if l, isLoad := n.(*tir.ProducerLoad); isLoad {
			for d, x := range l.Indices {
				ok = ok && (!uses(x, k) || d == len(l.Indices)-1 && x == tir.Expr(k))
			}
		}
		return ok
	})
	return ok
}

// total reduces all values of a formula in steps.
type total struct {
	name  string
	r     *tir.Reduce
	lanes int64
	sizes []int64 // of the values that remain, which at returns
	at    func(i []tir.Expr) tir.Expr
	steps []*te.Tensor
	rest  []*te.Tensor // vectors of one element, for what the parts leave over
}

func (t *total) count() int64 {
	all := int64(1)
	for _, n := range t.sizes {
		all *= n
	}
	return all
}

// step reduces rows, or parts of a vector, to one value each. It returns false if there is nothing to reduce by
// vectors.
func (t *total) step() bool {
	last := len(t.sizes) - 1
	n := t.sizes[last]
	if t.count() == n {
		return t.divide(n)
	}
	if n < 2*t.lanes {
		return false
	}
	t.add(t.sizes[:last], n, t.at)
	return true
}

// divide reduces the parts of a vector.
func (t *total) divide(n int64) bool {
	parts := min(max(n/elementsEach, 1), mostParts)
	each := n / parts / (4 * t.lanes) * (4 * t.lanes)
	at := t.at
	element := func(x tir.Expr) tir.Expr {
		i := make([]tir.Expr, len(t.sizes))
		for d := range i {
			i[d] = tir.I32(0)
		}
		i[len(i)-1] = x
		return at(i)
	}
	if done := parts * each; done < n {
		t.rest = append(t.rest, t.reduce([]int64{1}, []int64{n - done}, ".rest", func(i []tir.Expr) tir.Expr {
			return element(tir.Add(i[len(i)-1], tir.I32(int32(done))))
		}))
	}
	t.add([]int64{parts}, each, func(i []tir.Expr) tir.Expr {
		return element(tir.Add(tir.Mul(i[0], tir.I32(int32(each))), i[1]))
	})
	return true
}

// add adds a step: a tensor of the given sizes, whose elements reduce n values each.
func (t *total) add(sizes []int64, n int64, at func(i []tir.Expr) tir.Expr) {
	x := t.reduce(sizes, []int64{n}, ".rows", at)
	t.steps = append(t.steps, x)
	t.sizes, t.at = slices.Clone(sizes), func(i []tir.Expr) tir.Expr { return x.At(i...) }
}

// reduce returns a tensor of the given sizes whose elements reduce all values over further sizes. at gets the indices
// of both.
func (t *total) reduce(sizes, over []int64, suffix string, at func(i []tir.Expr) tir.Expr) *te.Tensor {
	shape := make([]tir.Expr, len(sizes))
	for d, n := range sizes {
		shape[d] = tir.I32(int32(n))
	}
	axes := make([]*tir.IterVar, len(over))
	return te.Compute(shape, t.name+suffix, func(i ...tir.Expr) tir.Expr {
		all := slices.Clone(i)
		for d, n := range over {
			axes[d] = te.ReduceAxis(tir.I32(0), tir.I32(int32(n)), "k")
			all = append(all, axes[d].Var)
		}
		return &tir.Reduce{Combiner: t.r.Combiner, Sources: []tir.Expr{at(all)}, Axes: axes}
	})
}
