package te

import (
	"slices"

	"tvmgo/tir"
)

// RFactor divides a reduction into partial results, one for each iteration of axis, which is one of its loops. It
// returns the tensor of partial results, the first one if several values are reduced. Its dimension factorAxis has the
// iterations of axis, counted from the end if negative; its other dimensions are those of t. The stage of t then
// combines the partial results, by a new reduction axis (Stage.ReduceAxes). The partial results have loops of their
// own, so that you can compute them in parallel, in the lanes of vectors, or by the blocks of a kernel. Split the
// reduction before, and call this before other primitives change its loops. An iteration without work gives the
// reducer's identity.
func (s *Schedule) RFactor(t *Tensor, axis *tir.IterVar, factorAxis int) *Tensor {
	const primitive = "rfactor"
	none := &Tensor{op: &operation{kind: opPlaceholder, name: "none"}, name: "none"}
	st := s.Stage(t)
	at := st.plainLeaf(primitive, axis)
	if at < 0 {
		return none
	}
	name := axis.Var.Name
	if axis.Kind != tir.IterReduce {
		st.fail(primitive, "axis %s is not a reduction axis: want one of %v", name,
			axisNames(kindOf(st.leaves, tir.IterReduce)))
		return none
	}
	rank := len(st.axes)
	if factorAxis < -rank-1 || factorAxis > rank {
		st.fail(primitive, "axis %s: dimension %d of the partial results: want %d to %d", name, factorAxis, -rank-1, rank)
		return none
	}
	if factorAxis < 0 {
		factorAxis += rank + 1
	}
	for _, x := range kindOf(st.leaves, tir.IterReduce) {
		if st.plainLeaf(primitive, x) < 0 {
			return none
		}
	}
	if st.warp > 0 {
		st.fail(primitive, "axis %s: reduce_by_shuffle was called: call this first", name)
		return none
	}
	f := &factoring{st: st, axis: axis, extent: map[*tir.IterVar]tir.Expr{}, value: map[*tir.IterVar]tir.Expr{}}
	if !f.extents(primitive) {
		return none
	}
	op := f.partial(factorAxis)
	at = slices.Index(st.leaves, kindOf(st.leaves, tir.IterReduce)[0])
	f.rest(op, factorAxis)
	st.leaves = kindOf(st.leaves, tir.IterData)
	st.leaves = slices.Insert(st.leaves, min(at, len(st.leaves)), st.reduce[0])
	s.insert(slices.Index(s.stages, st), op)
	return op.tensors[0]
}

// kindOf returns the axes of a kind.
func kindOf(axes []*tir.IterVar, kind tir.IterKind) []*tir.IterVar {
	return slices.DeleteFunc(slices.Clone(axes), func(x *tir.IterVar) bool { return x.Kind != kind })
}

// factoring is the state of RFactor.
type factoring struct {
	st     *Stage
	axis   *tir.IterVar
	extent map[*tir.IterVar]tir.Expr // of the axes of the reduction
	value  map[*tir.IterVar]tir.Expr // in terms of the axes of the partial results, counted from 0
	guards []tir.Expr                // of splits that do not divide
}

// extents derives the extents of all axes of the reduction, as lowering does.
func (f *factoring) extents(primitive string) bool {
	a := newAnalyzer()
	for _, x := range f.st.reduce {
		a.noteSizes(x.Extent)
		f.extent[x] = a.Simplify(widen(x.Extent, x.Var.Type))
	}
	for _, r := range f.st.rels {
		if r.parent.Kind != tir.IterReduce {
			continue
		}
		t := r.parent.Var.Type
		switch {
		case r.fuse:
			f.extent[r.parent] = a.Simplify(tir.Mul(widen(f.extent[r.outer], t), widen(f.extent[r.inner], t)))
		case r.parts > 0:
			f.extent[r.outer], f.extent[r.inner] = a.parts(f.extent[r.parent], r.parts)
		default:
			factor := atMost(r.factor, f.extent[r.parent])
			f.extent[r.outer], f.extent[r.inner] = a.ceilDiv(f.extent[r.parent], factor), tir.IntConst(t, factor)
		}
		for _, x := range []*tir.IterVar{r.parent, r.outer, r.inner} {
			if b, ok := f.extent[x].(*tir.Bad); ok {
				f.st.fail(primitive, "axis %s: %w", x.Var.Name, b.Err)
				return false
			}
		}
	}
	return true
}

// values computes all axes of the reduction from its loops, and the guards of splits that do not divide.
func (f *factoring) values() {
	a := newAnalyzer()
	for _, x := range kindOf(f.st.leaves, tir.IterReduce) {
		a.Bind(f.value[x].(*tir.Var), tir.IntConst(x.Var.Type, 0), f.extent[x])
	}
	for _, r := range slices.Backward(f.st.rels) {
		if r.parent.Kind != tir.IterReduce {
			continue
		}
		if r.fuse {
			v, inner := f.value[r.parent], widen(f.extent[r.inner], r.parent.Var.Type)
			f.value[r.outer] = a.Simplify(widen(tir.FloorDiv(v, inner), r.outer.Var.Type))
			f.value[r.inner] = a.Simplify(widen(tir.FloorMod(v, inner), r.inner.Var.Type))
			continue
		}
		v := a.Simplify(tir.Add(tir.Mul(f.value[r.outer], f.extent[r.inner]), f.value[r.inner]))
		f.value[r.parent] = v
		if !a.same(tir.Mul(f.extent[r.outer], f.extent[r.inner]), f.extent[r.parent]) &&
			!a.Prove(tir.LT(v, f.extent[r.parent])) {
			f.guards = append(f.guards, tir.Intrin("likely", tir.LT(v, f.extent[r.parent])))
		}
	}
}

// partial makes the operation that computes the partial results.
func (f *factoring) partial(factorAxis int) *operation {
	st := f.st
	var shape []tir.Expr
	for _, x := range st.axes {
		shape = append(shape, x.Extent)
	}
	shape = slices.Insert(shape, factorAxis, f.extent[f.axis])
	name := st.op.name + ".rf"
	op := &operation{kind: opCompute, name: name, axes: dataAxes(shape)}
	to := map[*tir.Var]tir.Expr{}
	for i, x := range slices.Delete(slices.Clone(op.axes), factorAxis, factorAxis+1) {
		to[st.axes[i].Var] = x.Var
	}
	for _, x := range kindOf(st.leaves, tir.IterReduce) {
		if x == f.axis {
			f.value[x] = op.axes[factorAxis].Var
			continue
		}
		k := ReduceAxis(tir.IntConst(x.Var.Type, 0), f.extent[x], x.Var.Name)
		op.reduce = append(op.reduce, k)
		f.value[x] = k.Var
	}
	f.values()
	for _, x := range st.reduce {
		to[x.Var] = tir.Add(widen(x.Min, x.Var.Type), f.value[x])
		if c, ok := x.Min.(*tir.IntImm); ok && c.Value == 0 {
			to[x.Var] = f.value[x]
		}
	}
	old := st.bodies[0].(*tir.Reduce)
	cond := old.Cond
	if cond != nil {
		cond = tir.Substitute(cond, to)
	}
	for _, g := range f.guards {
		if cond == nil {
			cond = g
		} else {
			cond = tir.And(g, cond)
		}
	}
	var sources []tir.Expr
	for _, e := range old.Sources {
		sources = append(sources, tir.Substitute(e, to))
	}
	for i := range sources {
		part := name
		if len(sources) > 1 {
			part = st.op.tensors[i].name + ".rf"
		}
		op.addTensor(part, shape, sources[i].DType())
		switch {
		case len(op.reduce) > 0:
			op.bodies = append(op.bodies, &tir.Reduce{Combiner: old.Combiner, Sources: sources, Axes: op.reduce, Cond: cond,
				Value: i})
		case cond != nil: // each partial result is one value
			op.bodies = append(op.bodies, tir.Intrin("if_then_else", cond, sources[i], old.Combiner.Identity[i]))
		default:
			op.bodies = append(op.bodies, sources[i])
		}
	}
	return op
}

// rest makes the stage combine the partial results.
func (f *factoring) rest(op *operation, factorAxis int) {
	st := f.st
	old := st.bodies[0].(*tir.Reduce)
	k := ReduceAxis(tir.IntConst(f.axis.Var.Type, 0), f.extent[f.axis], f.axis.Var.Name+".v")
	index := slices.Insert(axisVars(st.axes), factorAxis, tir.Expr(k.Var))
	var sources []tir.Expr
	for _, t := range op.tensors {
		sources = append(sources, t.At(index...))
	}
	st.reduce = []*tir.IterVar{k}
	bodies := make([]tir.Expr, len(st.bodies))
	for i := range bodies {
		bodies[i] = &tir.Reduce{Combiner: old.Combiner, Sources: sources, Axes: st.reduce, Value: i}
	}
	st.bodies = bodies
	st.rels = slices.DeleteFunc(st.rels, func(r relation) bool { return r.parent.Kind == tir.IterReduce })
}
