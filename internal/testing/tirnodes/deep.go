package tirnodes

import "tvmgo/tir"

// Nested makes a sum of the given depth, nested on the left or on the right.
func Nested(x tir.Expr, depth int, left bool) tir.Expr {
	e := x
	for range depth {
		if left {
			e = &tir.Binary{Op: tir.OpAdd, A: e, B: tir.I32(1)}
		} else {
			e = &tir.Binary{Op: tir.OpAdd, A: tir.I32(1), B: e}
		}
	}
	return e
}

// LetsShared makes nested lets. The value and the body of each are the same node, so 2^depth paths lead to the
// innermost node.
func LetsShared(depth int) tir.Expr {
	e := tir.Expr(tir.I32(1))
	for range depth {
		e = &tir.Let{Var: tir.NewVar("v", tir.Int32), Value: e, Body: e}
	}
	return e
}
