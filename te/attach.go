package te

import (
	"slices"

	"tvmgo/tir"
)

// alignment is of a dimension's stride: so many elements more than a multiple of factor.
type alignment struct{ factor, offset int64 }

// ComputeAt computes the tensor within a loop of another stage, which reads it there: as much as the iteration needs.
// All stages that read it must be within that loop.
func (st *Stage) ComputeAt(target *Stage, axis *tir.IterVar) {
	const primitive = "compute_at"
	if !st.computed(primitive) {
		return
	}
	if target == nil || target.s != st.s {
		st.fail(primitive, "the target is no stage of this schedule")
		return
	}
	if i := target.leaf(primitive+" (target)", axis); i < 0 {
		return
	}
	switch {
	case st.output:
		st.fail(primitive, "it is an output, and has to be computed as a whole")
	case target == st:
		st.fail(primitive, "axis %s is its own", axis.Var.Name)
	case !target.needs(st):
		st.fail(primitive, "tensor %s, whose axis is %s, does not read it", target.op.name, axis.Var.Name)
	default:
		st.at, st.atAxis, st.inlined = target, axis, false
	}
}

// needs says whether a stage reads another, or one that needs it.
func (st *Stage) needs(other *Stage) bool {
	seen := map[*Stage]bool{}
	var look func(*Stage) bool
	look = func(x *Stage) bool {
		seen[x] = true
		for _, t := range x.reads() {
			if o := x.s.of[t.op]; o == other || !seen[o] && look(o) {
				return true
			}
		}
		return false
	}
	return look(st)
}

// ComputeInline substitutes the tensor's formula wherever it is read.
func (st *Stage) ComputeInline() {
	const primitive = "compute_inline"
	if !st.computed(primitive) {
		return
	}
	switch {
	case st.output:
		st.fail(primitive, "it is an output, and has to be computed as a whole")
	case len(st.reduce) > 0:
		st.fail(primitive, "it is a reduction, which is no formula: use compute_at")
	default:
		for _, o := range st.s.stages {
			if o.op.kind == opExtern && slices.ContainsFunc(o.reads(), func(t *Tensor) bool { return t.op == st.op }) {
				st.fail(primitive, "extern operation %s reads its buffer", o.op.name)
				return
			}
		}
		st.inlined, st.at, st.atAxis = true, nil, nil
	}
}

// ComputeRoot computes the tensor on its own, as a new schedule does.
func (st *Stage) ComputeRoot() {
	if st.computed("compute_root") {
		st.inlined, st.at, st.atAxis = false, nil, nil
	}
}

// SetScope sets the memory scope of the tensor: "global", "shared", "local", …. The default is shared if the tensor is
// attached to a loop of thread blocks, local if to a loop of threads, else global.
func (st *Stage) SetScope(scope string) {
	const primitive = "set_scope"
	switch {
	case !st.stored(primitive):
	case scope == "":
		st.fail(primitive, "the scope is empty: want \"global\", \"shared\", \"local\" or another")
	default:
		st.scope = scope
	}
}

// stored says whether the stage has memory that the schedule disposes of.
func (st *Stage) stored(primitive string) bool {
	if st.s.err != nil {
		return false
	}
	switch {
	case st.op.kind == opPlaceholder:
		st.fail(primitive, "it is an argument, whose memory is the caller's")
	case st.output:
		st.fail(primitive, "it is an output, whose memory is the caller's: use cache_write")
	}
	return st.s.err == nil
}

// StorageAlign makes the stride of an axis' dimension, in elements, offset more than a multiple of factor, so that
// columns lie in different memory banks.
func (st *Stage) StorageAlign(axis *tir.IterVar, factor, offset int) {
	const primitive = "storage_align"
	if !st.stored(primitive) {
		return
	}
	i := slices.Index(st.axes, axis)
	switch {
	case axis == nil:
		st.fail(primitive, "the axis is nil")
	case i < 0:
		st.fail(primitive, "axis %s is none of its dimensions %v", axis.Var.Name, axisNames(st.axes))
	case i == len(st.axes)-1:
		st.fail(primitive, "axis %s is the last dimension, whose elements are next to each other: take one before",
			axis.Var.Name)
	case factor < 1 || offset < 0 || offset >= factor || factor > 1<<31-1:
		st.fail(primitive, "axis %s: factor %d and offset %d: want a factor of 1 or more, and an offset less than it",
			axis.Var.Name, factor, offset)
	case st.aligns[axis].factor != 0:
		st.fail(primitive, "axis %s is aligned already", axis.Var.Name)
	default:
		st.aligns[axis] = alignment{int64(factor), int64(offset)}
	}
}

// DoubleBuffer allocates the tensor's memory twice, so that one iteration can fill one half while the other half is
// read. The tensor must be attached to a loop.
func (st *Stage) DoubleBuffer() {
	if st.stored("double_buffer") {
		st.double = true
	}
}
