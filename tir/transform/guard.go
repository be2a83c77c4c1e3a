package transform

import (
	"maps"
	"slices"

	"tvmgo/tir"
)

// guard is a condition that holds on one side of an iteration of a loop, in all iterations of inner loops.
type guard struct {
	node  tir.Expr
	step  int64    // > 0: it holds from bound on; < 0: it holds before bound
	bound tir.Expr // a value of the loop's variable
	exact bool     // it does not hold on the other side
}

// guards returns the conditions in a loop's body that depend on the loop's variable and hold on one side.
func (p *partition) guards(s *tir.For) []guard {
	found := map[tir.Expr]guard{}
	bad := map[tir.Expr]bool{}
	var order []tir.Expr
	var around []*tir.For
	lets := map[*tir.Var]tir.Expr{}
	var visit func(x tir.Stmt)
	visit = func(x tir.Stmt) {
		switch x := x.(type) {
		case *tir.For:
			around = append(around, x)
			visit(x.Body)
			around = around[:len(around)-1]
		case *tir.If:
			for _, c := range conjuncts(x.Cond) {
				if !isLikely(c) {
					continue
				}
				g, ok := p.guard(s, c, around, lets)
				old, known := found[c]
				if !ok || known && (old.step != g.step || old.bound != g.bound) {
					bad[c] = true
				}
				if !known {
					order = append(order, c)
				}
				found[c] = g
			}
			visit(x.Then)
			if x.Else != nil {
				visit(x.Else)
			}
		case *tir.LetStmt:
			if !contains(x.Value, readsOrActs) {
				lets[x.Var] = tir.Substitute(x.Value, maps.Clone(lets))
			}
			visit(x.Body)
		default:
			for _, q := range bodies(x) {
				visit(q)
			}
		}
	}
	visit(s.Body)
	var all []guard
	for _, c := range order {
		if !bad[c] {
			all = append(all, found[c])
		}
	}
	return all
}

// guard derives a guard from a condition on a loop's variable, given the loops in between.
func (p *partition) guard(s *tir.For, node tir.Expr, inner []*tir.For, lets map[*tir.Var]tir.Expr) (guard, bool) {
	none := guard{}
	slack := slackOf(tir.Substitute(node.(*tir.Call).Args[0], lets))
	if slack == nil || slack.DType() != s.Var.Type || contains(slack, readsOrActs) {
		return none, false
	}
	g := guard{node: node, exact: true}
	a := p.a
	for _, f := range slices.Backward(inner) {
		c, ok := stepOf(a, f.Var, slack)
		if !ok {
			return none, false
		}
		if c == 0 {
			continue
		}
		least := minOf(f)
		if c < 0 {
			least = tir.Sub(tir.Add(least, tir.NewCast(f.Var.Type, f.Extent)), sized(f.Var.Type, 1))
		}
		if least.DType() != f.Var.Type || contains(least, readsOrActs) {
			return none, false
		}
		slack = a.Simplify(tir.Substitute(slack, map[*tir.Var]tir.Expr{f.Var: tir.Substitute(least, lets)}))
		g.exact = false
	}
	var ok bool
	if g.step, ok = stepOf(a, s.Var, slack); !ok || g.step == 0 || g.step == -1<<63 {
		return none, false
	}
	t := s.Var.Type
	rest := tir.Substitute(slack, map[*tir.Var]tir.Expr{s.Var: sized(t, 0)})
	if g.step > 0 { // step·x + rest >= 0
		g.bound = tir.FloorDiv(tir.Sub(sized(t, g.step-1), rest), sized(t, g.step))
	} else {
		g.bound = tir.Add(tir.FloorDiv(rest, sized(t, -g.step)), sized(t, 1))
	}
	g.bound = a.Simplify(g.bound)
	_, isBad := g.bound.(*tir.Bad)
	return g, !isBad && !p.mentionsBound(g.bound, s)
}

// mentionsBound reports whether an expression has a variable that a loop, or something within it, binds.
func (p *partition) mentionsBound(e tir.Expr, s *tir.For) bool {
	bound := map[any]bool{s.Var: true}
	tir.Walk(s.Body, func(node any) bool {
		vars, _ := tir.Bound(node)
		for _, v := range vars {
			bound[v] = true
		}
		_, isExpr := node.(tir.Expr)
		return !isExpr
	})
	return contains(e, func(node any) bool { return bound[node] })
}

// slackOf returns an integer that is not negative exactly where a comparison holds; nil if the comparison is not one of
// signed integers.
func slackOf(cond tir.Expr) tir.Expr {
	c, ok := cond.(*tir.Binary)
	if !ok || !tir.IsSigned(c.A.DType()) || c.A.DType().Lanes != 1 || c.A.DType().Bits < 32 {
		return nil
	}
	less := func(a, b tir.Expr) tir.Expr { return tir.Sub(tir.Sub(b, a), sized(a.DType(), 1)) }
	switch c.Op {
	case tir.OpLT:
		return less(c.A, c.B)
	case tir.OpLE:
		return tir.Sub(c.B, c.A)
	case tir.OpGT:
		return less(c.B, c.A)
	case tir.OpGE:
		return tir.Sub(c.A, c.B)
	}
	return nil
}
