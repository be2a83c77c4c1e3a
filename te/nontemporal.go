package te

import "tvmgo/tir"

// NonTemporal makes the vectors that the stage stores bypass the caches where the processor can do that: memory is not
// read before it is overwritten, and the caches keep what they have. It pays for a result that is larger than the
// caches, and of which whole cache lines are stored one after the other. It does not change results. The stage must be
// a result of the schedule, and no reduction; other languages than C ignore it.
func (st *Stage) NonTemporal() {
	const primitive = "nontemporal"
	switch {
	case !st.output:
		st.fail(primitive, "it is not a result of the schedule")
	case st.op.kind != opCompute || len(st.reduce) > 0 || len(st.op.tensors) != 1:
		st.fail(primitive, "it does not store each element of one tensor once: it is a reduction, a scan, an extern "+
			"operation, or has several results")
	default:
		st.nontemporal = true
	}
}

// nonTemporal marks the stores to a buffer within body.
func nonTemporal(b *tir.Buffer, body tir.Stmt) tir.Stmt {
	return &tir.AttrStmt{Key: tir.AttrNonTemporal, Node: b, Value: tir.I32(1), Body: body}
}
