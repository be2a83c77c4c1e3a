package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// mostStages limits the memory of Pipeline.
const mostStages = 16

// DoubleBuffer is Pipeline(2): one copy of the tensor's memory is filled while the other one is read.
func (st *Stage) DoubleBuffer() { st.pipeline("double_buffer", 2, false) }

// Pipeline overlaps the computation of the tensor with the loop that it is attached to: its memory gets as many copies
// as there are stages, and in each iteration of the loop the tensor is computed for the iteration stages-1 later, so
// that loads are in flight while the loop computes. The loop must be serial, or unrolled, and the tensor must not read
// tensors that are computed inside the same loop. It has an effect on devices, for memory other than "global".
func (st *Stage) Pipeline(stages int) { st.pipeline("pipeline", stages, false) }

// PipelineAsync is Pipeline. In addition, devices that have asynchronous copies use them to fill the memory, which must
// be "shared".
func (st *Stage) PipelineAsync(stages int) { st.pipeline("pipeline_async", stages, true) }

func (st *Stage) pipeline(primitive string, stages int, async bool) {
	switch {
	case !st.stored(primitive):
	case stages < 2 || stages > mostStages:
		st.fail(primitive, "%d stages: want from 2 to %d", stages, mostStages)
	case st.stages > 0:
		st.fail(primitive, "it has %d stages already", st.stages)
	default:
		st.stages, st.async = stages, async
	}
}

// overlap is the name of the primitive that gave a stage its copies.
func (st *Stage) overlap() string {
	switch {
	case st.async:
		return "pipeline_async"
	case st.stages > 2:
		return "pipeline"
	}
	return "double_buffer"
}

// marked describes the copies of a buffer to pass SoftwarePipeline.
func (st *Stage) marked(b *tir.Buffer, body tir.Stmt) tir.Stmt {
	if st.async {
		body = &tir.AttrStmt{Key: tir.AttrAsync, Node: b, Value: tir.I32(1), Body: body}
	}
	return &tir.AttrStmt{Key: tir.AttrStages, Node: b, Value: tir.I32(int32(st.stages - 1)), Body: body}
}

// overlaps reports whether the computation of a nest overlaps with the loop around it.
func (l *lowering) overlaps(n *nest) (bool, error) {
	if n.st.stages == 0 {
		return false, nil
	}
	lp := n.path[len(n.path)-1]
	fail := func(format string, args ...any) (bool, error) {
		return false, fmt.Errorf("%s of tensor %s at axis %s of tensor %s: %w", n.st.overlap(), n.st.op.name,
			lp.axis.Var.Name, n.st.at.op.name, fmt.Errorf(format, args...))
	}
	switch kind := lp.attrs.kind; {
	case kind != tir.Serial && kind != tir.Unrolled:
		return fail("the axis is %s, and its iterations do not follow each other: attach the tensor to a serial axis",
			kindName(lp))
	case n.st.async && scopeRank(n.scope) != rankShared:
		return fail("its memory is %q, and asynchronous copies fill shared memory: use set_scope", n.scope)
	}
	for _, st := range l.order {
		if !l.nests[st].within(n) {
			continue
		}
		for _, t := range l.reads(st) {
			if r := l.nests[l.s.of[t.op]]; r != nil && slices.Contains(r.path, lp) && !r.within(n) {
				return fail("it reads tensor %s, which is computed inside the same axis, not earlier: compute that outside "+
					"of the axis, or inside of tensor %s", t.name, n.st.op.name)
			}
		}
	}
	return lp.v != nil, nil // a single iteration has none that could be prepared
}

// within reports whether a nest is another one, or is computed inside of it.
func (n *nest) within(other *nest) bool {
	for st := n.st; st != nil; st = st.at {
		if st == other.st {
			return true
		}
	}
	return false
}
