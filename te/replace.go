package te

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/text"
)

// Formulas returns the stage's formulas, one per tensor, with the changes by CacheRead, CacheWrite and Replace.
func (st *Stage) Formulas() []tir.Expr { return slices.Clone(st.bodies) }

// Replace makes the schedule compute tensor t by the formula of tensor by, which gives the same values in another way,
// for example from operands in another layout. by has the same shape and type and is not in the schedule. The tensors
// that it reads are added to the schedule, and those that are no longer needed are removed. The caller guarantees that
// the values are the same. Call it before the loops of t are changed.
func (s *Schedule) Replace(t, by *Tensor) {
	const primitive = "replace"
	st := s.Stage(t)
	if !st.computed(primitive) {
		return
	}
	switch {
	case by == nil:
		st.fail(primitive, "the replacement is nil")
	case by.op.err != nil:
		st.fail(primitive, "the replacement: %w", by.op.err)
	case by.op.kind != opCompute || len(by.op.tensors) > 1 || len(st.op.tensors) > 1:
		st.fail(primitive, "want formulas of one tensor each: tensor %s and tensor %s", t.name, by.name)
	case s.of[by.op] != nil:
		st.fail(primitive, "tensor %s is already in the schedule", by.name)
	case by.typ != t.typ || len(by.shape) != len(t.shape):
		st.fail(primitive, "tensor %s has type %s and %d dimensions: want %s and %d", by.name, by.typ, len(by.shape),
			t.typ, len(t.shape))
	}
	st.unscheduled(primitive)
	if s.err != nil {
		return
	}
	for d, n := range t.shape {
		if !compare.Equal(n, by.shape[d]) {
			st.fail(primitive, "dimension %d of tensor %s is %s: want %s", d, by.name, text.Print(by.shape[d]), text.Print(n))
			return
		}
	}
	fresh, ok := s.steps(st, by)
	if !ok {
		return
	}
	at := slices.Index(s.stages, st)
	for i, op := range fresh {
		s.insert(at+i, op)
	}
	to := map[*tir.Var]tir.Expr{}
	for i, a := range by.op.axes {
		to[a.Var] = widen(st.axes[i].Var, a.Var.Type)
	}
	st.bodies = []tir.Expr{tir.Substitute(by.op.bodies[0], to)}
	st.reduce = by.op.reduce
	st.leaves = append(slices.Clone(st.axes), st.reduce...)
	s.prune()
}

// steps returns the operations that by depends on and that are not in the schedule, each after those that it reads;
// false if one of them depends on st.
func (s *Schedule) steps(st *Stage, by *Tensor) (fresh []*operation, ok bool) {
	last := slices.Index(s.stages, st)
	seen := map[*operation]bool{}
	ok = true
	var visit func(op *operation)
	visit = func(op *operation) {
		if seen[op] || !ok {
			return
		}
		seen[op] = true
		if old := s.of[op]; old != nil {
			if slices.Index(s.stages, old) >= last {
				st.fail("replace", "tensor %s reads tensor %s, which is not computed before it", by.name, op.name)
				ok = false
			}
			return
		}
		reads := op.inputs
		if op.kind == opCompute {
			reads = readsOf(op.bodies)
		}
		for _, r := range reads {
			visit(r.op)
		}
		fresh = append(fresh, op)
	}
	for _, r := range readsOf(by.op.bodies) {
		visit(r.op)
	}
	return fresh, ok
}

// prune removes the stages that no output depends on. Arguments stay, except for constants.
func (s *Schedule) prune() {
	needed := map[*Stage]bool{}
	var visit func(*Stage)
	visit = func(st *Stage) {
		if needed[st] {
			return
		}
		needed[st] = true
		for _, t := range st.reads() {
			visit(s.of[t.op])
		}
	}
	for _, st := range s.outputs {
		visit(st)
	}
	s.stages = slices.DeleteFunc(s.stages, func(st *Stage) bool {
		gone := !needed[st] && (st.op.kind != opPlaceholder || st.op.constant)
		if gone {
			delete(s.of, st.op)
		}
		return gone
	})
}
