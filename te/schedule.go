package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// Schedule describes how tensors are computed. It may be lowered several times, and changed in between. It is not safe
// for concurrent use.
type Schedule struct {
	outputs []*Stage
	stages  []*Stage // each after the stages that it reads
	of      map[*operation]*Stage
	err     error
}

// Stage describes how one operation is computed: its loops, their order and kinds, and where it is attached. Its
// methods record the first error in the schedule (Schedule.Err).
type Stage struct {
	s       *Schedule
	op      *operation
	bodies  []tir.Expr // the formulas, which CacheRead and CacheWrite may have changed
	axes    []*tir.IterVar
	reduce  []*tir.IterVar
	units   []*tir.IterVar // loops of one iteration, which no axis of the tensor has
	leaves  []*tir.IterVar // the loops, outermost first
	rels    []relation
	attrs   map[*tir.IterVar]*loopAttrs
	output  bool
	inlined bool
	at      *Stage // nil: not attached
	atAxis  *tir.IterVar

	scope   string
	stages  int  // of double_buffer or pipeline; 0: neither
	async   bool // its memory may be filled by asynchronous copies
	warp    int  // threads that combine their parts of a reduction by shuffles; 0: none
	aligns  map[*tir.IterVar]alignment
	swizzle swizzling

	intrin      *Intrin // computes the loops from intrinAxis on; nil: none
	intrinAxis  *tir.IterVar
	intrinEdges bool // the loops compute tiles that are not whole
	prefetch    []prefetching
	nontemporal bool // its stores bypass the caches

	rewrites []func(tir.Stmt) (tir.Stmt, error) // of the statement of an extern operation
}

// relation describes how axes were derived: a split makes two axes from one, a fusion one from two.
type relation struct {
	parent, outer, inner *tir.IterVar
	fuse                 bool
	factor, parts        int64 // of a split: one of the two is set
}

// loopAttrs describes how a loop is executed.
type loopAttrs struct {
	kind   tir.ForKind
	thread string
	pragma map[string]any
}

// NewSchedule makes a schedule of outputs and of all tensors that they read. At first no stage is attached, and all
// loops are serial. The error is that of a tensor (Tensor.Err).
func NewSchedule(outputs ...*Tensor) (*Schedule, error) {
	if len(outputs) == 0 {
		return nil, fmt.Errorf("te: new schedule: there is no tensor to compute")
	}
	s := &Schedule{of: map[*operation]*Stage{}}
	for i, t := range outputs {
		if t == nil {
			return nil, fmt.Errorf("te: new schedule: tensor %d is nil", i)
		}
		if t.op.err != nil {
			return nil, t.Err()
		}
		if t.op.kind == opPlaceholder {
			return nil, fmt.Errorf("te: new schedule: tensor %s is a placeholder: there is nothing to compute", t.name)
		}
		st := s.add(t.op)
		if !st.output {
			st.output = true
			s.outputs = append(s.outputs, st)
		}
	}
	return s, nil
}

// add makes the stage of an operation, after the stages that it reads.
func (s *Schedule) add(op *operation) *Stage {
	if st := s.of[op]; st != nil {
		return st
	}
	st := newStage(s, op)
	s.of[op] = st
	for _, t := range st.reads() {
		s.add(t.op)
	}
	s.stages = append(s.stages, st)
	return st
}

func newStage(s *Schedule, op *operation) *Stage {
	st := &Stage{s: s, op: op, bodies: op.bodies, axes: op.axes, reduce: op.reduce,
		attrs: map[*tir.IterVar]*loopAttrs{}, aligns: map[*tir.IterVar]alignment{}}
	st.leaves = append(slices.Clone(op.axes), op.reduce...)
	return st
}

// reads returns the tensors that a stage reads, in the order of their first use.
func (st *Stage) reads() []*Tensor {
	if st.op.kind == opExtern || st.op.kind == opScan {
		return st.op.inputs
	}
	return readsOf(st.bodies)
}

func readsOf(bodies []tir.Expr) []*Tensor {
	var all []*Tensor
	for _, b := range bodies {
		tir.Walk(b, func(n any) bool {
			if l, ok := n.(*tir.ProducerLoad); ok {
				if t := l.Producer.(*Tensor); !slices.Contains(all, t) {
					all = append(all, t)
				}
			}
			return true
		})
	}
	return all
}

// Constants returns the tensors that were made by Const or Prepare and are arguments of the scheduled function.
func (s *Schedule) Constants() []*Tensor {
	var all []*Tensor
	for _, st := range s.stages {
		if st.op.constant {
			all = append(all, st.op.tensors...)
		}
	}
	return all
}

// Err returns the first error of a primitive, or nil.
func (s *Schedule) Err() error { return s.err }

// Stage returns the stage of a tensor. Tensors that are computed together share one.
func (s *Schedule) Stage(t *Tensor) *Stage {
	if t != nil {
		if st := s.of[t.op]; st != nil {
			return st
		}
	}
	name := "nil"
	if t != nil {
		name = t.name
	}
	if s.err == nil {
		s.err = fmt.Errorf("te: stage of tensor %s: the schedule has no such tensor: its outputs do not depend on it", name)
	}
	return newStage(s, &operation{kind: opPlaceholder, name: name, tensors: []*Tensor{{name: name}}})
}

// Stages returns all stages, including those of arguments, each after the stages that it reads.
func (s *Schedule) Stages() []*Stage { return slices.Clone(s.stages) }

// Tensor returns the stage's tensor, the first one if there are several.
func (st *Stage) Tensor() *Tensor { return st.op.tensors[0] }

// Axes returns the axes of the tensor before all splits.
func (st *Stage) Axes() []*tir.IterVar { return slices.Clone(st.axes) }

// ReduceAxes returns the axes of the reduction before all splits.
func (st *Stage) ReduceAxes() []*tir.IterVar { return slices.Clone(st.reduce) }

// Leaves returns the current loops, outermost first.
func (st *Stage) Leaves() []*tir.IterVar { return slices.Clone(st.leaves) }

// IsPlaceholder reports whether the stage is an argument, which is not computed.
func (st *Stage) IsPlaceholder() bool { return st.op.kind == opPlaceholder }

// fail records the first error, with the primitive and the tensor.
func (st *Stage) fail(primitive, format string, args ...any) {
	if st.s.err == nil {
		st.s.err = fmt.Errorf("te: %s of tensor %s: %w", primitive, st.op.name, fmt.Errorf(format, args...))
	}
}

// IsOutput reports whether the tensor is an output of the schedule, or is computed together with one.
func (st *Stage) IsOutput() bool { return st.output }

// Reads returns the tensors that the stage's formulas read, without what inlined tensors read, in the order of their
// first use.
func (st *Stage) Reads() []*Tensor { return st.reads() }

// IsInlined reports whether the tensor's formula is substituted wherever it is read (ComputeInline).
func (st *Stage) IsInlined() bool { return st.inlined }

// computed reports whether a primitive may change the stage's loops, and records an error if not.
func (st *Stage) computed(primitive string) bool {
	if st.s.err != nil {
		return false
	}
	switch st.op.kind {
	case opPlaceholder:
		st.fail(primitive, "it is an argument, which is not computed")
	case opExtern:
		st.fail(primitive, "it is made by an extern operation, which has no loops")
	case opScan:
		st.fail(primitive, "it is a scan, whose loops are those of its update %s: schedule that", st.op.scan.updates[0].name)
	}
	return st.s.err == nil
}

// leaf returns the index of axis among the loops, or -1 after recording an error.
func (st *Stage) leaf(primitive string, axis *tir.IterVar) int {
	if !st.computed(primitive) {
		return -1
	}
	if axis == nil {
		st.fail(primitive, "the axis is nil")
		return -1
	}
	if i := slices.Index(st.leaves, axis); i >= 0 {
		return i
	}
	name := axis.Var.Name
	for _, r := range st.rels {
		if r.fuse && (r.outer == axis || r.inner == axis) {
			st.fail(primitive, "axis %s is no longer a loop: it was fused into %s", name, r.parent.Var.Name)
			return -1
		}
		if !r.fuse && r.parent == axis {
			st.fail(primitive, "axis %s is no longer a loop: it was split into %s and %s", name, r.outer.Var.Name,
				r.inner.Var.Name)
			return -1
		}
	}
	for _, o := range st.s.stages {
		if o.hasAxis(axis) {
			st.fail(primitive, "axis %s belongs to tensor %s", name, o.op.name)
			return -1
		}
	}
	st.fail(primitive, "axis %s is not one of its axes %v", name, axisNames(st.leaves))
	return -1
}

// hasAxis reports whether the stage has, or had, axis.
func (st *Stage) hasAxis(axis *tir.IterVar) bool {
	for _, r := range st.rels {
		if r.parent == axis || r.outer == axis || r.inner == axis {
			return true
		}
	}
	return slices.Contains(st.axes, axis) || slices.Contains(st.reduce, axis) || slices.Contains(st.units, axis)
}

func axisNames(axes []*tir.IterVar) []string {
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.Var.Name
	}
	return names
}
