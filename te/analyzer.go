package te

import (
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// analyzer is an arith.Analyzer that knows which variables are those of loops.
type analyzer struct {
	*arith.Analyzer
	loops map[*tir.Var]tir.Expr // how often each runs, from 0 on; free of variables of loops
	sizes map[*tir.Var]bool
}

func newAnalyzer() *analyzer {
	return &analyzer{arith.NewAnalyzer(), map[*tir.Var]tir.Expr{}, map[*tir.Var]bool{}}
}

// within runs do where loops are known to have turns, and their variables to be of these. Elsewhere nothing is known of
// them: whoever is told that a variable is less than n takes n to be 1 at least.
func (a *analyzer) within(loops []*loop, do func()) {
	a.Scope(func() {
		for _, lp := range loops {
			if lp.v != nil {
				a.Bind(lp.v, tir.IntConst(lp.v.Type, 0), widen(lp.width, lp.v.Type))
			}
		}
		do()
	})
}

// noteSizes tells that the variables that are sizes are not negative.
func (a *analyzer) noteSizes(sizes ...tir.Expr) {
	for _, n := range sizes {
		if v, ok := n.(*tir.Var); ok && !a.sizes[v] {
			a.sizes[v] = true
			a.Bind(v, tir.IntConst(v.Type, 0), greatest(v.Type))
		}
	}
}

// sum is x + k·y; nil if one of both is.
func (a *analyzer) sum(x, y tir.Expr, k int64) tir.Expr {
	if x == nil || y == nil {
		return nil
	}
	return a.Simplify(tir.Add(x, tir.Mul(y, tir.IntConst(y.DType(), k))))
}

func (a *analyzer) plus(x tir.Expr, c int64) tir.Expr {
	return a.Simplify(tir.Add(x, tir.IntConst(x.DType(), c)))
}

// same says whether x and y are sure to be equal.
func (a *analyzer) same(x, y tir.Expr) bool {
	c, ok := constant(a.sum(x, y, -1))
	return ok && c == 0
}

// atLeast says whether x is sure to be y or more.
func (a *analyzer) atLeast(x, y tir.Expr) bool { return a.Prove(tir.GE(x, y)) }

func (a *analyzer) ceilDiv(x tir.Expr, d int64) tir.Expr {
	t := x.DType()
	return a.Simplify(tir.FloorDiv(tir.Add(x, tir.IntConst(t, d-1)), tir.IntConst(t, d)))
}

func constant(e tir.Expr) (int64, bool) {
	if c, ok := e.(*tir.IntImm); ok {
		return c.Value, true
	}
	return 0, false
}

// free says whether no variable of a loop is in an expression.
func (a *analyzer) free(e tir.Expr) bool {
	return !mentions(e, func(v *tir.Var) bool { return a.loops[v] != nil })
}

// mentions says whether an expression has a variable of a set.
func mentions(e tir.Expr, in func(*tir.Var) bool) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		if v, ok := n.(*tir.Var); ok && in(v) {
			found = true
		}
		return !found
	})
	return found
}

// span is between what a value lies, both ends included; nil: not known.
type span struct{ lo, hi tir.Expr }

func point(e tir.Expr) span { return span{e, e} }

// turns is the span of a variable that runs n times from 0 on.
func (a *analyzer) turns(n tir.Expr) span { return span{tir.IntConst(n.DType(), 0), a.plus(n, -1)} }

func (s span) known() bool { return s.lo != nil && s.hi != nil }

// spanOf is where an expression of type int32 or int64 lies, if variables lie within spans, and all others do not
// change.
func (a *analyzer) spanOf(e tir.Expr, in map[*tir.Var]span) span {
	domains := map[*tir.Var]arith.Domain{}
	for v, s := range in {
		if s.known() {
			domains[v] = arith.Domain{Min: s.lo, Extent: a.plus(a.sum(s.hi, s.lo, -1), 1)}
		} else if mentions(e, func(x *tir.Var) bool { return x == v }) {
			return span{}
		}
	}
	lo, hi := a.EvalInterval(e, domains)
	return span{lo, hi}
}

// shift is a span so much further.
func (a *analyzer) shift(s, by span) span { return span{a.sum(s.lo, by.lo, 1), a.sum(s.hi, by.hi, 1)} }

// union is the least span that has both.
func (a *analyzer) union(x, y span) span {
	if !x.known() || !y.known() {
		return span{}
	}
	return span{a.Simplify(tir.Min(x.lo, y.lo)), a.Simplify(tir.Max(x.hi, y.hi))}
}

// divide is where quotient and remainder lie.
func (a *analyzer) divide(s span, d tir.Expr) (quotient, remainder span) {
	if !s.known() {
		return span{}, a.turns(d)
	}
	q := span{a.Simplify(tir.FloorDiv(s.lo, d)), a.Simplify(tir.FloorDiv(s.hi, d))}
	if a.same(q.lo, q.hi) {
		return q, span{a.Simplify(tir.FloorMod(s.lo, d)), a.Simplify(tir.FloorMod(s.hi, d))}
	}
	return q, a.turns(d)
}

// cast makes the ends of a span of another type.
func (a *analyzer) cast(s span, t tir.Type) span {
	to := func(e tir.Expr) tir.Expr {
		if e == nil {
			return nil
		}
		return a.Simplify(widen(e, t))
	}
	return span{to(s.lo), to(s.hi)}
}

// most is the greatest that an expression can be in any turn of the loops, free of their variables; nil: not known.
func (a *analyzer) most(e tir.Expr) tir.Expr {
	in := map[*tir.Var]span{}
	for v, n := range a.loops {
		if mentions(e, func(x *tir.Var) bool { return x == v }) {
			in[v] = a.turns(n)
		}
	}
	hi := a.spanOf(e, in).hi
	if hi == nil || !a.free(hi) {
		return nil
	}
	return hi
}
