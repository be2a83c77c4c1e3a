package opencl

import (
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// maxPeeled is the number of iterations up to which the end of a loop is written out.
const maxPeeled = 3

// peelLoops writes out the last iterations of loops with barriers, if the others differ from them by an if, as those do
// that fetch the operands of the next iteration. The loop that remains has no such condition.
//
// PoCL 3.1 compiles this incorrectly: LLVM merges the condition with that of the loop, as both fail in the last
// iteration, and PoCL then mixes up the values of work items:
//
//	for (int k = 0; k < 3; ++k) { barrier(CLK_LOCAL_MEM_FENCE); sum += a[k % 2]; if (k < 2) { if (x < 4) … } }
func peelLoops(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	peeled := false
	by := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		loop, ok := s.(*tir.For)
		if !ok {
			return s
		}
		first, n := lastIterations(loop)
		if first == n {
			return s
		}
		peeled = true
		c := *loop
		c.Extent = tir.IntConst(loop.Extent.DType(), first)
		all := []tir.Stmt{&c}
		for i := first; i < n; i++ {
			all = append(all, tir.Copied(loop.Body, map[*tir.Var]tir.Expr{loop.Var: tir.IntConst(loop.Var.Type, i)}))
		}
		return tir.Sequence(all...)
	}}
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		changed := *f
		changed.Body = by.MutateStmt(f.Body)
		out.Funcs = append(out.Funcs, &changed)
	}
	if !peeled {
		return m, nil
	}
	return arith.Simplify(out, t)
}

// lastIterations returns the first iteration to write out of a loop, and the number of its iterations; the same number
// twice if there is none.
func lastIterations(loop *tir.For) (first, n int64) {
	n, known := tir.IntValue(loop.Extent)
	from, zero := tir.IntValue(loop.Min)
	if first = n; loop.Kind != tir.Serial || !known || !zero || from != 0 || !hasBarrier(loop.Body) {
		return n, n
	}
	tir.Walk(loop.Body, func(node any) bool {
		if branch, ok := node.(*tir.If); ok {
			less, ok := branch.Cond.(*tir.Binary)
			if ok && less.Op == tir.OpLT && less.A == tir.Expr(loop.Var) {
				if c, ok := tir.IntValue(less.B); ok && c > 0 && c >= n-maxPeeled {
					first = min(first, c)
				}
			}
		}
		return true
	})
	return first, n
}
