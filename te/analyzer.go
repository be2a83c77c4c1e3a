package te

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// analyzer is an arith.Analyzer that also knows the extents of loop variables.
type analyzer struct {
	*arith.Analyzer
	loops map[*tir.Var]tir.Expr // the extent of each; it contains no loop variables
	sizes map[*tir.Var]bool
}

func newAnalyzer() *analyzer {
	return &analyzer{arith.NewAnalyzer(), map[*tir.Var]tir.Expr{}, map[*tir.Var]bool{}}
}

// within calls do with the loop variables bound to their ranges. The bindings hold only inside do, because they imply
// that every extent is at least 1.
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

// noteSizes records that the variables among sizes are not negative.
func (a *analyzer) noteSizes(sizes ...tir.Expr) {
	for _, n := range sizes {
		if v, ok := n.(*tir.Var); ok && !a.sizes[v] {
			a.sizes[v] = true
			a.Bind(v, tir.IntConst(v.Type, 0), greatest(v.Type))
		}
	}
}

// sum returns x + k·y, or nil if x or y is nil.
func (a *analyzer) sum(x, y tir.Expr, k int64) tir.Expr {
	if x == nil || y == nil {
		return nil
	}
	return a.Simplify(tir.Add(x, tir.Mul(y, tir.IntConst(y.DType(), k))))
}

func (a *analyzer) plus(x tir.Expr, c int64) tir.Expr {
	return a.Simplify(tir.Add(x, tir.IntConst(x.DType(), c)))
}

// same reports whether x and y are certainly equal.
func (a *analyzer) same(x, y tir.Expr) bool {
	c, ok := constant(a.sum(x, y, -1))
	return ok && c == 0
}

// atLeast reports whether certainly x >= y.
func (a *analyzer) atLeast(x, y tir.Expr) bool { return a.Prove(tir.GE(x, y)) }

// withinFused reports whether an index that a fused loop computes is certainly less than a size: x is the quotient or
// the remainder of a loop whose extent is a product of sizes, also of unknown ones.
func (a *analyzer) withinFused(x, size tir.Expr) bool {
	all := a.sizesOf(a.Simplify(x))
	if len(all) == 0 {
		return false
	}
	product := all[0]
	for _, n := range all[1:] {
		product = tir.Mul(product, n)
	}
	return a.same(product, size)
}

// sizesOf returns factors whose product x is less than; none: unknown.
func (a *analyzer) sizesOf(x tir.Expr) []tir.Expr {
	if v, ok := x.(*tir.Var); ok && a.loops[v] != nil {
		return factors(a.loops[v])
	}
	b, ok := x.(*tir.Binary)
	if !ok || b.Op != tir.OpFloorDiv && b.Op != tir.OpFloorMod {
		return nil
	}
	all := slices.Clone(a.sizesOf(b.A))
	for _, by := range factors(b.B) { // a loop that runs has no factor of 0
		at := slices.IndexFunc(all, func(n tir.Expr) bool { return n.DType() == by.DType() && a.same(n, by) })
		if at < 0 || !a.atLeast(by, tir.IntConst(by.DType(), 0)) {
			return nil
		}
		all = slices.Delete(all, at, at+1)
	}
	if b.Op == tir.OpFloorMod {
		return factors(b.B)
	}
	return all
}

// factors returns the factors of a product.
func factors(e tir.Expr) []tir.Expr {
	if b, ok := e.(*tir.Binary); ok && b.Op == tir.OpMul {
		return append(factors(b.A), factors(b.B)...)
	}
	return []tir.Expr{e}
}

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

// constantOne reports whether a size is the constant 1.
func constantOne(e tir.Expr) bool {
	c, ok := constant(e)
	return ok && c == 1
}

// free reports whether an expression contains no loop variable.
func (a *analyzer) free(e tir.Expr) bool {
	return !mentions(e, func(v *tir.Var) bool { return a.loops[v] != nil })
}

// mentions reports whether an expression contains a variable for which in is true.
func mentions(e tir.Expr, in func(*tir.Var) bool) bool {
	return tir.Contains(e, func(n any) bool {
		v, ok := n.(*tir.Var)
		return ok && in(v)
	})
}

// span is a range of values from lo to hi, both inclusive; nil: unknown.
type span struct{ lo, hi tir.Expr }

func point(e tir.Expr) span { return span{e, e} }

// iterations returns the span of a variable that starts at 0 and has n iterations.
func (a *analyzer) iterations(n tir.Expr) span {
	return span{tir.IntConst(n.DType(), 0), a.plus(n, -1)}
}

func (s span) known() bool { return s.lo != nil && s.hi != nil }

// spanOf returns the span of an expression of type int32 or int64. The variables in the map are within their spans; all
// others are fixed.
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

// shift adds by to a span.
func (a *analyzer) shift(s, by span) span { return span{a.sum(s.lo, by.lo, 1), a.sum(s.hi, by.hi, 1)} }

// union returns the least span that contains both.
func (a *analyzer) union(x, y span) span {
	if !x.known() || !y.known() {
		return span{}
	}
	return span{a.Simplify(tir.Min(x.lo, y.lo)), a.Simplify(tir.Max(x.hi, y.hi))}
}

// divide returns the spans of the quotient and the remainder.
func (a *analyzer) divide(s span, d tir.Expr) (quotient, remainder span) {
	if !s.known() {
		return span{}, a.iterations(d)
	}
	q := span{a.Simplify(tir.FloorDiv(s.lo, d)), a.Simplify(tir.FloorDiv(s.hi, d))}
	if a.same(q.lo, q.hi) {
		return q, span{a.Simplify(tir.FloorMod(s.lo, d)), a.Simplify(tir.FloorMod(s.hi, d))}
	}
	return q, a.iterations(d)
}

// cast converts the ends of a span to another type.
func (a *analyzer) cast(s span, t tir.Type) span {
	to := func(e tir.Expr) tir.Expr {
		if e == nil {
			return nil
		}
		return a.Simplify(widen(e, t))
	}
	return span{to(s.lo), to(s.hi)}
}

// most returns an upper bound of an expression over all iterations of the loops, without their variables; nil: unknown.
func (a *analyzer) most(e tir.Expr) tir.Expr {
	in := map[*tir.Var]span{}
	for v, n := range a.loops {
		if mentions(e, func(x *tir.Var) bool { return x == v }) {
			in[v] = a.iterations(n)
		}
	}
	hi := a.spanOf(e, in).hi
	if hi == nil || !a.free(hi) {
		return nil
	}
	return hi
}
