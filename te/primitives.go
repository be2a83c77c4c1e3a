package te

import (
	"slices"
	"strings"

	"tvmgo/tir"
)

// derived makes the axis that replaces others.
func derived(name string, t tir.Type, kind tir.IterKind) *tir.IterVar {
	return &tir.IterVar{Var: tir.NewVar(name, t), Kind: kind}
}

// plainLeaf returns the index of axis among the loops if it has no attributes and no attached stages, so that it may be
// split or fused. Otherwise it records an error and returns -1.
func (st *Stage) plainLeaf(primitive string, axis *tir.IterVar) int {
	i := st.leaf(primitive, axis)
	if i < 0 {
		return -1
	}
	if m := st.attrs[axis]; m != nil {
		what := m.kind.String()
		switch {
		case m.kind == tir.ThreadBind:
			what = "bound to " + m.thread
		case m.kind == tir.Serial:
			what = "given a pragma"
		}
		st.fail(primitive, "axis %s is already %s: call this first", axis.Var.Name, what)
		return -1
	}
	for _, o := range st.s.stages {
		if o.at == st && o.atAxis == axis {
			st.fail(primitive, "tensor %s is computed at axis %s: call this first", o.op.name, axis.Var.Name)
			return -1
		}
	}
	return i
}

// Split divides a loop into two. The inner loop has factor iterations, or as many as axis has if those are fewer. If
// factor does not divide the extent, a condition guards the rest.
func (st *Stage) Split(axis *tir.IterVar, factor int) (outer, inner *tir.IterVar) {
	return st.split("split", axis, relation{factor: int64(factor)}, factor)
}

// SplitParts divides a loop into two. The outer loop has parts iterations, or as many as axis has if those are fewer.
func (st *Stage) SplitParts(axis *tir.IterVar, parts int) (outer, inner *tir.IterVar) {
	return st.split("split into parts", axis, relation{parts: int64(parts)}, parts)
}

func (st *Stage) split(primitive string, axis *tir.IterVar, r relation, n int) (outer, inner *tir.IterVar) {
	name, t, kind := "none", tir.Int32, tir.IterOpaque
	if axis != nil {
		name, t, kind = axis.Var.Name, axis.Var.Type, axis.Kind
	}
	outer, inner = derived(name+".outer", t, kind), derived(name+".inner", t, kind)
	i := st.plainLeaf(primitive, axis)
	if i < 0 {
		return outer, inner
	}
	if n < 1 || n > 1<<31-1 {
		st.fail(primitive, "axis %s is split by %d: want 1 to 2147483647", name, n)
		return outer, inner
	}
	r.parent, r.outer, r.inner = axis, outer, inner
	st.rels = append(st.rels, r)
	st.leaves = slices.Replace(st.leaves, i, i+1, outer, inner)
	return outer, inner
}

// Fuse merges two loops into one. inner must be directly inside outer.
func (st *Stage) Fuse(outer, inner *tir.IterVar) *tir.IterVar {
	const primitive = "fuse"
	name, t, kind := "none", tir.Int32, tir.IterOpaque
	if outer != nil && inner != nil {
		name, t, kind = outer.Var.Name+"."+inner.Var.Name+".fused", outer.Var.Type, outer.Kind
		if inner.Var.Type == tir.Int64 {
			t = tir.Int64
		}
	}
	fused := derived(name, t, kind)
	i, j := st.plainLeaf(primitive, outer), st.plainLeaf(primitive, inner)
	switch {
	case i < 0 || j < 0:
	case outer.Kind != inner.Kind:
		st.fail(primitive, "axis %s has kind %s, and axis %s has kind %s: want two of one kind", outer.Var.Name, outer.Kind,
			inner.Var.Name, inner.Kind)
	case j != i+1:
		st.fail(primitive, "axis %s is not directly inside axis %s: the loops are %v: reorder them first", inner.Var.Name,
			outer.Var.Name, axisNames(st.leaves))
	default:
		st.rels = append(st.rels, relation{parent: fused, outer: outer, inner: inner, fuse: true})
		st.leaves = slices.Replace(st.leaves, i, j+1, fused)
	}
	return fused
}

// Reorder puts the given loops into this order, at the positions that they occupy together. Other loops keep their
// positions.
func (st *Stage) Reorder(axes ...*tir.IterVar) {
	const primitive = "reorder"
	var positions []int
	for _, a := range axes {
		i := st.leaf(primitive, a)
		if i < 0 {
			return
		}
		if slices.Contains(positions, i) {
			st.fail(primitive, "axis %s is given twice", a.Var.Name)
			return
		}
		positions = append(positions, i)
	}
	slices.Sort(positions)
	for n, i := range positions {
		st.leaves[i] = axes[n]
	}
}

// UnitAxis adds an outermost loop of one iteration, which may be bound to a thread index: a tensor without dimensions
// has no other loop for that.
func (st *Stage) UnitAxis(name string) *tir.IterVar {
	axis := derived(name, tir.Int32, tir.IterData)
	if st.computed("unit axis") {
		st.units = append(st.units, axis)
		st.leaves = append([]*tir.IterVar{axis}, st.leaves...)
	}
	return axis
}

// Tile splits two axes, and puts the loops over tiles outside of the loops inside a tile.
func (st *Stage) Tile(x, y *tir.IterVar, xFactor, yFactor int) (xOuter, yOuter, xInner, yInner *tir.IterVar) {
	xOuter, xInner = st.split("tile", x, relation{factor: int64(xFactor)}, xFactor)
	yOuter, yInner = st.split("tile", y, relation{factor: int64(yFactor)}, yFactor)
	if st.s.err == nil {
		st.Reorder(xOuter, yOuter, xInner, yInner)
	}
	return xOuter, yOuter, xInner, yInner
}

// setKind sets how a loop is executed. It can be set once.
func (st *Stage) setKind(primitive string, axis *tir.IterVar, kind tir.ForKind, thread string) {
	if st.leaf(primitive, axis) < 0 {
		return
	}
	name := axis.Var.Name
	if why := combinable(kind, thread); axis.Kind == tir.IterReduce && why != "" {
		st.fail(primitive, "axis %s is a reduction axis, %s: take one of %v", name, why, axisNames(st.axes))
		return
	}
	m := st.attrs[axis]
	if m == nil {
		m = &loopAttrs{}
		st.attrs[axis] = m
	}
	switch {
	case m.kind == tir.ThreadBind && kind == tir.ThreadBind:
		st.fail(primitive, "axis %s is already bound to %s", name, m.thread)
	case m.kind == tir.ThreadBind:
		st.fail(primitive, "axis %s is bound to %s", name, m.thread)
	case m.kind != tir.Serial:
		st.fail(primitive, "axis %s is %s already", name, m.kind)
	default:
		m.kind, m.thread = kind, thread
	}
}

// Vectorize computes the iterations of a loop in the lanes of vectors. The extent must be constant.
func (st *Stage) Vectorize(axis *tir.IterVar) { st.setKind("vectorize", axis, tir.Vectorized, "") }

// Unroll repeats the loop body for each iteration. The extent must be constant.
func (st *Stage) Unroll(axis *tir.IterVar) { st.setKind("unroll", axis, tir.Unrolled, "") }

// Parallel distributes the iterations of a loop over CPU threads.
func (st *Stage) Parallel(axis *tir.IterVar) { st.setKind("parallel", axis, tir.Parallel, "") }

// threadNames are the thread indices that a loop can be bound to.
var threadNames = []string{"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
	"vthread", "vthread.x",
	"vthread.y", "vthread.z"}

// Bind distributes the iterations of a loop over threads of a device: "blockIdx.x", "threadIdx.y", "vthread", …. The
// threads of a reduction axis, which is bound to threadIdx, combine their parts in shared memory, or by shuffles
// (ReduceByShuffle); its extent must be constant.
func (st *Stage) Bind(axis *tir.IterVar, thread string) {
	const primitive = "bind"
	if st.leaf(primitive, axis) < 0 {
		return
	}
	if !slices.Contains(threadNames, thread) {
		st.fail(primitive, "axis %s: %q is not a thread index: want one of %s", axis.Var.Name, thread,
			strings.Join(threadNames, ", "))
		return
	}
	for a, m := range st.attrs {
		if a != axis && m.kind == tir.ThreadBind && m.thread == thread {
			st.fail(primitive, "axis %s: axis %s is already bound to %s", axis.Var.Name, a.Var.Name, thread)
			return
		}
	}
	st.setKind(primitive, axis, tir.ThreadBind, thread)
}

// Pragma attaches a value to a loop under a key, for passes: an int64, a bool, a float64 or a string.
func (st *Stage) Pragma(axis *tir.IterVar, key string, value any) {
	const primitive = "pragma"
	if st.leaf(primitive, axis) < 0 {
		return
	}
	switch v := value.(type) {
	case int:
		value = int64(v)
	case int64, bool, float64, string:
	default:
		st.fail(primitive, "axis %s, key %q: the value is a %T: want an int, int64, bool, float64 or string",
			axis.Var.Name, key, value)
		return
	}
	m := st.attrs[axis]
	if m == nil {
		m = &loopAttrs{}
		st.attrs[axis] = m
	}
	if key == "" || m.pragma[key] != nil {
		st.fail(primitive, "axis %s: key %q is empty, or already has a value", axis.Var.Name, key)
		return
	}
	if m.pragma == nil {
		m.pragma = map[string]any{}
	}
	m.pragma[key] = value
}
