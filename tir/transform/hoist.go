package transform

import (
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// HoistDivisions computes divisions by sizes that are not constant outside of the loops in which neither operand
// changes. Loops that te.Fuse made of loops of unknown extents divide their variable in each index; a C compiler does
// not move such a division out of a loop, because a division by 0 would end the program where the loop has no
// iterations.
//
// It moves integer divisions and remainders of variables and constants. Where a loop has no iterations, the divisor may
// be 0: then nothing is divided, and the result is 0, or the dividend as the remainder.
func HoistDivisions(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return mapBodies("hoist divisions", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		if !tir.Contains(f.Body, func(n any) bool { b, is := n.(*tir.Binary); return is && dividesBySize(b) }) {
			return f.Body, nil
		}
		var h tir.Mutator
		h.PreStmt = func(s tir.Stmt) (tir.Stmt, bool) {
			switch s := s.(type) {
			case *tir.For:
				n := *s
				if n.Body = h.MutateStmt(hoisted(s.Body)); n.Body != s.Body {
					return &n, true
				}
				return s, true
			case *tir.LetStmt:
				n := *s
				if n.Body = h.MutateStmt(hoisted(s.Body)); n.Body != s.Body {
					return &n, true
				}
				return s, true
			}
			return s, false
		}
		return h.MutateStmt(hoisted(f.Body)), nil
	})
}

// hoisted returns a statement that begins with the divisions that loops within it repeat.
func hoisted(s tir.Stmt) tir.Stmt {
	inner := map[*tir.Var]bool{}
	tir.Walk(s, func(n any) bool {
		vars, _ := tir.Bound(n)
		for _, v := range vars {
			inner[v] = true
		}
		return true
	})
	var found []*tir.Binary
	inLoop := 0
	var collect func(n any) bool
	collect = func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			inLoop++
			tir.Walk(n.Body, collect)
			inLoop--
			return false
		case *tir.Binary:
			if inLoop > 0 && dividesBySize(n) && !tir.Contains(n, func(x any) bool {
				v, is := x.(*tir.Var)
				return is && inner[v]
			}) {
				if !slices.ContainsFunc(found, func(o *tir.Binary) bool { return compare.EqualFree(o, n) }) {
					found = append(found, n)
				}
				return false
			}
		}
		return true
	}
	tir.Walk(s, collect)
	if len(found) == 0 {
		return s
	}
	vars := make([]*tir.Var, len(found))
	for i, e := range found {
		vars[i] = tir.NewVar(map[bool]string{true: "quotient", false: "remainder"}[e.Op != tir.OpFloorMod], e.DType())
	}
	replace := tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) {
		if b, is := e.(*tir.Binary); is && dividesBySize(b) {
			if i := slices.IndexFunc(found, func(o *tir.Binary) bool { return compare.EqualFree(o, b) }); i >= 0 {
				return vars[i], true
			}
		}
		return e, false
	}}
	s = replace.MutateStmt(s)
	for i, e := range slices.Backward(found) {
		s = &tir.LetStmt{Var: vars[i], Value: guarded(e), Body: s}
	}
	return s
}

// guarded returns a division that divides nothing by 0.
func guarded(e *tir.Binary) tir.Expr {
	t := e.DType()
	isZero := tir.EQ(e.B, tir.IntConst(t, 0))
	otherwise := tir.Expr(tir.IntConst(t, 0))
	if e.Op == tir.OpFloorMod {
		otherwise = e.A
	}
	return tir.NewSelect(isZero, otherwise, tir.NewBinary(e.Op, e.A, tir.NewSelect(isZero, tir.IntConst(t, 1), e.B)))
}

// dividesBySize reports whether an expression is a division of integers by what is not constant, which reads no memory.
func dividesBySize(e *tir.Binary) bool {
	if e.Op != tir.OpFloorDiv && e.Op != tir.OpFloorMod {
		return false
	}
	if t := e.DType(); !tir.IsInt(t) || t.Lanes != 1 {
		return false
	}
	if _, constant := e.B.(*tir.IntImm); constant {
		return false
	}
	return !tir.Contains(e, func(n any) bool {
		switch n.(type) {
		case *tir.Var, *tir.IntImm, *tir.Binary, *tir.Cast:
			return false
		}
		return true
	})
}
