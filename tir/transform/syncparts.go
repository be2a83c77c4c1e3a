package transform

import (
	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// idPart is a quotient or a remainder of x by n, as a variable of its own: v = floordiv(x, n) or v = floormod(x, n). If
// two threads have the same quotient and the same remainder, they have the same x.
type idPart struct {
	v         *tir.Var
	x         tir.Expr
	n         int64
	remainder bool
}

// partOf returns the variable for a quotient or a remainder by n.
func (y *syncer) partOf(e *tir.Binary, n int64) *tir.Var {
	for _, p := range y.parts {
		if p.n == n && p.remainder == (e.Op == tir.OpFloorMod) && compare.EqualFree(p.x, e.A) {
			return p.v
		}
	}
	v := tir.NewVar("part", e.A.DType())
	y.parts = append(y.parts, idPart{v, e.A, n, e.Op == tir.OpFloorMod})
	return v
}

// wholes adds to the variables that two accesses have in common those of numbers whose quotients and remainders they
// have in common.
func (y *syncer) wholes(same map[*tir.Var]bool, left, right idRanges, common map[*tir.Var]bool) {
	done := map[*tir.Var]bool{}
	for again := true; again; {
		again = false
		for _, q := range y.parts {
			for _, r := range y.parts {
				if q.remainder || !r.remainder || q.n != r.n || !same[q.v] || !same[r.v] || done[q.v] ||
					!compare.EqualFree(q.x, r.x) {
					continue
				}
				done[q.v], again = true, true
				_, equal := y.compare(y.linear(q.x, left, common), y.linear(r.x, right, common), left, right, common)
				for _, v := range equal {
					same[v] = true
				}
			}
		}
	}
}
