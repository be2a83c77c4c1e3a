package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// CacheRead adds a copy of a tensor in another memory scope, and makes readers read the copy. The copy is a tensor with
// its own stage, and is named after t and scope.
func (s *Schedule) CacheRead(t *Tensor, scope string, readers ...*Tensor) *Tensor {
	const primitive = "cache_read"
	none := &Tensor{op: &operation{kind: opPlaceholder, name: "none"}, name: "none"}
	st := s.Stage(t)
	if s.err != nil {
		return none
	}
	if scope == "" || len(readers) == 0 {
		st.fail(primitive, "scope %q and %d readers: want a scope, and one reader or more", scope, len(readers))
		return none
	}
	var stages []*Stage
	for _, r := range readers {
		rs := s.Stage(r)
		switch {
		case s.err != nil:
			return none
		case rs.op.kind == opExtern:
			st.fail(primitive, "reader %s is an extern operation, which reads the tensor's buffer", rs.op.name)
			return none
		case !slices.Contains(rs.reads(), t):
			st.fail(primitive, "reader %s does not read it", rs.op.name)
			return none
		}
		stages = append(stages, rs)
	}
	op := &operation{kind: opCompute, name: t.name + "." + scope, axes: dataAxes(t.shape)}
	op.addTensor(op.name, t.shape, t.typ)
	op.bodies = []tir.Expr{t.At(axisVars(op.axes)...)}
	copied := op.tensors[0]
	for _, rs := range stages {
		rs.bodies = replaceTensors(rs.bodies, map[*Tensor]*Tensor{t: copied})
	}
	s.insert(slices.Index(s.stages, st)+1, op).scope = scope
	return copied
}

// CacheWrite computes a tensor in another memory scope, and then copies it. It returns the tensor that is computed
// there; the stage of t becomes the copy. Call it before the loops of t are changed.
func (s *Schedule) CacheWrite(t *Tensor, scope string) *Tensor {
	const primitive = "cache_write"
	none := &Tensor{op: &operation{kind: opPlaceholder, name: "none"}, name: "none"}
	st := s.Stage(t)
	if !st.computed(primitive) {
		return none
	}
	switch {
	case scope == "":
		st.fail(primitive, "the scope is empty")
	case len(st.op.tensors) > 1:
		st.fail(primitive, "it is computed together with other tensors: want a single tensor")
	case st.inlined:
		st.fail(primitive, "it is inlined, and has no memory")
	}
	st.unscheduled(primitive)
	if s.err != nil {
		return none
	}
	op := &operation{kind: opCompute, name: t.name + "." + scope, axes: dataAxes(t.shape), reduce: st.reduce}
	op.addTensor(op.name, t.shape, t.typ)
	cached := op.tensors[0]
	to := map[*tir.Var]tir.Expr{}
	for i, a := range st.axes {
		to[a.Var] = op.axes[i].Var
	}
	op.bodies = []tir.Expr{tir.Substitute(st.bodies[0], to)}
	st.bodies = []tir.Expr{cached.At(axisVars(st.axes)...)}
	st.reduce, st.leaves = nil, slices.Clone(st.axes)
	s.insert(slices.Index(s.stages, st), op).scope = scope
	return cached
}

// unscheduled records an error if the stage's loops have been changed, or if a stage is attached to one of them.
func (st *Stage) unscheduled(primitive string) {
	if len(st.rels) > 0 || len(st.attrs) > 0 || st.arranged() ||
		!slices.Equal(st.leaves, append(slices.Clone(st.axes), st.reduce...)) {
		st.fail(primitive, "its loops have been changed: call this first")
	}
	for _, o := range st.s.stages {
		if o.at == st {
			st.fail(primitive, "tensor %s is computed at one of its axes: call this first", o.op.name)
		}
	}
}

func (s *Schedule) insert(i int, op *operation) *Stage {
	st := newStage(s, op)
	s.of[op] = st
	s.stages = slices.Insert(s.stages, i, st)
	return st
}

// replaceTensors makes formulas read other tensors.
func replaceTensors(bodies []tir.Expr, by map[*Tensor]*Tensor) []tir.Expr {
	return mapLoads(bodies, func(l *tir.ProducerLoad) tir.Expr {
		if t := by[l.Producer.(*Tensor)]; t != nil {
			return &tir.ProducerLoad{Producer: t, Indices: l.Indices}
		}
		return l
	})
}

// mapLoads replaces all reads of tensors. Values of one reduction still share one reduction afterwards.
func mapLoads(bodies []tir.Expr, f func(*tir.ProducerLoad) tir.Expr) []tir.Expr {
	m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		if l, ok := e.(*tir.ProducerLoad); ok {
			return f(l)
		}
		return e
	}}
	out := make([]tir.Expr, len(bodies))
	for i, b := range bodies {
		out[i] = m.MutateExpr(b)
	}
	return out
}

// mostInlined limits the number of expressions of a formula after inlining: each read of an inlined tensor is a copy of
// its formula.
const mostInlined = 1 << 15

// sizeOf records how many expressions the formulas of a stage will have after inlining, before any is built.
func (s *Schedule) sizeOf(st *Stage, sizes map[*Stage][]int) error {
	for _, body := range st.bodies {
		size, inlined := 0, ""
		tir.Walk(body, func(node any) bool {
			size++
			if l, ok := node.(*tir.ProducerLoad); ok {
				if t, ok := l.Producer.(*Tensor); ok && s.of[t.op] != nil && s.of[t.op].inlined {
					size += sizes[s.of[t.op]][t.index]
					inlined = t.name
				}
			}
			return size <= mostInlined
		})
		if inlined != "" && size > mostInlined {
			return fmt.Errorf("tensor %s: its formula has more than %d expressions after inlining tensor %s, which "+
				"itself inlines others: compute some of them at a loop (compute_at), or as a whole "+
				"(compute_root)", st.op.name, mostInlined, inlined)
		}
		sizes[st] = append(sizes[st], size)
	}
	return nil
}

// inline substitutes the formulas of inlined tensors, and returns the formulas of all stages.
func (s *Schedule) inline() (map[*Stage][]tir.Expr, error) {
	bodies := map[*Stage][]tir.Expr{}
	sizes := map[*Stage][]int{}
	for _, st := range s.stages {
		if err := s.sizeOf(st, sizes); err != nil {
			return nil, err
		}
		bodies[st] = mapLoads(st.bodies, func(l *tir.ProducerLoad) tir.Expr {
			t := l.Producer.(*Tensor)
			from := s.of[t.op]
			if !from.inlined {
				return l
			}
			to := map[*tir.Var]tir.Expr{}
			for i, a := range from.axes {
				to[a.Var] = widen(l.Indices[i], a.Var.Type)
			}
			return tir.Substitute(bodies[from][t.index], to)
		})
		if st.op.kind == opExtern {
			for _, t := range st.op.inputs {
				if s.of[t.op].inlined {
					return nil, fmt.Errorf("tensor %s is inlined, and extern operation %s reads its buffer", t.name, st.op.name)
				}
			}
		}
	}
	return bodies, nil
}
