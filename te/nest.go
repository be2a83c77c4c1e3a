package te

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// nest contains the loops of a stage during lowering, and the region of the tensor that they compute: in each
// dimension, size indices starting at lo.
type nest struct {
	st     *Stage
	scope  string
	path   []*loop // the loops around the nest, outermost first
	loops  []*loop // the nest's loops, one per leaf
	lo     []tir.Expr
	size   []tir.Expr
	whole  []bool // per dimension: the region is the whole dimension
	extent map[*tir.IterVar]tir.Expr
	inside map[*loop][]*nest     // the nests attached to each loop, in the order of computation
	kernel *nest                 // the nest at the root that contains this one
	active map[*tir.Var]tir.Expr // per thread index of path: how many of the threads compute the nest
}

// loop is a loop of a nest. Its variable starts at 0.
type loop struct {
	axis   *tir.IterVar
	attrs  loopAttrs
	v      *tir.Var // nil: a single iteration without a loop
	extent tir.Expr // the iterations with work
	width  tir.Expr // all iterations: more than extent if another loop on the same thread index has more
	same   *loop    // the enclosing loop on the same thread index, whose variable this loop uses; nil if none
}

func isThread(l *loop, prefix string) bool {
	return l.attrs.kind == tir.ThreadBind && strings.HasPrefix(l.attrs.thread, prefix)
}

// index returns the loop's variable, or 0.
func (l *loop) index() tir.Expr {
	if l.v == nil {
		return tir.IntConst(l.axis.Var.Type, 0)
	}
	return widen(l.v, l.axis.Var.Type)
}

// activeOf returns the number of iterations of a loop, in the nest or around it, that compute the nest.
func (n *nest) activeOf(lp *loop) tir.Expr {
	for _, own := range n.loops {
		if own.v == lp.v {
			return widen(own.extent, lp.v.Type)
		}
	}
	if e := n.active[lp.v]; e != nil {
		return e
	}
	return lp.extent
}

// all returns the loops around the computation of a value.
func (n *nest) all() []*loop { return append(slices.Clone(n.path), n.loops...) }

// ofData returns the same loops without those of the reduction. The initialization is inside these loops or copies of
// them.
func (n *nest) ofData() []*loop {
	return slices.DeleteFunc(n.all(), func(lp *loop) bool {
		return lp.axis.Kind == tir.IterReduce && slices.Contains(n.loops, lp)
	})
}

// makeLoops derives the extents of all axes from those of the stage's axes, and makes the loops.
func (l *lowering) makeLoops(n *nest) (err error) {
	l.a.within(n.path, func() { err = l.loopsWithin(n) })
	return err
}

func (l *lowering) loopsWithin(n *nest) error {
	n.extent = map[*tir.IterVar]tir.Expr{}
	for i, a := range n.st.axes {
		n.extent[a] = n.size[i]
	}
	for _, a := range n.st.reduce {
		n.extent[a] = l.a.Simplify(a.Extent)
	}
	for _, a := range n.st.units {
		n.extent[a] = tir.I32(1)
	}
	for _, r := range n.st.rels {
		t := r.parent.Var.Type
		switch {
		case r.fuse:
			n.extent[r.parent] = l.a.Simplify(tir.Mul(widen(n.extent[r.outer], t), widen(n.extent[r.inner], t)))
		case r.parts > 0:
			n.extent[r.outer], n.extent[r.inner] = l.a.parts(n.extent[r.parent], r.parts)
		default:
			factor := atMost(r.factor, n.extent[r.parent])
			n.extent[r.outer], n.extent[r.inner] = l.a.ceilDiv(n.extent[r.parent], factor), tir.IntConst(t, factor)
		}
		for _, x := range []*tir.IterVar{r.parent, r.outer, r.inner} {
			if b, ok := n.extent[x].(*tir.Bad); ok {
				return fmt.Errorf("tensor %s: axis %s: %w", n.st.op.name, x.Var.Name, b.Err)
			}
		}
	}
	for _, x := range n.st.leaves {
		lp, err := l.makeLoop(n, x)
		if err != nil {
			return err
		}
		n.loops = append(n.loops, lp)
	}
	return l.checkThreads(n)
}

// parts returns the extents of an axis that is divided into a number of parts: of the loop over the parts, and of that
// inside one.
func (a *analyzer) parts(extent tir.Expr, parts int64) (outer, inner tir.Expr) {
	t := extent.DType()
	if _, isConst := extent.(*tir.IntImm); isConst {
		parts = atMost(parts, extent)
		return tir.IntConst(t, parts), a.ceilDiv(extent, parts)
	}
	one := tir.IntConst(t, 1)
	outer = a.Simplify(tir.Min(tir.IntConst(t, parts), extent))
	by := tir.Max(one, outer)
	return outer, a.Simplify(tir.FloorDiv(tir.Sub(tir.Add(extent, by), one), by))
}

// atMost limits a split to a constant extent: an attached stage often computes less than the whole tensor.
func atMost(n int64, extent tir.Expr) int64 {
	if c, ok := extent.(*tir.IntImm); ok {
		return max(1, min(n, c.Value))
	}
	return n
}

func (l *lowering) makeLoop(n *nest, x *tir.IterVar) (*loop, error) {
	lp := &loop{axis: x, extent: n.extent[x], width: n.extent[x]}
	if m := n.st.attrs[x]; m != nil {
		lp.attrs = *m
	}
	c, isConst := lp.extent.(*tir.IntImm)
	switch kind := lp.attrs.kind; {
	case kind == tir.Serial && lp.attrs.pragma == nil && isConst && c.Value == 1:
		return lp, nil
	case (kind == tir.Vectorized || kind == tir.Unrolled) && !isConst:
		return nil, fmt.Errorf("tensor %s: axis %s is %s, but its extent %s is not constant: split it, and use "+
			"the inner axis", n.st.op.name, x.Var.Name, kind, text.Print(lp.extent))
	case kind == tir.Vectorized && c.Value > tir.MaxLanes:
		return nil, fmt.Errorf("tensor %s: axis %s is vectorized, and has %d iterations: want at most %d: split it",
			n.st.op.name, x.Var.Name, c.Value, tir.MaxLanes)
	case kind == tir.ThreadBind:
		if i := slices.IndexFunc(n.path, func(o *loop) bool {
			return bound(o) && o.attrs.thread == lp.attrs.thread && o.same == nil
		}); i >= 0 {
			lp.same = n.path[i]
			lp.v, lp.width = lp.same.v, lp.same.width
			return lp, nil
		}
		if w := l.widths[threadKey{n.kernel.st, lp.attrs.thread}]; w > 0 {
			lp.width = tir.IntConst(x.Var.Type, w)
		}
	}
	if combined(lp) && isConst && c.Value < 1 { // the result of no iterations takes a thread, too
		lp.width = tir.IntConst(x.Var.Type, max(1, l.widths[threadKey{n.kernel.st, lp.attrs.thread}]))
	}
	lp.v = tir.NewVar(x.Var.Name, x.Var.Type)
	l.a.loops[lp.v] = lp.width
	return lp, nil
}

// checkThreads returns an error if the loops of a nest cannot be executed as requested inside the loops around them.
func (l *lowering) checkThreads(n *nest) error {
	around := slices.Clone(n.path)
	if slices.ContainsFunc(around, bound) && scopeRank(n.scope) == rankGlobal {
		return fmt.Errorf("tensor %s in scope %s is computed inside a loop of threads, where global memory is not "+
			"available: set scope \"shared\" or \"local\"", n.st.op.name, n.scope)
	}
	for _, lp := range n.loops {
		kind := lp.attrs.kind
		what := ""
		for _, out := range around {
			switch {
			case out.attrs.kind == tir.Vectorized && kind != tir.Serial && kind != tir.Unrolled:
				what = "which is vectorized: reorder them"
			case bound(out) && kind == tir.Parallel:
				what = "which device threads execute: leave out parallel"
			case isThread(lp, "blockIdx") && (isThread(out, "threadIdx") || isThread(out, "vthread")):
				what = "which is bound to threads of a block: reorder them"
			}
			if what != "" {
				return fmt.Errorf("tensor %s: axis %s is %s inside axis %s, %s", n.st.op.name, lp.axis.Var.Name, kindName(lp),
					out.axis.Var.Name, what)
			}
		}
		if what = l.sharing(n, lp); what != "" {
			return fmt.Errorf("tensor %s in scope %s: axis %s is bound to %s, and %s", n.st.op.name, n.scope, lp.axis.Var.Name,
				lp.attrs.thread, what)
		}
		around = append(around, lp)
	}
	return nil
}

// sharing explains why the iterations of a loop of threads cannot fill the nest's memory together; "" if they can.
func (l *lowering) sharing(n *nest, lp *loop) string {
	if !bound(lp) || n.st.output {
		return ""
	}
	block := isThread(lp, "blockIdx")
	switch rank := scopeRank(n.scope); {
	case block && slices.ContainsFunc(n.path, bound):
		return "it is computed inside a kernel, whose blocks are not synchronized: bind it to threadIdx"
	case combined(lp):
		return "" // see checkAcross
	case lp.same != nil && n.spreads(lp.attrs.thread):
		return "" // see held
	case rank >= rankWarp, rank == rankShared && block:
		return fmt.Sprintf("each iteration has separate %s memory: set another scope", n.scope)
	case rank == rankShared && n.st.at == nil:
		return "shared memory does not outlive the kernel: compute the tensor at an axis of its reader"
	}
	return ""
}

// kindName describes how a loop is executed, for error messages.
func kindName(lp *loop) string {
	if bound(lp) {
		return "bound to " + lp.attrs.thread
	}
	return lp.attrs.kind.String()
}

// bound reports whether device threads execute a loop.
func bound(lp *loop) bool { return lp.attrs.kind == tir.ThreadBind }

// Ranks of memory scopes, by who can access the memory.
const (
	rankGlobal = iota // all
	rankShared        // the threads of a block
	rankWarp          // the threads of a warp
	rankLocal         // one thread
)

func scopeRank(scope string) int {
	switch {
	case scope == "global" || strings.HasPrefix(scope, "texture"):
		return rankGlobal
	case strings.HasPrefix(scope, "shared"):
		return rankShared
	case scope == "warp":
		return rankWarp
	}
	return rankLocal
}

// seenBy reports whether all iterations of a loop of threads share the memory, so that it must hold what all of them
// need.
func seenBy(scope string, lp *loop) bool {
	switch scopeRank(scope) {
	case rankShared:
		return isThread(lp, "threadIdx") || isThread(lp, "vthread")
	case rankWarp:
		return isThread(lp, "threadIdx.x")
	}
	return false
}

// defaultScope returns the scope of a stage without SetScope, from the loops around it.
func defaultScope(path []*loop) string {
	block, thread := false, false
	for _, lp := range path {
		block = block || isThread(lp, "blockIdx")
		thread = thread || isThread(lp, "threadIdx") || isThread(lp, "vthread")
	}
	switch {
	case thread:
		return "local"
	case block:
		return "shared"
	}
	return "global"
}

// relative computes the value of each axis, counted from the start of the region, from the values of the leaves.
func (l *lowering) relative(n *nest, leaves []tir.Expr) map[*tir.IterVar]tir.Expr {
	value := map[*tir.IterVar]tir.Expr{}
	for i, x := range n.st.leaves {
		value[x] = leaves[i]
	}
	for _, r := range slices.Backward(n.st.rels) {
		if r.fuse {
			f, inner := value[r.parent], n.extent[r.inner]
			if constantOne(n.extent[r.outer]) {
				value[r.outer] = tir.IntConst(r.outer.Var.Type, 0)
				value[r.inner] = l.a.Simplify(widen(f, r.inner.Var.Type))
				continue
			}
			value[r.outer] = l.a.Simplify(widen(tir.FloorDiv(f, widen(inner, f.DType())), r.outer.Var.Type))
			value[r.inner] = l.a.Simplify(widen(tir.FloorMod(f, widen(inner, f.DType())), r.inner.Var.Type))
			continue
		}
		value[r.parent] = l.a.Simplify(tir.Add(tir.Mul(value[r.outer], n.extent[r.inner]), value[r.inner]))
	}
	return value
}

// relativeSpans returns the span of each axis, counted from the start of the region, if the loops in moves run through
// all iterations and the others are fixed. With clip, spans end with the last iteration of an axis where splits have
// more.
func (l *lowering) relativeSpans(n *nest, moves map[*loop]bool, clip bool) map[*tir.IterVar]span {
	at := map[*tir.IterVar]span{}
	all := map[*tir.IterVar]bool{} // axes that take all their values
	for _, lp := range n.loops {
		if all[lp.axis] = lp.v == nil || moves[lp]; all[lp.axis] {
			at[lp.axis] = l.a.iterations(n.extent[lp.axis])
		} else {
			at[lp.axis] = point(lp.index())
		}
	}
	for _, r := range slices.Backward(n.st.rels) {
		switch {
		case r.fuse && all[r.parent]:
			all[r.outer], all[r.inner] = true, true
			at[r.outer], at[r.inner] = l.a.iterations(n.extent[r.outer]), l.a.iterations(n.extent[r.inner])
		case r.fuse && constantOne(n.extent[r.outer]): // as in relative, also where the last iterations exceed the extent
			at[r.outer], at[r.inner] = point(tir.IntConst(r.outer.Var.Type, 0)), l.a.cast(at[r.parent], r.inner.Var.Type)
		case r.fuse:
			q, m := l.a.divide(at[r.parent], widen(n.extent[r.inner], r.parent.Var.Type))
			q = l.atMostAll(l.a.cast(q, r.outer.Var.Type), n.extent[r.outer])
			at[r.outer], at[r.inner] = q, l.a.cast(m, r.inner.Var.Type)
		case all[r.outer] && all[r.inner]:
			all[r.parent] = true
			at[r.parent] = l.a.iterations(n.extent[r.parent])
		default:
			scaled := func(e tir.Expr) tir.Expr { return tir.Mul(e, n.extent[r.inner]) }
			at[r.parent] = l.a.shift(span{scaled(at[r.outer].lo), scaled(at[r.outer].hi)}, at[r.inner])
			if clip && at[r.parent].known() {
				last := l.a.plus(widen(n.extent[r.parent], r.parent.Var.Type), -1)
				at[r.parent] = span{at[r.parent].lo, l.a.Simplify(tir.Min(widen(at[r.parent].hi, last.DType()), last))}
			}
		}
	}
	return at
}
