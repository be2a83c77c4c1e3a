package opencl

import (
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// plainDivision divides as C does, which devices are faster at, where no operand is negative: so are most, made of indices of threads.
func plainDivision(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		an := arith.NewAnalyzer()
		tir.Walk(f, func(node any) bool {
			if l, ok := node.(*tir.For); ok {
				an.Bind(l.Var, l.Min, l.Extent)
			}
			return true
		})
		least := func(e tir.Expr, than int64) bool {
			lo, _, ok := an.Bounds(e)
			return ok && lo >= than
		}
		c := *f
		c.Body = (&tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
			b, ok := e.(*tir.Binary)
			if !ok || b.Op != tir.OpFloorDiv && b.Op != tir.OpFloorMod || !tir.IsInt(b.A.DType()) || b.A.DType().Lanes != 1 || !least(b.A, 0) || !least(b.B, 1) {
				return e
			}
			op := map[tir.BinaryOp]tir.BinaryOp{tir.OpFloorDiv: tir.OpDiv, tir.OpFloorMod: tir.OpMod}[b.Op]
			return &tir.Binary{Op: op, A: b.A, B: b.B}
		}}).MutateStmt(f.Body)
		if c.Body == nil {
			c.Body = f.Body
		}
		out.Funcs = append(out.Funcs, &c)
	}
	return out, nil
}
