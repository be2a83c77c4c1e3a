package transform

import (
	"tvmgo/target"
	"tvmgo/tir"
)

// Vectorize makes vectors of loops of kind vectorized: what differs from turn to turn becomes a Ramp, a Broadcast, or an operation on such, and what is the
// same stays a scalar. A loop of more turns than its data fit a vector register is cut into several vectors, and what is left into ever smaller ones, down to
// single turns.
//
// A statement that cannot be one of vectors (a condition, or bounds of a loop, that differ from turn to turn; a store whose turns go along another dimension than
// the last) is run turn by turn, amid the vectors of the others. The whole loop becomes a serial one where it cannot be seen that its
// turns do not depend on each other, where it calls anything with effects or asserts, and where its extent is not constant. Of loops within each other the innermost becomes
// vectors. In any case the program does what it did when it ran turn by turn.
func Vectorize(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	width := vectorBits(t)
	return mapBodies("vectorize", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		v := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
			if loop, ok := s.(*tir.For); ok && loop.Kind == tir.Vectorized {
				return vectorizeLoop(loop, width)
			}
			return s
		}}
		return v.MutateStmt(f.Body), nil
	})
}

// vectorizeLoop is what a loop becomes, whose body has no vectorized loops any more.
func vectorizeLoop(s *tir.For, width int) tir.Stmt {
	serial := *s
	serial.Kind = tir.Serial
	turns, constant := count(s.Extent)
	if !constant || turns < 1 || turns > tir.MaxLanes || s.Var == nil || contains(s.Body, stopsVectors) {
		return &serial
	}
	body, ok := spreadAllocs(s, turns)
	if !ok || !independent(s, turns, body) {
		return &serial
	}
	widest := widestBits(body)
	lanes := int64(1)
	for lanes*2 <= turns && int(lanes)*2*widest <= width {
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
			return copied(body, map[*tir.Var]tir.Expr{s.Var: at})
		}
		z := newLockstep(s.Var, at, int(lanes))
		r, ok := z.stmt(body)
		if !ok {
			return copied(z.turnByTurn(body), nil)
		}
		vectors += z.vectors
		return copied(r, nil) // each part binds variables of its own
	}
	done := turns / lanes * lanes
	if n := turns / lanes; n > maxVectorsInLine {
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
	for done < turns {
		for lanes > turns-done {
			lanes /= 2
		}
		parts = append(parts, one(lanes, plus(low, done)))
		done += lanes
	}
	if vectors == 0 { // nothing but single turns
		return &serial
	}
	return tir.Sequence(parts...)
}

// maxVectorsInLine is how many vectors of one loop stand one after the other, so that what they are of may stay in registers.
const maxVectorsInLine = 8

// stopsVectors says whether a node keeps the turns of its loop from being run in lockstep.
func stopsVectors(node any) bool {
	if f, ok := node.(*tir.For); ok {
		return f.Kind == tir.Parallel || f.Kind == tir.ThreadBind
	}
	return isImpure(node)
}
