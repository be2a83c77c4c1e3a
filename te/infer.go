package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// threadKey identifies a thread index of a kernel. A kernel is a stage at the root with everything attached to it.
type threadKey struct {
	kernel *Stage
	thread string
}

// infer makes the nests of all stages, readers first, because they decide what has to be computed.
func (l *lowering) infer() error {
	l.widths = map[threadKey]int64{}
	for range 10 {
		l.a.loops = map[*tir.Var]tir.Expr{}
		l.nests = map[*Stage]*nest{}
		for _, st := range slices.Backward(l.order) {
			if err := l.inferStage(st); err != nil {
				return err
			}
		}
		changed, err := l.widen()
		if err != nil || !changed {
			return err
		}
	}
	return fmt.Errorf("the extents of loops that are bound to thread indices do not converge: bind loops of " +
		"constant extent")
}

func (l *lowering) inferStage(st *Stage) error {
	n := &nest{st: st, scope: st.scope, inside: map[*loop][]*nest{}, active: map[*tir.Var]tir.Expr{}}
	n.kernel = n
	l.nests[st] = n
	if st.at == nil {
		if n.scope == "" {
			n.scope = "global"
		}
		for _, size := range st.op.tensors[0].shape {
			n.add(tir.IntConst(size.DType(), 0), l.a.Simplify(size), true)
		}
		l.scanRegion(n)
	} else if err := l.inferAttached(n); err != nil {
		return err
	}
	if st.op.kind != opCompute {
		return nil
	}
	return l.makeLoops(n)
}

func (n *nest) add(lo, size tir.Expr, whole bool) {
	n.lo, n.size, n.whole = append(n.lo, lo), append(n.size, size), append(n.whole, whole)
}

// inferAttached finds the part that a stage has to compute inside the loop that it is attached to.
func (l *lowering) inferAttached(n *nest) error {
	st, host := n.st, l.nests[n.st.at]
	if host == nil {
		return fmt.Errorf("compute_at of tensor %s: tensor %s is inlined, and has no loops", st.op.name, st.at.op.name)
	}
	i := slices.IndexFunc(host.loops, func(lp *loop) bool { return lp.axis == st.atAxis })
	if i < 0 {
		return fmt.Errorf("compute_at of tensor %s: axis %s is no longer a loop of tensor %s", st.op.name, st.atAxis.Var.Name,
			st.at.op.name)
	}
	n.kernel = host.kernel
	n.path = append(slices.Clone(host.path), host.loops[:i+1]...)
	for _, lp := range n.path {
		if lp.attrs.kind == tir.Vectorized {
			return fmt.Errorf("compute_at of tensor %s: axis %s of tensor %s is vectorized, and no tensor can be "+
				"computed inside it: take an outer one", st.op.name, lp.axis.Var.Name, st.at.op.name)
		}
	}
	if n.scope == "" {
		n.scope = defaultScope(n.path)
	}
	at := host.loops[i]
	host.inside[at] = slices.Insert(host.inside[at], 0, n) // readers come first
	return l.inferRegion(n)
}

// inferRegion sets the region of n to the union of what its readers read.
func (l *lowering) inferRegion(n *nest) error {
	st := n.st
	needs := make([]span, len(st.axes))
	found := false
	for _, r := range l.order {
		reader := l.nests[r]
		if reader == nil || reader == n || !slices.ContainsFunc(l.reads(r), func(t *Tensor) bool { return t.op == st.op }) {
			continue
		}
		around := append(slices.Clone(reader.path), reader.loops...)
		if len(around) < len(n.path) || !slices.Equal(around[:len(n.path)], n.path) {
			return fmt.Errorf("compute_at of tensor %s at axis %s of tensor %s: tensor %s reads it, but is not computed "+
				"inside that axis: compute it there, too, or attach both "+
				"further outside", st.op.name, st.atAxis.Var.Name, st.at.op.name, r.op.name)
		}
		l.a.within(n.path, func() { l.activate(n, reader) })
		var spans [][]span
		l.a.within(around, func() { spans = l.spansRead(n, reader, around) })
		for _, each := range spans {
			for d, s := range each {
				if found { // after the first read: union
					l.a.within(n.path, func() { s = l.a.union(needs[d], s) })
				}
				needs[d] = s
			}
			found = true
		}
	}
	if !found {
		return fmt.Errorf("compute_at of tensor %s at axis %s of tensor %s: no tensor reads it there", st.op.name,
			st.atAxis.Var.Name, st.at.op.name)
	}
	l.a.within(n.path, func() {
		for d, need := range needs {
			n.add(l.window(need, l.a.Simplify(st.op.tensors[0].shape[d])))
		}
	})
	return nil
}

// spansRead returns the spans of the indices of each read of the nest's tensors by reader.
func (l *lowering) spansRead(n, reader *nest, around []*loop) (all [][]span) {
	env, exact, clipped := l.readerEnv(n, reader, around)
	for _, b := range l.bodies[reader.st] {
		tir.Walk(b, func(x any) bool {
			load, ok := x.(*tir.ProducerLoad)
			if !ok || load.Producer.(*Tensor).op != n.st.op {
				return true
			}
			spans := make([]span, len(load.Indices))
			for d, index := range load.Indices {
				if isIndex(index.DType()) && !hasLoad(index) { // otherwise it depends on data
					s := l.a.narrower(l.a.spanOf(index, env), func() span { return exact(index) })
					spans[d] = l.a.cast(l.a.single(s, func() span { return clipped(index) }), n.st.axes[d].Var.Type)
				}
			}
			all = append(all, spans)
			return true
		})
	}
	return all
}

// activate records that the threads that compute a reader must compute what it reads.
func (l *lowering) activate(n, reader *nest) {
	for _, lp := range n.path {
		if !bound(lp) {
			continue
		}
		need := reader.activeOf(lp)
		if old := n.active[lp.v]; old != nil {
			switch {
			case l.a.atLeast(old, need):
				need = old
			case !l.a.atLeast(need, old):
				need = lp.width
			}
		}
		n.active[lp.v] = need
	}
}

// shared reports whether all iterations of a loop of threads around the nest need the same elements of it: because they
// share its memory, compute it together, or each compute a part of it. A nest without a stage stands for one thread.
func (n *nest) shared(lp *loop) bool {
	return seenBy(n.scope, lp) || n.st != nil && bound(lp) && slices.Contains(n.path, lp) &&
		(n.st.combines(lp.attrs.thread) || n.spreads(lp.attrs.thread))
}

// readerEnv returns the spans of the reader's axes for one iteration of the loops around n; loops of threads that need
// the same elements of n run through all iterations. exact returns the span of an index over those loops: after the
// axes are replaced by loops, quotients and remainders of tiles simplify. clipped returns the span without the
// iterations that splits that do not divide have in excess, for an index with quotients.
func (l *lowering) readerEnv(n, reader *nest, around []*loop) (env map[*tir.Var]span,
	exact, clipped func(tir.Expr) span) {
	moves := map[*loop]bool{}
	vars := map[*tir.Var]span{}
	for i, lp := range around {
		if lp.v != nil && (lp.same == nil && i >= len(n.path) || n.shared(lp) || moves[lp.same]) {
			moves[lp] = true
			vars[lp.v] = l.a.iterations(reader.activeOf(lp))
		}
	}
	spans := func(clip bool) map[*tir.Var]span {
		axes := map[*tir.Var]span{}
		rel := l.relativeSpans(reader, moves, clip)
		for i, a := range reader.st.axes {
			axes[a.Var] = l.a.shift(l.a.spanOf(reader.lo[i], vars), rel[a])
		}
		for _, a := range reader.st.reduce {
			axes[a.Var] = l.a.shift(point(widen(a.Min, a.Var.Type)), rel[a])
		}
		return axes
	}
	clipped = func(index tir.Expr) span {
		if !tir.Contains(index, isQuotient) {
			return span{}
		}
		return l.a.spanOf(index, spans(true))
	}
	return spans(false), func(index tir.Expr) span {
		leaves := make([]tir.Expr, len(reader.loops))
		for i, lp := range reader.loops {
			leaves[i] = lp.index()
		}
		value, to := l.relative(reader, leaves), map[*tir.Var]tir.Expr{}
		for i, a := range reader.st.axes {
			to[a.Var] = tir.Add(reader.lo[i], value[a])
		}
		for _, a := range reader.st.reduce {
			to[a.Var] = tir.Add(widen(a.Min, a.Var.Type), value[a])
		}
		return l.a.spanOf(l.a.Simplify(tir.Substitute(index, to)), vars)
	}, clipped
}

func isQuotient(x any) bool {
	b, ok := x.(*tir.Binary)
	return ok && b.Op == tir.OpFloorDiv
}

// single returns the other span of an index if it is a single element, and the first one is not.
func (a *analyzer) single(s span, other func() span) span {
	if s.known() && a.same(s.lo, s.hi) {
		return s
	}
	if o := other(); o.known() && a.same(o.lo, o.hi) {
		return o
	}
	return s
}

// narrower returns another span of an index if its size is constant and less than the span's. Only indices of a span
// without a known size, or with several elements, can have one.
func (a *analyzer) narrower(s span, other func() span) span {
	size := func(s span) (int64, bool) {
		if !s.known() {
			return 0, false
		}
		return constant(a.sum(s.hi, s.lo, -1))
	}
	n, known := size(s)
	if known && n == 0 {
		return s
	}
	o := other()
	if m, ok := size(o); ok && (!known || m < n) {
		return o
	}
	return s
}

// window returns the start and the size of the region. The size must be the same in every iteration; if that is
// impossible, or all elements are needed, the region is the whole dimension.
func (l *lowering) window(need span, shape tir.Expr) (lo, size tir.Expr, whole bool) {
	zero := tir.IntConst(shape.DType(), 0)
	if !need.known() {
		return zero, shape, true
	}
	n := l.a.plus(l.a.sum(need.hi, need.lo, -1), 1)
	if !l.a.free(n) {
		if n = l.a.most(l.boundDifference(n)); n == nil {
			return zero, shape, true
		}
		if _, ok := constant(n); !ok && !l.a.same(n, shape) {
			return zero, shape, true
		}
	}
	if c, ok := constant(n); ok && c < 0 {
		n = zero
	}
	if l.a.atLeast(n, shape) {
		return zero, shape, true
	}
	return need.lo, n, false
}

// atMostAll returns the span of all n iterations instead of one that may have as many values or more: a split that does
// not divide has extra iterations, which conditions exclude.
func (l *lowering) atMostAll(s span, n tir.Expr) span {
	if !s.known() {
		return s
	}
	end, isConst := constant(n)
	values := l.a.most(l.boundDifference(l.a.plus(l.a.sum(s.hi, s.lo, -1), 1)))
	if values == nil || !isConst {
		return s
	}
	if count, ok := constant(values); ok && count > 1 && count >= end {
		return l.a.iterations(n)
	}
	return s
}

// boundDifference replaces floordiv(x, d) - floordiv(y, d), where x - y is constant, by its upper bound.
func (l *lowering) boundDifference(e tir.Expr) tir.Expr {
	parts := addends(e, 1, nil)
	for i, p := range parts {
		for j, m := range parts {
			x, d, ok := quotient(p.e)
			y, k, same := quotient(m.e)
			if !ok || !same || d != k || p.sign != 1 || m.sign != -1 {
				continue
			}
			diff, isConst := constant(l.a.sum(x, y, -1))
			if !isConst {
				continue
			}
			rest := tir.IntConst(e.DType(), floorDiv(diff+d-1, d))
			for n, o := range parts {
				if n != i && n != j {
					rest = tir.Add(rest, tir.Mul(o.e, tir.IntConst(e.DType(), o.sign)))
				}
			}
			return l.boundDifference(l.a.Simplify(rest))
		}
	}
	return e
}

type addend struct {
	sign int64
	e    tir.Expr
}

// addends appends the terms of a sum to all.
func addends(e tir.Expr, sign int64, all []addend) []addend {
	if b, ok := e.(*tir.Binary); ok && (b.Op == tir.OpAdd || b.Op == tir.OpSub) {
		all = addends(b.A, sign, all)
		if b.Op == tir.OpSub {
			sign = -sign
		}
		return addends(b.B, sign, all)
	}
	return append(all, addend{sign, e})
}

// quotient returns x and d if e is floordiv(x, d) with a constant d > 0.
func quotient(e tir.Expr) (x tir.Expr, d int64, ok bool) {
	b, isBinary := e.(*tir.Binary)
	if !isBinary || b.Op != tir.OpFloorDiv {
		return nil, 0, false
	}
	d, ok = constant(b.B)
	return b.A, d, ok && d > 0
}

func floorDiv(x, d int64) int64 {
	q := x / d
	if x%d < 0 {
		q--
	}
	return q
}

// widen sets the extent of loops bound to the same thread index to the greatest of them. changed means that the nests
// must be made again.
func (l *lowering) widen() (changed bool, err error) {
	type first struct {
		n  *nest
		lp *loop
	}
	seen := map[threadKey]first{}
	for _, st := range l.order {
		n := l.nests[st]
		for _, lp := range n.loops {
			if !bound(lp) {
				continue
			}
			key := threadKey{n.kernel.st, lp.attrs.thread}
			need := lp.width
			f, ok := seen[key]
			if lp.same != nil {
				need, f, ok = lp.extent, first{n.kernel, lp.same}, true
			} else if !ok {
				seen[key] = first{n, lp}
				continue
			}
			width, need := f.lp.width, widen(need, f.lp.axis.Var.Type)
			a, known := constant(width)
			b, sure := constant(need)
			fits := false
			l.a.within(n.path, func() { fits = l.a.same(width, need) || lp.same != nil && l.a.atLeast(width, need) })
			switch {
			case fits:
			case known && sure:
				l.widths[key] = max(a, b, l.widths[key])
				changed = true
			default:
				return false, fmt.Errorf("bind: axis %s of tensor %s has %s iterations, and axis %s of tensor %s has "+
					"%s: both are %s of one kernel, and extents that differ must be constant",
					f.lp.axis.Var.Name, f.n.st.op.name, text.Print(f.lp.width), lp.axis.Var.Name, st.op.name,
					text.Print(need), lp.attrs.thread)
			}
		}
	}
	return changed, nil
}
