package opencl

import (
	"maps"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// unrollPairs asks the compiler to write out loops of two turns that have a barrier within. PoCL 3.1, which Debian 12 has, takes the flag by which
// LLVM counts two turns for a condition that tells threads apart. It ends the process then, by an assertion, or leaves out what follows the loop: in
//
//	for (int k = 0; k < 2; ++k) { barrier(CLK_LOCAL_MEM_FENCE); if (x < 3) sum += a[k]; }
//	if (x < 3) out[x] = sum;
//
// the last line. Loops of one turn or of three are right, and so is this one when it is written out, which is no loss elsewhere.
func unrollPairs(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return rewritten(m, &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		loop, ok := s.(*tir.For)
		if !ok || loop.Kind != tir.Serial || loop.Annotations[transform.AnnotationUnroll] != nil || !hasBarrier(loop.Body) {
			return s
		}
		if turns, constant := loop.Extent.(*tir.IntImm); !constant || turns.Value != 2 {
			return s
		}
		c := *loop
		c.Annotations = map[string]any{transform.AnnotationUnroll: int64(2)}
		maps.Copy(c.Annotations, loop.Annotations)
		return &c
	}}), nil
}

func hasBarrier(s tir.Stmt) (found bool) {
	tir.Walk(s, func(node any) bool {
		if call, ok := node.(*tir.Call); ok && call.Name == "storage_sync" {
			found = true
		}
		return !found
	})
	return found
}
