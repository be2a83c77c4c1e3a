package transform

import (
	"tvmgo/target"
	"tvmgo/tir"
)

// Vectorize replaces loops of kind vectorized by vectors: a value that differs between iterations becomes a Ramp, a
// Broadcast or an operation on these, and others stay scalars. If the data of a loop exceed a vector register, the
// loop becomes several vectors; the rest becomes smaller vectors, down to single iterations.
//
// A statement that vectors cannot express runs iteration by iteration between the vectors of the others: a condition
// or loop bounds that differ between iterations, or a store that moves along another dimension than the last. The
// whole loop becomes serial if its iterations may depend on each other, if it has a call with effects or an
// assertion, or if its extent is not constant. Of nested loops, the innermost becomes vectors. The result is always
// that of the serial loop.
//
// In kernels, a store below a bounds check is a vector where the check holds for all its elements; the others run
// iteration by iteration. On a CPU, LoopPartition separates them before.
func Vectorize(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	width := vectorBits(t)
	return mapBodies("vectorize", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		device := IsKernel(f) || contains(f.Body, func(node any) bool {
			loop, ok := node.(*tir.For)
			return ok && loop.Kind == tir.ThreadBind
		})
		v := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
			if loop, ok := s.(*tir.For); ok && loop.Kind == tir.Vectorized {
				return vectorizeLoop(loop, width, device)
			}
			return s
		}}
		return v.MutateStmt(f.Body), nil
	})
}

// vectorizeLoop vectorizes a loop whose body no longer has vectorized loops.
func vectorizeLoop(s *tir.For, width int, device bool) tir.Stmt {
	serial := *s
	serial.Kind = tir.Serial
	iterations, constant := count(s.Extent)
	if !constant || iterations < 1 || iterations > tir.MaxLanes || s.Var == nil || contains(s.Body, stopsVectors) {
		return &serial
	}
	body, ok := spreadAllocs(s, iterations)
	if !ok || !independent(s, iterations, body) {
		return &serial
	}
	widest := widestBits(body)
	lanes := int64(1)
	for lanes*2 <= iterations && int(lanes)*2*widest <= width {
		lanes *= 2
	}
	if lanes == 1 {
		return &serial
	}
	low := minOf(s)
	var parts []tir.Stmt
	vectors := 0
	one := func(lanes int64, at tir.Expr) tir.Stmt {
		if lanes == 1 {
			return tir.Copied(body, map[*tir.Var]tir.Expr{s.Var: at})
		}
		z := newLockstep(s.Var, at, int(lanes), device)
		r, ok := z.stmt(body)
		if !ok {
			return tir.Copied(z.eachIteration(body), nil)
		}
		vectors += z.vectors
		return tir.Copied(r, nil) // each part binds variables of its own
	}
	done := iterations / lanes * lanes
	if n := iterations / lanes; n > maxVectorsInLine {
		c := tir.NewVar(s.Var.Name, s.Var.Type)
		at := tir.Mul(c, sized(c.Type, lanes))
		if k, isConst := low.(*tir.IntImm); !isConst || k.Value != 0 {
			at = tir.Add(low, at)
		}
		parts = append(parts, &tir.For{Var: c, Min: sized(c.Type, 0), Extent: sized(c.Type, n), Body: one(lanes, at)})
	} else {
		for k := int64(0); k < done; k += lanes {
			parts = append(parts, one(lanes, plus(low, k)))
		}
	}
	for done < iterations {
		for lanes > iterations-done {
			lanes /= 2
		}
		parts = append(parts, one(lanes, plus(low, done)))
		done += lanes
	}
	if vectors == 0 { // only single iterations
		return &serial
	}
	return tir.Sequence(parts...)
}

// maxVectorsInLine limits the number of vectors of one loop in a row, so that their operands stay in registers.
const maxVectorsInLine = 8

// stopsVectors reports whether the iterations of a loop with this node cannot run in lockstep.
func stopsVectors(node any) bool {
	if f, ok := node.(*tir.For); ok {
		return f.Kind == tir.Parallel || f.Kind == tir.ThreadBind
	}
	return isImpure(node)
}
