package te

import (
	"slices"

	"tvmgo/tir"
)

// alignment makes the stride of a dimension a multiple of factor, plus offset, in elements.
type alignment struct{ factor, offset int64 }

// ComputeAt computes the tensor inside a loop of another stage, which reads it there. Each iteration computes the part
// that it needs. All stages that read the tensor must be inside that loop.
func (st *Stage) ComputeAt(target *Stage, axis *tir.IterVar) {
	const primitive = "compute_at"
	if !st.computed(primitive) {
		return
	}
	if target == nil || target.s != st.s {
		st.fail(primitive, "the target is not a stage of this schedule")
		return
	}
	if i := target.leaf(primitive+" (target)", axis); i < 0 {
		return
	}
	switch {
	case st.output:
		st.fail(primitive, "it is an output, which must be computed as a whole")
	case target == st:
		st.fail(primitive, "axis %s belongs to the same tensor", axis.Var.Name)
	case !target.needs(st):
		st.fail(primitive, "tensor %s, which has axis %s, does not read it", target.op.name, axis.Var.Name)
	default:
		st.at, st.atAxis, st.inlined = target, axis, false
	}
}

// needs reports whether a stage reads other, directly or through other stages.
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
		st.fail(primitive, "it is an output, which must be computed as a whole")
	case len(st.reduce) > 0:
		st.fail(primitive, "it is a reduction, not a formula: use compute_at")
	default:
		if o := st.externReader(); o != nil {
			st.fail(primitive, "extern operation %s reads its buffer", o.op.name)
			return
		}
		st.inlined, st.at, st.atAxis = true, nil, nil
	}
}

// ComputeRoot detaches the tensor and computes it as a whole, as a new schedule does.
func (st *Stage) ComputeRoot() {
	if st.computed("compute_root") {
		st.inlined, st.at, st.atAxis = false, nil, nil
	}
}

// SetScope sets the memory scope of the tensor: "global", "shared", "local", …. The default is "shared" if the tensor
// is attached to a loop of thread blocks, "local" if to a loop of threads, else "global".
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

// stored reports whether the schedule decides where the stage's tensor is stored, and records an error if not.
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

// StorageAlign makes the stride of axis's dimension a multiple of factor, plus offset, in elements, so that the
// elements of a column are in different memory banks.
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
		st.fail(primitive, "axis %s is not one of its dimensions %v", axis.Var.Name, axisNames(st.axes))
	case i == len(st.axes)-1:
		st.fail(primitive, "axis %s is the last dimension, whose elements are contiguous: take an earlier one",
			axis.Var.Name)
	case factor < 1 || offset < 0 || offset >= factor || factor > 1<<31-1:
		st.fail(primitive, "axis %s: factor %d and offset %d: want factor >= 1 and 0 <= offset < factor",
			axis.Var.Name, factor, offset)
	case st.aligns[axis].factor != 0:
		st.fail(primitive, "axis %s is already aligned", axis.Var.Name)
	default:
		st.aligns[axis] = alignment{int64(factor), int64(offset)}
	}
}
