package te

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/tir"
)

// nest is the loops of a stage that is lowered, and what part of the tensor they compute: all indices from lo on, size
// many of them.
type nest struct {
	st     *Stage
	scope  string
	path   []*loop // around the stage, outermost first
	loops  []*loop // its own, one for each leaf
	lo     []tir.Expr
	size   []tir.Expr
	whole  []bool // of each dimension: all of it is computed
	extent map[*tir.IterVar]tir.Expr
	inside map[*loop][]*nest     // what is attached to its loops, in the order of computation
	kernel *nest                 // the nest at the root that it is within
	active map[*tir.Var]tir.Expr // how many of the threads of the loops around have something to do
}

// loop is one of a nest. Its variable runs from 0 on.
type loop struct {
	axis   *tir.IterVar
	mark   mark
	v      *tir.Var // nil: it runs once, and is left out
	extent tir.Expr // how often there is something to do
	width  tir.Expr // how often it runs: extent, or more if other loops of the same threads have more to do
	same   *loop    // the loop around of the same index of threads, whose variable it has: it is left out, too
}

func isThread(l *loop, prefix string) bool {
	return l.mark.kind == tir.ThreadBind && strings.HasPrefix(l.mark.thread, prefix)
}

// index is the loop's variable, or 0.
func (l *loop) index() tir.Expr {
	if l.v == nil {
		return tir.IntConst(l.axis.Var.Type, 0)
	}
	return widen(l.v, l.axis.Var.Type)
}

// activeOf is how many turns of a loop, of the nest's own or around it, compute what the nest computes.
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

// all are the loops that the nest's values are computed in.
func (n *nest) all() []*loop { return append(slices.Clone(n.path), n.loops...) }

// ofData are those of them that the beginning of a reduction is in, too, or has the like of.
func (n *nest) ofData() []*loop {
	return slices.DeleteFunc(n.all(), func(lp *loop) bool {
		return lp.axis.Kind == tir.IterReduce && slices.Contains(n.loops, lp)
	})
}

// makeLoops follows splits and fusions down from the sizes of the stage's axes, and makes its loops.
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
	for _, r := range n.st.rels {
		t := r.parent.Var.Type
		switch {
		case r.fuse:
			n.extent[r.parent] = l.a.Simplify(tir.Mul(widen(n.extent[r.outer], t), widen(n.extent[r.inner], t)))
		case r.parts > 0:
			parts := atMost(r.parts, n.extent[r.parent])
			n.extent[r.outer], n.extent[r.inner] = tir.IntConst(t, parts), l.a.ceilDiv(n.extent[r.parent], parts)
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

// atMost makes a split no larger than what there is to be split, as far as that is known: what is attached is often
// less than the whole.
func atMost(n int64, extent tir.Expr) int64 {
	if c, ok := extent.(*tir.IntImm); ok {
		return max(1, min(n, c.Value))
	}
	return n
}

func (l *lowering) makeLoop(n *nest, x *tir.IterVar) (*loop, error) {
	lp := &loop{axis: x, extent: n.extent[x], width: n.extent[x]}
	if m := n.st.marks[x]; m != nil {
		lp.mark = *m
	}
	c, isConst := lp.extent.(*tir.IntImm)
	switch kind := lp.mark.kind; {
	case kind == tir.Serial && lp.mark.pragma == nil && isConst && c.Value == 1:
		return lp, nil
	case (kind == tir.Vectorized || kind == tir.Unrolled) && !isConst:
		return nil, fmt.Errorf("tensor %s: axis %s is %s, and its length %s is not constant: split it, and take "+
			"the inner axis", n.st.op.name, x.Var.Name,
			kind, tir.Print(lp.extent))
	case kind == tir.Vectorized && c.Value > tir.MaxLanes:
		return nil, fmt.Errorf("tensor %s: axis %s is vectorized, and runs %d times: want %d at most: split it", n.st.op.name,
			x.Var.Name, c.Value,
			tir.MaxLanes)
	case kind == tir.ThreadBind:
		if i := slices.IndexFunc(n.path, func(o *loop) bool {
			return bound(o) && o.mark.thread == lp.mark.thread && o.same == nil
		}); i >= 0 {
			lp.same = n.path[i]
			lp.v, lp.width = lp.same.v, lp.same.width
			return lp, nil
		}
		if w := l.widths[threadKey{n.kernel.st, lp.mark.thread}]; w > 0 {
			lp.width = tir.IntConst(x.Var.Type, w)
		}
	}
	lp.v = tir.NewVar(x.Var.Name, x.Var.Type)
	l.a.loops[lp.v] = lp.width
	return lp, nil
}

// checkThreads says why loops of a nest may not be run as they are marked, given the loops around them.
func (l *lowering) checkThreads(n *nest) error {
	around := slices.Clone(n.path)
	if slices.ContainsFunc(around, bound) && scopeRank(n.scope) == rankGlobal {
		return fmt.Errorf("tensor %s in scope %s is computed within a loop of threads, where global memory cannot be "+
			"had: set scope \"shared\" or \"local\"",
			n.st.op.name, n.scope)
	}
	for _, lp := range n.loops {
		kind := lp.mark.kind
		what := ""
		for _, out := range around {
			switch {
			case out.mark.kind == tir.Vectorized && kind != tir.Serial && kind != tir.Unrolled:
				what = "which is vectorized: reorder them"
			case bound(out) && kind == tir.Parallel:
				what = "which is run by threads of a device: leave out parallel"
			case isThread(lp, "blockIdx") && (isThread(out, "threadIdx") || isThread(out, "vthread")):
				what = "which is of the threads within a block: reorder them"
			}
			if what != "" {
				return fmt.Errorf("tensor %s: axis %s is %s within axis %s, %s", n.st.op.name, lp.axis.Var.Name, markName(lp),
					out.axis.Var.Name, what)
			}
		}
		if what = l.sharing(n, lp); what != "" {
			return fmt.Errorf("tensor %s in scope %s: axis %s is bound to %s, and %s", n.st.op.name, n.scope, lp.axis.Var.Name,
				lp.mark.thread, what)
		}
		around = append(around, lp)
	}
	return nil
}

// sharing says why the turns of a loop of threads cannot fill the nest's memory together.
func (l *lowering) sharing(n *nest, lp *loop) string {
	if !bound(lp) || n.st.output {
		return ""
	}
	block := isThread(lp, "blockIdx")
	switch rank := scopeRank(n.scope); {
	case block && slices.ContainsFunc(n.path, bound):
		return "it is computed within a kernel, whose blocks do not wait for each other: bind it to threadIdx"
	case rank >= rankWarp, rank == rankShared && block:
		return fmt.Sprintf("each of them has %s memory of its own: set another scope", n.scope)
	case rank == rankShared && n.st.at == nil:
		return "shared memory ends with the kernel: compute the tensor at an axis of its reader"
	}
	return ""
}

func markName(lp *loop) string {
	if bound(lp) {
		return "bound to " + lp.mark.thread
	}
	return lp.mark.kind.String()
}

// bound says whether a loop is run by threads of a device.
func bound(lp *loop) bool { return lp.mark.kind == tir.ThreadBind }

// Ranks of memory: who sees it.
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

// seenBy says whether all turns of a loop of threads see the memory, so that it has to hold what all of them need.
func seenBy(scope string, lp *loop) bool {
	switch scopeRank(scope) {
	case rankShared:
		return isThread(lp, "threadIdx") || isThread(lp, "vthread")
	case rankWarp:
		return isThread(lp, "threadIdx.x")
	}
	return false
}

// defaultScope is the scope of a stage for which none is set, by the loops around it.
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

// relative gives the value of each axis, from 0 on, of the values of the leaves.
func (l *lowering) relative(n *nest, leaves []tir.Expr) map[*tir.IterVar]tir.Expr {
	value := map[*tir.IterVar]tir.Expr{}
	for i, x := range n.st.leaves {
		value[x] = leaves[i]
	}
	for _, r := range slices.Backward(n.st.rels) {
		if r.fuse {
			f, inner := value[r.parent], n.extent[r.inner]
			value[r.outer] = l.a.Simplify(widen(tir.FloorDiv(f, widen(inner, f.DType())), r.outer.Var.Type))
			value[r.inner] = l.a.Simplify(widen(tir.FloorMod(f, widen(inner, f.DType())), r.inner.Var.Type))
			continue
		}
		value[r.parent] = l.a.Simplify(tir.Add(tir.Mul(value[r.outer], n.extent[r.inner]), value[r.inner]))
	}
	return value
}

// relativeSpans is where each axis lies, from 0 on, if some loops take all their turns, and the others stand still.
func (l *lowering) relativeSpans(n *nest, moves map[*loop]bool) map[*tir.IterVar]span {
	at := map[*tir.IterVar]span{}
	all := map[*tir.IterVar]bool{} // runs over everything
	for _, lp := range n.loops {
		if all[lp.axis] = lp.v == nil || moves[lp]; all[lp.axis] {
			at[lp.axis] = l.a.turns(n.extent[lp.axis])
		} else {
			at[lp.axis] = point(lp.index())
		}
	}
	for _, r := range slices.Backward(n.st.rels) {
		switch {
		case r.fuse && all[r.parent]:
			all[r.outer], all[r.inner] = true, true
			at[r.outer], at[r.inner] = l.a.turns(n.extent[r.outer]), l.a.turns(n.extent[r.inner])
		case r.fuse:
			q, m := l.a.divide(at[r.parent], widen(n.extent[r.inner], r.parent.Var.Type))
			at[r.outer], at[r.inner] = l.a.cast(q, r.outer.Var.Type), l.a.cast(m, r.inner.Var.Type)
		case all[r.outer] && all[r.inner]:
			all[r.parent] = true
			at[r.parent] = l.a.turns(n.extent[r.parent])
		default:
			scaled := func(e tir.Expr) tir.Expr { return tir.Mul(e, n.extent[r.inner]) }
			at[r.parent] = l.a.shift(span{scaled(at[r.outer].lo), scaled(at[r.outer].hi)}, at[r.inner])
		}
	}
	return at
}
