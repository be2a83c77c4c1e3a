package transform

import (
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// MaxPartitioned is the greatest number of statements of a function in which LoopPartition makes copies. Beyond it,
// loops keep their guards.
const MaxPartitioned = 2048

// LoopPartition splits loops at the iterations where a guard begins or ceases to hold. A guard is a condition of an
// If with the intrinsic likely. The part in which the guard holds has no guard; the iterations before and after it
// become loops, which are split in the same way. A stored if_then_else with guards becomes an If with two stores. Each
// iteration runs once and in its order, so that effects stay the same. A parallel loop stays one loop, in which each
// iteration finds its part. Loops over threads of a device stay as they are, and so do loops whose bounds read memory.
//
// A guard compares sums of multiples of the loop's variable and of variables of inner loops. Loops of kind
// vectorized and unrolled whose parts have no constant extent become serial.
func LoopPartition(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return mapBodies("loop partition", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		if f.Body == nil || !contains(f.Body, isLikely) {
			return f.Body, nil
		}
		p := &partition{a: arith.NewAnalyzer(), size: statements(f.Body), threads: map[any]bool{}}
		for _, b := range f.Buffers {
			for _, n := range b.Shape {
				if v, ok := n.(*tir.Var); ok && tir.IsSigned(v.Type) {
					p.a.Bind(v, sized(v.Type, 0), sized(v.Type, 1<<(v.Type.Bits-1)-1)) // sizes are not negative
				}
			}
		}
		return p.stmt(chosenStores(f.Body)), nil
	})
}

// chosenStores makes an If of each store of a value that a guard chooses.
func chosenStores(s tir.Stmt) tir.Stmt {
	m := &tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) { return e, true }, Stmt: func(s tir.Stmt) tir.Stmt {
		st, ok := s.(*tir.BufferStore)
		if !ok {
			return s
		}
		c, ok := st.Value.(*tir.Call)
		if !ok || c.Kind != tir.CallIntrinsic || c.Name != "if_then_else" || !slices.ContainsFunc(conjuncts(c.Args[0]),
			func(e tir.Expr) bool { return isLikely(e) }) {
			return s
		}
		store := func(value tir.Expr) tir.Stmt {
			n := *st
			n.Value = value
			return chosenStores(&n)
		}
		return &tir.If{Cond: c.Args[0], Then: store(c.Args[1]), Else: tir.Copied(store(c.Args[2]), nil)}
	}}
	return m.MutateStmt(s)
}

func isLikely(node any) bool {
	c, ok := node.(*tir.Call)
	return ok && c.Kind == tir.CallIntrinsic && c.Name == "likely"
}

type partition struct {
	a       *arith.Analyzer
	size    int64        // current number of statements of the function
	threads map[any]bool // variables that differ among the threads of a block
}

// stmt splits the loops of a statement, the outermost first.
func (p *partition) stmt(s tir.Stmt) tir.Stmt {
	m := &tir.Mutator{PreStmt: func(s tir.Stmt) (tir.Stmt, bool) {
		switch s := s.(type) {
		case *tir.For:
			if s.Kind == tir.ThreadBind && !strings.HasPrefix(s.Thread, "blockIdx") || p.differs(s.Min) ||
				p.differs(s.Extent) {
				p.threads[s.Var] = true
			}
			return p.loop(s), true
		case *tir.LetStmt:
			if p.differs(s.Value) {
				p.threads[s.Var] = true
			}
		default:
			if tir.Opaque(s) {
				vars, _ := tir.Bound(s)
				for _, v := range vars {
					p.threads[v] = true
				}
			}
		}
		return s, false
	}}
	r := m.MutateStmt(s)
	if r == nil {
		return &tir.Seq{}
	}
	return r
}

// differs reports whether a value may differ between the threads of a block.
func (p *partition) differs(e tir.Expr) bool {
	return len(p.threads) > 0 && contains(e, func(node any) bool { return p.threads[node] || tir.Opaque(node) })
}

// inner splits the loops inside another one.
func (p *partition) inner(s *tir.For) tir.Stmt {
	var body tir.Stmt
	p.a.Scope(func() {
		p.a.Bind(s.Var, minOf(s), tir.NewCast(s.Var.Type, s.Extent))
		body = p.stmt(s.Body)
	})
	if body == s.Body {
		return s
	}
	n := *s
	n.Body = body
	return &n
}

func (p *partition) loop(s *tir.For) tir.Stmt {
	t := s.Var.Type
	if s.Kind == tir.ThreadBind || !tir.IsSigned(t) || contains(s.Min, readsOrActs) || contains(s.Extent, readsOrActs) {
		return p.inner(s)
	}
	guards := p.guards(s)
	if len(guards) == 0 {
		return p.inner(s)
	}
	low := p.a.Simplify(minOf(s))
	end := p.a.Simplify(tir.Add(low, tir.NewCast(t, s.Extent)))
	from, to := low, end // where all guards hold
	holds := map[tir.Expr]tir.Expr{}
	for _, g := range guards {
		if g.step > 0 {
			from = p.a.Simplify(tir.Max(from, g.bound))
		} else {
			to = p.a.Simplify(tir.Min(to, g.bound))
		}
		holds[g.node] = tir.BoolConst(true)
	}
	from = p.a.Simplify(tir.Min(from, end))
	to = p.a.Simplify(tir.Max(to, from))
	// no iteration satisfies all guards, or the range differs between threads
	if p.never(from, to) || p.differs(from) || p.differs(to) {
		return p.inner(s)
	}
	before, after := p.never(low, from), p.never(to, end)
	copies := int64(0)
	for _, none := range []bool{before, after} {
		if !none {
			copies++
		}
	}
	size := statements(s)
	if p.size+size*copies > MaxPartitioned {
		return p.inner(s)
	}
	p.size += size * copies
	if s.Kind == tir.Parallel && copies > 0 {
		return p.branches(s, from, to, before, after, holds)
	}
	var parts []tir.Stmt
	part := func(none bool, from, to tir.Expr, swap map[tir.Expr]tir.Expr) {
		if none {
			return
		}
		c := tir.NewCopier(nil)
		c.Swap = swap
		r := c.Stmt(s).(*tir.For)
		r.Min, r.Extent = from, p.a.Simplify(tir.Sub(to, from))
		if _, constant := count(r.Extent); !constant && (r.Kind == tir.Vectorized || r.Kind == tir.Unrolled) {
			r.Kind = tir.Serial
		}
		if r.Body = withoutTrue(r.Body); !isEmpty(r.Body) || isEmpty(s.Body) {
			if len(swap) > 0 && len(swap) < len(guards) { // other guards may split it further
				parts = append(parts, p.loop(r))
			} else {
				parts = append(parts, p.inner(r))
			}
		}
	}
	part(before, low, from, p.fails(guards, true, from))
	part(false, from, to, holds)
	part(after, to, end, p.fails(guards, false, to))
	return tir.Sequence(parts...)
}

// never reports whether the range from a to b is certainly empty.
func (p *partition) never(a, b tir.Expr) bool { return p.a.Prove(tir.GE(a, b)) }

// fails returns the guards that hold nowhere in the part before, or after, the range in which all guards hold; at is
// the iteration between the two. If only one guard holds on that side, it fails in the whole part.
func (p *partition) fails(guards []guard, before bool, at tir.Expr) map[tir.Expr]tir.Expr {
	side := 0
	for _, g := range guards {
		if before == (g.step > 0) {
			side++
		}
	}
	all := map[tir.Expr]tir.Expr{}
	for _, g := range guards {
		if g.exact && before == (g.step > 0) && (side == 1 || before && p.a.Prove(tir.LE(at, g.bound)) || !before &&
			p.a.Prove(tir.GE(at, g.bound))) {
			all[g.node] = tir.BoolConst(false)
		}
	}
	return all
}

// branches returns a loop that checks in each iteration whether all guards hold.
func (p *partition) branches(s *tir.For, from, to tir.Expr, before, after bool, holds map[tir.Expr]tir.Expr) tir.Stmt {
	var cond tir.Expr
	if !before {
		cond = tir.GE(s.Var, from)
	}
	if !after {
		below := tir.LT(s.Var, to)
		if cond == nil {
			cond = below
		} else {
			cond = tir.And(cond, below)
		}
	}
	c := tir.NewCopier(nil)
	c.Swap = holds
	free := withoutTrue(c.Stmt(s.Body))
	rest := tir.Copied(s.Body, nil)
	p.a.Scope(func() {
		p.a.Bind(s.Var, minOf(s), tir.NewCast(s.Var.Type, s.Extent))
		p.a.With(cond, func() { free = p.stmt(free) })
		p.a.With(tir.NewNot(cond), func() { rest = p.stmt(rest) })
	})
	n := *s
	n.Body = &tir.If{Cond: tir.Intrin("likely", cond), Then: free, Else: rest}
	return &n
}

func isEmpty(s tir.Stmt) bool {
	q, ok := s.(*tir.Seq)
	return ok && len(q.Stmts) == 0
}

// withoutTrue removes constant conditions.
func withoutTrue(s tir.Stmt) tir.Stmt {
	m := &tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) { return e, true }, Stmt: func(s tir.Stmt) tir.Stmt {
		branch, ok := s.(*tir.If)
		if !ok {
			return s
		}
		var cond tir.Expr
		for _, c := range conjuncts(branch.Cond) {
			k, constant := c.(*tir.IntImm)
			switch {
			case constant && k.Value == 0:
				if branch.Else == nil {
					return nil
				}
				return branch.Else
			case constant:
			case cond == nil:
				cond = c
			default:
				cond = tir.And(cond, c)
			}
		}
		if cond == nil {
			return branch.Then
		}
		return &tir.If{Cond: cond, Then: branch.Then, Else: branch.Else}
	}}
	if r := m.MutateStmt(s); r != nil {
		return r
	}
	return &tir.Seq{}
}
