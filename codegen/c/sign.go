package c

import "tvmgo/tir"

// nonNegative says whether a whole number is 0 or more for certain. Where both operands are, C's own division rounds as tir's does.
func (w *writer) nonNegative(e tir.Expr) bool {
	switch e := e.(type) {
	case *tir.IntImm:
		return e.Value >= 0
	case *tir.Var:
		return w.counts[e]
	case *tir.Cast:
		from := e.Value.DType()
		return tir.IsInt(from) && tir.IsInt(e.Type) && from.Bits <= e.Type.Bits && w.nonNegative(e.Value)
	case *tir.Binary:
		if t := e.A.DType(); !tir.IsSigned(t) || t.Bits < 32 { // small ones wrap around
			return false
		}
		switch e.Op {
		case tir.OpAdd, tir.OpMul, tir.OpFloorDiv, tir.OpMin:
			return w.nonNegative(e.A) && w.nonNegative(e.B)
		case tir.OpFloorMod:
			return w.nonNegative(e.B)
		case tir.OpMax:
			return w.nonNegative(e.A) || w.nonNegative(e.B)
		}
	}
	return false
}

// counted notes a loop whose variable begins at 0 or later.
func (w *writer) counted(s *tir.For) {
	if w.nonNegative(s.Min) {
		w.counts[s.Var] = true
	}
}
