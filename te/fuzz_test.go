package te

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tvmgo/tir"
)

// drawer applies random primitives that are valid on their own, and records them.
type drawer struct {
	*rand.Rand
	s       *Schedule
	log     []string
	used    map[string]int
	kernels bool // whether loops may be bound to threads
	device  bool // whether all loops are in kernels
}

func (d *drawer) note(primitive, format string, args ...any) {
	d.used[primitive]++
	d.log = append(d.log, primitive+" "+fmt.Sprintf(format, args...))
}

func pick[T any](d *drawer, all []T) (T, bool) {
	if len(all) == 0 {
		var none T
		return none, false
	}
	return all[d.IntN(len(all))], true
}

// scope returns a random memory scope; on a CPU not "shared".
func (d *drawer) scope() string {
	scopes := []string{"local", "global", "shared"}
	if !d.kernels {
		scopes = scopes[:2]
	}
	scope, _ := pick(d, scopes)
	return scope
}

// stages returns the stages with loops.
func (d *drawer) stages() []*Stage {
	return slices.DeleteFunc(d.s.Stages(), func(st *Stage) bool { return st.op.kind != opCompute || st.inlined })
}

// plain returns the loops without attributes and without attached stages.
func (d *drawer) plain(st *Stage) []*tir.IterVar {
	return slices.DeleteFunc(st.Leaves(), func(x *tir.IterVar) bool {
		return st.attrs[x] != nil || slices.ContainsFunc(d.s.stages, func(o *Stage) bool { return o.atAxis == x })
	})
}

// scanned reports whether the steps of a scan are stored by a stage, which has no memory of its own.
func (d *drawer) scanned(st *Stage) bool {
	return slices.ContainsFunc(d.s.stages, func(o *Stage) bool {
		return o.op.kind == opScan && slices.ContainsFunc(slices.Concat(o.op.scan.inits, o.op.scan.updates),
			func(t *Tensor) bool { return t.op == st.op })
	})
}

func kindOnly(axes []*tir.IterVar, kind tir.IterKind) []*tir.IterVar {
	return slices.DeleteFunc(axes, func(x *tir.IterVar) bool { return x.Kind != kind })
}

func (d *drawer) readers(t *Tensor) []*Stage {
	return slices.DeleteFunc(d.s.Stages(), func(st *Stage) bool {
		return st.op.kind == opExtern || !slices.Contains(st.reads(), t)
	})
}

// draw tries one random primitive.
func (d *drawer) draw() {
	st, ok := pick(d, d.stages())
	if !ok {
		return
	}
	name := st.op.name
	plain := d.plain(st)
	if len(st.rels) > 6 {
		return // many splits of a short loop make many iterations without work
	}
	x, some := pick(d, plain)
	data := kindOnly(slices.Clone(plain), tir.IterData)
	y, someData := pick(d, data)
	switch d.IntN(27) {
	case 0, 1:
		if some {
			n := 1 + d.IntN(5)
			d.note("split", "%s.%s by %d", name, x.Var.Name, n)
			st.Split(x, n)
		}
	case 2:
		if some {
			n := 1 + d.IntN(4)
			d.note("split into parts", "%s.%s by %d", name, x.Var.Name, n)
			st.SplitParts(x, n)
		}
	case 3:
		i := slices.Index(st.leaves, x)
		if some && i+1 < len(st.leaves) && slices.Contains(plain, st.leaves[i+1]) && st.leaves[i+1].Kind == x.Kind {
			d.note("fuse", "%s.%s, %s", name, x.Var.Name, st.leaves[i+1].Var.Name)
			st.Fuse(x, st.leaves[i+1])
		}
	case 4, 5:
		order := st.Leaves()
		d.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		order = order[:d.IntN(len(order)+1)]
		if len(order) > 1 {
			d.note("reorder", "%s %v", name, axisNames(order))
			st.Reorder(order...)
		}
	case 6:
		if len(data) >= 2 {
			a, b := 1+d.IntN(4), 1+d.IntN(4)
			d.note("tile", "%s.%s %s by %d %d", name, data[0].Var.Name, data[1].Var.Name, a, b)
			st.Tile(data[0], data[1], a, b)
		}
	case 7:
		d.vectorize(st, y)
	case 8:
		if some {
			if !short(x) {
				d.note("split", "%s.%s by 3", name, x.Var.Name)
				_, x = st.Split(x, 3)
			}
			d.note("unroll", "%s.%s", name, x.Var.Name)
			st.Unroll(x)
		}
	case 9:
		if someData && !d.device {
			d.note("parallel", "%s.%s", name, y.Var.Name)
			st.Parallel(y)
		}
	case 10:
		thread, _ := pick(d, threadNames)
		taken := false
		for _, m := range st.attrs {
			taken = taken || m.thread == thread
		}
		if someData && !taken && d.kernels {
			d.note("bind", "%s.%s to %s", name, y.Var.Name, thread)
			st.Bind(y, thread)
		}
	case 11:
		if !st.output && !d.scanned(st) && len(st.reduce) == 0 && !slices.ContainsFunc(d.s.stages, func(o *Stage) bool {
			return o.at == st || o.op.kind == opExtern && slices.Contains(o.op.inputs, st.Tensor())
		}) {
			d.note("compute_inline", "%s", name)
			st.ComputeInline()
		}
	case 12, 13, 14:
		d.attach(st)
	case 15:
		t, _ := pick(d, slices.Concat(func() (all []*Tensor) {
			for _, st := range d.s.stages {
				all = append(all, st.op.tensors...)
			}
			return all
		}()))
		readers := d.readers(t)
		if len(readers) == 0 || len(d.s.stages) > 9 {
			return
		}
		d.Shuffle(len(readers), func(i, j int) { readers[i], readers[j] = readers[j], readers[i] })
		readers = readers[:1+d.IntN(len(readers))]
		var tensors []*Tensor
		for _, r := range readers {
			tensors = append(tensors, r.Tensor())
		}
		scope := d.scope()
		d.note("cache_read", "%s %s by %d", t.name, scope, len(readers))
		copied := d.s.Stage(d.s.CacheRead(t, scope, tensors...))
		if d.IntN(4) > 0 {
			d.attach(copied)
		}
	case 16:
		unchanged := len(st.rels)+len(st.attrs)+len(st.aligns) == 0 &&
			slices.Equal(st.leaves, append(slices.Clone(st.axes), st.reduce...))
		if unchanged && len(st.op.tensors) == 1 &&
			!slices.ContainsFunc(d.s.stages, func(o *Stage) bool { return o.at == st }) && len(d.s.stages) < 9 {
			scope := d.scope()
			d.note("cache_write", "%s %s", name, scope)
			cached := d.s.Stage(d.s.CacheWrite(st.Tensor(), scope))
			if d.IntN(4) > 0 {
				d.attach(cached)
			}
		}
	case 17, 18:
		d.drawStorage(st)
	case 20, 21, 22, 23, 24:
		d.across(st)
	case 25:
		k, ok := pick(d, kindOnly(slices.Clone(plain), tir.IterReduce))
		changed := slices.ContainsFunc(kindOnly(st.Leaves(), tir.IterReduce), func(x *tir.IterVar) bool {
			return !slices.Contains(plain, x)
		})
		if ok && !changed && st.warp == 0 && len(d.s.stages) < 9 {
			at := d.IntN(2*len(st.axes)+2) - len(st.axes) - 1
			d.note("rfactor", "%s.%s dimension %d", name, k.Var.Name, at)
			part := d.s.Stage(d.s.RFactor(st.Tensor(), k, at))
			if d.IntN(2) == 0 {
				d.attach(part)
			}
		}
	case 26:
		t, ok := pick(d, st.reads())
		if ok && some && (!d.device || d.IntN(4) == 0) {
			ahead := 1 + d.IntN(3)
			d.note("prefetch", "%s at %s.%s, %d ahead", t.name, name, x.Var.Name, ahead)
			st.Prefetch(t, x, ahead)
		}
	case 19: // an attached stage has loops, and memory for two iterations
		inside := slices.DeleteFunc(d.stages(), func(o *Stage) bool {
			return o.at == nil || o.stages > 0 || d.scanned(o)
		})
		if in, ok := pick(d, inside); ok {
			d.overlap(in)
		}
	}
}

// overlap gives a stage copies of its memory.
func (d *drawer) overlap(st *Stage) {
	n := 1 + d.IntN(4)
	if n > 1 && st.scope == "shared" && d.IntN(2) == 0 {
		d.note("pipeline_async", "%s in %d stages", st.op.name, n)
		st.PipelineAsync(n)
		return
	}
	if n > 1 {
		d.note("pipeline", "%s in %d stages", st.op.name, n)
		st.Pipeline(n)
		return
	}
	d.note("double_buffer", "%s", st.op.name)
	st.DoubleBuffer()
}

// short reports whether an axis has few iterations: it is the inner one of a split, or its extent is a small constant.
func short(x *tir.IterVar) bool {
	c, ok := x.Extent.(*tir.IntImm)
	return ok && c.Value <= 16 || x.Extent == nil && len(x.Var.Name) > 6 && x.Var.Name[len(x.Var.Name)-6:] == ".inner"
}

// vectorize vectorizes a loop or its inner part, with 2, 4 or 8 lanes, which need not divide the extent.
func (d *drawer) vectorize(st *Stage, x *tir.IterVar) {
	if x == nil {
		return
	}
	if !short(x) || d.IntN(2) == 0 {
		lanes := 2 << d.IntN(3)
		d.note("split", "%s.%s by %d", st.op.name, x.Var.Name, lanes)
		_, x = st.Split(x, lanes)
	}
	if i := slices.Index(st.leaves, x); i >= 0 && d.IntN(2) == 0 && i < len(st.leaves)-1 {
		order := append(slices.Clone(st.leaves[i+1:]), x)
		d.note("reorder", "%s %v", st.op.name, axisNames(order))
		st.Reorder(order...)
	}
	d.note("vectorize", "%s.%s", st.op.name, x.Var.Name)
	st.Vectorize(x)
}

// across binds an axis of a reduction to threads, sometimes inside their loop in another stage.
func (d *drawer) across(st *Stage) {
	k, ok := pick(d, kindOnly(d.plain(st), tir.IterReduce))
	if !ok || !d.kernels {
		return
	}
	name := st.op.name
	if d.IntN(3) > 0 {
		n := 1 + d.IntN(8)
		d.note("split", "%s.%s by %d", name, k.Var.Name, n)
		outer, inner := st.Split(k, n)
		k = inner
		if d.IntN(3) == 0 {
			k = outer
		}
	}
	thread, _ := pick(d, []string{"threadIdx.x", "threadIdx.x", "threadIdx.y", "threadIdx.z"})
	for _, m := range st.attrs {
		if m.thread == thread {
			return
		}
	}
	if d.IntN(2) == 0 { // the loops inside become points that each thread has parts of
		order := append([]*tir.IterVar{k}, slices.DeleteFunc(st.Leaves(), func(x *tir.IterVar) bool {
			return x == k || d.IntN(2) == 0
		})...)
		d.note("reorder", "%s %v", name, axisNames(order))
		st.Reorder(order...)
	}
	d.note("bind reduction", "%s.%s to %s", name, k.Var.Name, thread)
	st.Bind(k, thread)
	if thread == "threadIdx.x" && d.IntN(2) == 0 {
		warp := 2 << d.IntN(3)
		d.note("reduce_by_shuffle", "%s %d", name, warp)
		st.ReduceByShuffle(warp)
	}
}

// position is a loop that a stage can be attached to.
type position struct {
	st *Stage
	x  *tir.IterVar
}

// around returns the loops around the computation of a stage, including its own.
func around(st *Stage) (all []position) {
	for _, x := range st.leaves {
		all = append(all, position{st, x})
	}
	for at, x := st.at, st.atAxis; at != nil; at, x = at.at, at.atAxis {
		for _, leaf := range at.leaves[:slices.Index(at.leaves, x)+1] {
			all = append(all, position{at, leaf})
		}
	}
	return all
}

// attach computes a stage inside a loop that contains all its readers; sometimes in an unsuitable loop, for which Lower
// must return an error.
func (d *drawer) attach(st *Stage) {
	if st.output {
		return
	}
	var all []position
	if d.IntN(10) == 0 {
		for _, o := range d.stages() {
			if o != st && o.needs(st) {
				all = append(all, around(o)...)
			}
		}
	} else {
		for i, r := range slices.DeleteFunc(d.s.Stages(), func(r *Stage) bool {
			return r.inlined || !slices.ContainsFunc(r.reads(), func(t *Tensor) bool { return t.op == st.op })
		}) {
			loops := around(r)
			if i == 0 {
				all = loops
			}
			all = slices.DeleteFunc(all, func(p position) bool { return !slices.Contains(loops, p) })
		}
	}
	all = slices.DeleteFunc(all, func(p position) bool {
		return p.st == st || p.st.inlined || p.st.op.kind != opCompute || !p.st.needs(st)
	})
	if at, ok := pick(d, all); ok {
		d.note("compute_at", "%s at %s.%s", st.op.name, at.st.op.name, at.x.Var.Name)
		st.ComputeAt(at.st, at.x)
	}
}

// kernel makes a kernel of an output, and lets its threads load the tensors that it reads, directly or indirectly.
func (d *drawer) kernel(out *Stage) {
	all := out.Axes()
	for i, thread := range []string{"threadIdx.y", "threadIdx.x"} {
		if i >= len(all) {
			return
		}
		x, n := all[len(all)-1-i], 1+d.IntN(4)
		d.note("split", "%s.%s by %d", out.op.name, x.Var.Name, n)
		outer, inner := out.Split(x, n)
		d.note("bind", "%s.%s to %s", out.op.name, inner.Var.Name, thread)
		out.Bind(inner, thread)
		if i == 0 {
			if out.leaves[0] != outer {
				out.Reorder(outer, out.leaves[0])
			}
			out.Bind(outer, "blockIdx.x")
		}
	}
	for st := out; ; {
		reads := slices.DeleteFunc(st.reads(), func(t *Tensor) bool {
			return d.s.of[t.op].output || d.s.of[t.op].at != nil || slices.Contains([]opKind{opExtern, opScan}, t.op.kind)
		})
		t, ok := pick(d, reads)
		if !ok || d.IntN(4) == 0 {
			return
		}
		next := d.s.of[t.op]
		if next.op.kind == opPlaceholder {
			scope, _ := pick(d, []string{"shared", "local"})
			d.note("cache_read", "%s %s by %s", t.name, scope, st.op.name)
			next = d.s.Stage(d.s.CacheRead(t, scope, st.Tensor()))
		}
		at, _ := pick(d, st.leaves)
		d.note("compute_at", "%s at %s.%s", next.op.name, st.op.name, at.Var.Name)
		next.ComputeAt(st, at)
		if next.scope == "local" {
			return
		}
		if len(next.axes) > 0 {
			x, n := next.axes[d.IntN(len(next.axes))], 1+d.IntN(5)
			d.note("split", "%s.%s by %d", next.op.name, x.Var.Name, n)
			_, inner := next.Split(x, n)
			thread, _ := pick(d, []string{"threadIdx.x", "threadIdx.y"})
			d.note("bind", "%s.%s to %s", next.op.name, inner.Var.Name, thread)
			next.Bind(inner, thread)
			if d.IntN(2) == 0 {
				next.SetScope("shared")
			}
		}
		d.arrange(next)
		st = next
	}
}

func (d *drawer) drawStorage(st *Stage) {
	name := st.op.name
	x, ok := pick(d, st.leaves)
	if d.IntN(4) == 0 && ok {
		key := fmt.Sprintf("key%d", len(d.log))
		d.note("pragma", "%s.%s", name, x.Var.Name)
		st.Pragma(x, key, 1)
		return
	}
	if st.output || d.scanned(st) {
		return
	}
	switch d.IntN(3) {
	case 0:
		scope := d.scope()
		d.note("set_scope", "%s %s", name, scope)
		st.SetScope(scope)
	case 1:
		d.arrange(st)
	case 2:
		if st.at != nil && st.stages == 0 {
			d.overlap(st)
		}
	}
}

// arrange changes where the elements of a tensor are in memory.
func (d *drawer) arrange(st *Stage) {
	if len(st.axes) < 2 || st.arranged() {
		return
	}
	name, x := st.op.name, st.axes[d.IntN(len(st.axes)-1)]
	align := d.IntN(2) == 0
	if align {
		d.note("storage_align", "%s", name)
		st.StorageAlign(x, 8, d.IntN(8))
	}
	if !align || d.IntN(4) == 0 {
		width, step := 1<<d.IntN(3), 1+d.IntN(4)
		d.note("storage_swizzle", "%s.%s %d %d", name, x.Var.Name, width, step)
		st.StorageSwizzle(x, width, step)
	}
}
