package tirnodes

import "tvmgo/tir"

// Nested nests a sum so many times, on the left or on the right.
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

// LetsShared nests lets whose value and body are one node: it is used under ever more binders.
func LetsShared(depth int) tir.Expr {
	e := tir.Expr(tir.I32(1))
	for range depth {
		e = &tir.Let{Var: tir.NewVar("v", tir.Int32), Value: e, Body: e}
	}
	return e
}
