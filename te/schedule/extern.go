package schedule

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// The iterations of a parallel loop of an extern operation on a device: blocks of externThreads threads, at most
// externBlocks of them, which every device accepts.
const (
	externThreads = 64
	externBlocks  = 1 << 15
)

// serialBelow is the number of steps of a parallel loop from which threads of a CPU execute it.
const serialBelow = 1 << 14

// unknownSteps is the number of iterations that are assumed of a loop whose extent is no constant.
const unknownSteps = 64

// scheduleExterns schedules the loops of extern operations. On a device, the iterations of a parallel loop are threads,
// and statements outside of these loops are kernels of one thread. On a CPU, short parallel loops become serial.
func scheduleExterns(s *te.Schedule, keys []string) {
	for _, st := range s.Stages() {
		switch {
		case !st.IsExtern():
		case slices.Contains(keys, "gpu"):
			st.Rewrite(func(x tir.Stmt) (tir.Stmt, error) { return bindLoops(x), nil })
		case slices.Contains(keys, "cpu"):
			st.Rewrite(func(x tir.Stmt) (tir.Stmt, error) { return serialLoops(x), nil })
		}
	}
}

// onThreads reports whether a statement has loops that threads execute, or calls functions, which the host does.
func onThreads(s tir.Stmt) bool {
	return tir.Contains(s, func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			return n.Kind == tir.Parallel || n.Kind == tir.ThreadBind
		case *tir.Call:
			return n.Kind != tir.CallIntrinsic
		}
		return false
	})
}

// bindLoops returns a statement in which threads of a device execute parallel loops, and what accesses memory outside
// of them.
func bindLoops(x tir.Stmt) tir.Stmt {
	if !onThreads(x) {
		return oneThread(x)
	}
	switch x := x.(type) {
	case *tir.Seq:
		all := make([]tir.Stmt, len(x.Stmts))
		for i, y := range x.Stmts {
			all[i] = bindLoops(y)
		}
		return tir.Sequence(all...)
	case *tir.For:
		switch x.Kind {
		case tir.ThreadBind:
			return x
		case tir.Parallel:
			return bindLoop(x)
		}
		c := *x
		c.Body = bindLoops(x.Body)
		return &c
	case *tir.If:
		c := &tir.If{Cond: x.Cond, Then: bindLoops(x.Then)}
		if x.Else != nil {
			c.Else = bindLoops(x.Else)
		}
		return c
	case *tir.LetStmt:
		return &tir.LetStmt{Var: x.Var, Value: x.Value, Body: bindLoops(x.Body)}
	case *tir.Alloc:
		return &tir.Alloc{Buffer: x.Buffer, Body: bindLoops(x.Body)}
	case *tir.AttrStmt:
		return &tir.AttrStmt{Key: x.Key, Node: x.Node, Value: x.Value, Body: bindLoops(x.Body)}
	}
	return x
}

// bound is a loop over the threads with an index of the launch.
func bound(tag string, v *tir.Var, extent tir.Expr, body tir.Stmt) tir.Stmt {
	return &tir.For{Kind: tir.ThreadBind, Thread: tag, Var: v, Min: tir.IntConst(v.Type, 0), Extent: extent, Body: body}
}

// oneThread is a kernel of one thread.
func oneThread(x tir.Stmt) tir.Stmt {
	return bound("blockIdx.x", tir.NewVar("block", tir.Int32), tir.I32(1),
		bound("threadIdx.x", tir.NewVar("thread", tir.Int32), tir.I32(1), x))
}

// bindLoop makes a kernel of a parallel loop: each thread executes the iterations whose distance is the number of all
// threads.
func bindLoop(x *tir.For) tir.Stmt {
	t := x.Var.Type
	c := func(v int64) tir.Expr { return tir.IntConst(t, v) }
	an := arith.NewAnalyzer()
	over := func(n tir.Expr, parts int64) tir.Expr {
		return an.Simplify(tir.FloorDiv(tir.Add(n, c(parts-1)), c(parts)))
	}
	blocks := an.Simplify(tir.NewCast(tir.Int32, tir.Min(over(x.Extent, externThreads), c(externBlocks))))
	again := over(x.Extent, externThreads*externBlocks)
	block, thread, round := tir.NewVar("block", tir.Int32), tir.NewVar("thread", tir.Int32), tir.NewVar("round", t)
	at := tir.Add(tir.Mul(tir.NewCast(t, block), c(externThreads)), tir.NewCast(t, thread))
	once := false
	if n, ok := again.(*tir.IntImm); ok {
		once = n.Value <= 1
	}
	if !once {
		at = tir.Add(tir.Mul(round, c(externThreads*externBlocks)), at)
	}
	body := tir.Stmt(&tir.If{Cond: tir.LT(at, x.Extent), Then: &tir.LetStmt{Var: x.Var,
		Value: an.Simplify(tir.Add(x.Min, at)), Body: inner(x.Body)}})
	if !once {
		body = &tir.For{Var: round, Min: c(0), Extent: again, Body: body}
	}
	return bound("blockIdx.x", block, blocks, bound("threadIdx.x", thread, tir.I32(externThreads), body))
}

// inner makes the parallel loops within an iteration serial.
func inner(x tir.Stmt) tir.Stmt {
	m := tir.Mutator{Stmt: func(y tir.Stmt) tir.Stmt {
		if f, ok := y.(*tir.For); ok && f.Kind == tir.Parallel {
			c := *f
			c.Kind = tir.Serial
			return &c
		}
		return y
	}}
	return m.MutateStmt(x)
}

// serialLoops makes parallel loops serial that have few steps, or are within another one.
func serialLoops(x tir.Stmt) tir.Stmt {
	m := tir.Mutator{PreStmt: func(y tir.Stmt) (tir.Stmt, bool) {
		f, ok := y.(*tir.For)
		if !ok || f.Kind != tir.Parallel {
			return y, false
		}
		c := *f
		if c.Body = inner(f.Body); steps(f) < serialBelow {
			c.Kind = tir.Serial
		}
		return &c, true
	}}
	return m.MutateStmt(x)
}

// steps estimates how many statements without parts a statement executes.
func steps(x tir.Stmt) int64 {
	const most = 1 << 40
	switch x := x.(type) {
	case *tir.Seq:
		n := int64(0)
		for _, y := range x.Stmts {
			n = min(most, n+steps(y))
		}
		return n
	case *tir.For:
		n := int64(unknownSteps)
		if c, ok := x.Extent.(*tir.IntImm); ok {
			n = min(most, c.Value)
		} else if x.Kind == tir.Parallel {
			n = serialBelow
		}
		if body := max(1, steps(x.Body)); n < most/body {
			return n * body
		}
		return most
	case *tir.While:
		return min(most, unknownSteps*steps(x.Body))
	case *tir.If:
		n := steps(x.Then)
		if x.Else != nil {
			n = max(n, steps(x.Else))
		}
		return n
	case *tir.LetStmt:
		return steps(x.Body)
	case *tir.Alloc:
		return steps(x.Body)
	case *tir.AttrStmt:
		return steps(x.Body)
	}
	return 1
}
