package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// scans checks the schedules of scans, and stores their initial values and updates in the memory of their results.
func (l *lowering) scans() error {
	l.scanned, l.ofScan = map[*Stage]*Stage{}, map[*Stage][]*tir.Buffer{}
	for _, st := range l.s.stages {
		if st.op.kind != opScan {
			continue
		}
		p := st.op.scan
		if err := l.checkMemory(st, st); err != nil {
			return err
		}
		first := -1
		for i := range p.states {
			result := st.op.tensors[i]
			if l.buffers[result] == nil {
				l.buffers[result] = tir.NewBuffer(result.name, result.typ, result.shape...)
			}
			for _, t := range []*Tensor{p.inits[i], p.updates[i]} {
				part := l.s.of[t.op]
				if err := l.checkMemory(st, part); err != nil {
					return err
				}
				if other := l.scanned[part]; other != nil && other != st {
					return fmt.Errorf("scan %s: tensor %s is also part of scan %s: compute it twice", st.op.name, t.name,
						other.op.name)
				}
				l.scanned[part] = st
				l.buffers[t] = l.buffers[result]
				if at := slices.Index(l.order, part); first < 0 || at < first {
					first = at
				}
			}
			l.buffers[p.states[i]] = l.buffers[result]
			if !l.args[result] {
				l.ofScan[l.order[first]] = append(l.ofScan[l.order[first]], l.buffers[result])
			}
		}
		l.scanned[st] = st
	}
	return nil
}

// checkMemory returns an error if a part of a scan is not stored in the memory of the scan's results.
func (l *lowering) checkMemory(scan, part *Stage) error {
	what := ""
	switch {
	case part.inlined:
		what = "it is inlined, but each step is stored: leave out compute_inline"
	case part.at != nil:
		what = "it is computed at an axis of another tensor: leave out compute_at"
	case part.scope != "" && part.scope != "global" || part.arranged() || part.stages > 0:
		what = "it is stored in the memory of the result: leave out set_scope, storage_align, " +
			"storage_swizzle and double_buffer"
	case part != scan && part.output:
		what = "it is an output: use the scan's result instead"
	}
	for _, t := range part.op.tensors {
		if part != scan && l.args[t] {
			what = "it is an argument: pass the scan's result instead"
		}
	}
	for _, o := range l.s.stages {
		if part != scan && o != scan && slices.ContainsFunc(o.reads(), func(t *Tensor) bool { return t.op == part.op }) {
			what = fmt.Sprintf("tensor %s reads it, too: read the scan's result instead", o.op.name)
		}
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("scan %s: tensor %s: %s", scan.op.name, part.op.name, what)
}

// scanRegion sets the region of a part of a scan: the steps that it computes.
func (l *lowering) scanRegion(n *nest) {
	scan := l.scanned[n.st]
	if scan == nil || scan == n.st {
		return
	}
	p := scan.op.scan
	steps := widen(p.inits[0].shape[0], n.size[0].DType())
	if n.st.op != p.updates[0].op {
		return
	}
	n.lo[0], n.size[0], n.whole[0] = steps, l.a.Simplify(tir.Sub(n.size[0], steps)), false
}

// checkScans returns an error if a step of a scan might be computed before those that it reads.
func (l *lowering) checkScans() error {
	for _, scan := range l.s.stages {
		if scan.op.kind != opScan {
			continue
		}
		update := l.s.of[scan.op.scan.updates[0].op]
		last, err := timeLoops(update)
		if err == nil {
			err = l.checkIndependent(l.nests[update], scan.op.scan, last)
		}
		if err != nil {
			return fmt.Errorf("scan %s: tensor %s: %w", scan.op.name, update.op.name, err)
		}
		inner := l.nests[update].loops[last]
		for _, st := range l.order {
			if st != update && st.op.kind == opCompute && update.needs(st) && st.readsState(scan) &&
				!slices.Contains(l.nests[st].path, inner) {
				return fmt.Errorf("scan %s: tensor %s depends on earlier steps: compute it at axis %s of tensor %s, or "+
					"inline", scan.op.name, st.op.name, inner.axis.Var.Name, update.op.name)
			}
		}
	}
	return nil
}

// timeLoops returns the index of the innermost loop over time, or an error if the loops do not run through time in its
// order.
func timeLoops(st *Stage) (last int, err error) {
	order := []*tir.IterVar{st.axes[0]}
	for _, r := range st.rels {
		outer, inner := slices.Index(order, r.outer), slices.Index(order, r.inner)
		switch i := slices.Index(order, r.parent); {
		case !r.fuse && i >= 0:
			order = slices.Replace(order, i, i+1, r.outer, r.inner)
		case r.fuse && (outer >= 0) != (inner >= 0):
			return 0, fmt.Errorf("axis %s fuses the time with another axis: leave it out of fuse", r.parent.Var.Name)
		case r.fuse && outer >= 0 && inner != outer+1:
			return 0, fmt.Errorf("axis %s fuses axes over time in another order", r.parent.Var.Name)
		case r.fuse && outer >= 0:
			order = slices.Replace(order, outer, inner+1, r.parent)
		}
	}
	at := 0
	for i, x := range st.leaves {
		if !slices.Contains(order, x) {
			continue
		}
		last = i
		if x != order[at] {
			return 0, fmt.Errorf("axis %s over time is outside of axis %s: reorder them", x.Var.Name, order[at].Var.Name)
		}
		at++
		if m := st.attrs[x]; m != nil && m.kind != tir.Serial && m.kind != tir.Unrolled {
			how := m.kind.String()
			if m.kind == tir.ThreadBind {
				how = "bound to " + m.thread
			}
			return 0, fmt.Errorf("axis %s over time is %s, but each step reads earlier ones: leave it serial", x.Var.Name, how)
		}
	}
	return last, nil
}

// checkIndependent returns an error if a loop outside of the time, or one that threads execute along with it, needs
// results of its other iterations.
func (l *lowering) checkIndependent(n *nest, p *scanParts, last int) error {
	dependent := map[*tir.IterVar]bool{}
	for d, x := range n.st.axes {
		dependent[x] = d > 0 && !p.free[d]
	}
	for _, r := range n.st.rels {
		if r.fuse {
			dependent[r.parent] = dependent[r.outer] || dependent[r.inner]
		} else {
			dependent[r.outer], dependent[r.inner] = dependent[r.parent], dependent[r.parent]
		}
	}
	threads := slices.ContainsFunc(n.loops[:last], bound)
	for i, lp := range n.loops {
		switch {
		case i < last && lp.axis.Kind == tir.IterReduce:
			return fmt.Errorf("axis %s of the reduction is outside of the time: reorder them", lp.axis.Var.Name)
		case !dependent[lp.axis] || i > last && !(threads && bound(lp)):
		case i < last:
			return fmt.Errorf("axis %s is outside of the time, but a step reads elements of other iterations: reorder them",
				lp.axis.Var.Name)
		default:
			return fmt.Errorf("axis %s is bound to %s inside the time, which other threads execute, and a step reads elements "+
				"of other iterations: bind no axis outside of the time", lp.axis.Var.Name, lp.attrs.thread)
		}
	}
	return nil
}
