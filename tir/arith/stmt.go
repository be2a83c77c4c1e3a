package arith

import (
	"slices"

	"tvmgo/tir"
)

// SimplifyStmt returns a statement with the effect of s. It uses the ranges of loop variables, the conditions around a
// statement, and the assertions before it. If nothing remains, it returns an empty Seq.
func (a *Analyzer) SimplifyStmt(s tir.Stmt) tir.Stmt {
	r := a.stmt(s)
	if r == nil {
		return &tir.Seq{}
	}
	return r
}

// stmt returns nil if nothing remains.
func (a *Analyzer) stmt(s tir.Stmt) tir.Stmt {
	if s == nil || a.nesting > maxDepth {
		return s
	}
	a.nesting++
	defer func() { a.nesting-- }()
	switch s := s.(type) {
	case *tir.Evaluate:
		return a.evaluate(s)
	case *tir.For:
		return a.loop(s)
	case *tir.While:
		return a.while(s)
	case *tir.If:
		return a.branches(s)
	case *tir.LetStmt:
		return a.letStmt(s)
	case *tir.Assert:
		return a.assertion(s)
	case *tir.Alloc:
		if s == nil {
			return nil
		}
		return a.scopeOf(s, s.Body, func(body tir.Stmt) tir.Stmt { return &tir.Alloc{Buffer: s.Buffer, Body: body} })
	case *tir.AttrStmt:
		if s == nil {
			return nil
		}
		v := a.Simplify(s.Value)
		r := a.scopeOf(s, s.Body, func(body tir.Stmt) tir.Stmt {
			return &tir.AttrStmt{Key: s.Key, Node: s.Node, Value: v, Body: body}
		})
		if r == tir.Stmt(s) && v != s.Value {
			return &tir.AttrStmt{Key: s.Key, Node: s.Node, Value: v, Body: s.Body}
		}
		return r
	case *tir.Seq:
		return a.sequence(s)
	}
	return a.stmtParts(s)
}

// emptyLike returns an empty statement: old, if that is empty.
func emptyLike(old tir.Stmt) tir.Stmt {
	if q, ok := old.(*tir.Seq); ok && q != nil && len(q.Stmts) == 0 {
		return old
	}
	return &tir.Seq{}
}

// stmtParts simplifies the parts of a statement, each with what is known around it.
func (a *Analyzer) stmtParts(s tir.Stmt) tir.Stmt {
	return tir.MapStmt(s, a.Simplify, func(body tir.Stmt) (r tir.Stmt) {
		a.Scope(func() { r = a.stmt(body) })
		return r
	})
}

// scopeOf rebuilds a statement around a simplified body; without a body nothing remains.
func (a *Analyzer) scopeOf(s, body tir.Stmt, remake func(tir.Stmt) tir.Stmt) tir.Stmt {
	var r tir.Stmt
	a.Scope(func() { r = a.stmt(body) })
	switch {
	case r == nil:
		a.hit(ruleEmptyScope)
		return nil
	case r == body:
		return s
	}
	return remake(r)
}

func (a *Analyzer) evaluate(s *tir.Evaluate) tir.Stmt {
	if s == nil {
		return nil
	}
	if i := a.info(s.Value); i.flags&(hasEffect|malformed) == 0 {
		a.hit(ruleEvaluatePure)
		return nil
	}
	return a.stmtParts(s)
}

// pure reports whether an expression whose value is not used can be removed.
func (a *Analyzer) pure(e tir.Expr) bool { return a.info(e).flags&(hasEffect|malformed) == 0 }

func (a *Analyzer) loop(s *tir.For) tir.Stmt {
	if s == nil {
		return nil
	}
	low, extent := a.Simplify(s.Min), a.Simplify(s.Extent)
	if s.Var == nil {
		return s
	}
	a.begin()
	count := a.rangeOf(extent)
	if isIndex(a.info(extent).t) && a.provedLE(extent, makeInt(a.info(extent).t, 0), a.info(extent).t) {
		count = point(0)
	}
	a.end()
	if count.hi <= 0 && count.hi >= count.lo && a.pure(low) && a.pure(extent) {
		a.hit(ruleLoopNone)
		return nil
	}
	var body tir.Stmt
	a.Scope(func() {
		a.Bind(s.Var, low, extent)
		body = a.stmt(s.Body)
	})
	if body == nil && a.pure(low) && a.pure(extent) {
		a.hit(ruleLoopNone)
		return nil
	}
	if body == nil {
		body = emptyLike(s.Body)
	}
	if isConst(extent, 1) && s.Kind != tir.ThreadBind && len(s.Annotations) == 0 && a.info(low).t == s.Var.Type {
		a.hit(ruleLoopOnce)
		return a.bindStmt(s.Var, low, body)
	}
	if low == s.Min && extent == s.Extent && body == s.Body {
		return s
	}
	c := *s
	c.Min, c.Extent, c.Body = low, extent, body
	return &c
}

// bindStmt simplifies body with v bound to value, and substitutes value where possible.
func (a *Analyzer) bindStmt(v *tir.Var, value tir.Expr, body tir.Stmt) tir.Stmt {
	if a.pure(value) && !mentionsStmt(body, v) {
		return body
	}
	return &tir.LetStmt{Var: v, Value: value, Body: body}
}

// mentionsStmt reports whether s uses v: in expressions, in shapes, strides and offsets of buffers, and in the nodes of
// attributes and reductions. It visits shared parts once.
func mentionsStmt(s tir.Stmt, v *tir.Var) bool {
	found, seen := false, map[any]bool{}
	var visit func(n any) bool
	exprs := func(all ...tir.Expr) {
		for _, e := range all {
			tir.Walk(e, visit)
		}
	}
	buffer := func(b *tir.Buffer) {
		if b != nil && !seen[b] {
			seen[b] = true
			found = found || b.Data == v
			exprs(b.Shape...)
			exprs(b.Strides...)
			exprs(b.Offset)
		}
	}
	axis := func(x *tir.IterVar) {
		if x != nil {
			found = found || x.Var == v
			exprs(x.Min, x.Extent)
		}
	}
	visit = func(n any) bool {
		if found || seen[n] {
			return false
		}
		seen[n] = true
		switch n := n.(type) {
		case *tir.Var:
			found = n == v
		case *tir.Reduce:
			for _, x := range n.Axes {
				axis(x)
			}
			if n.Combiner != nil {
				exprs(n.Combiner.Results...)
				exprs(n.Combiner.Identity...)
			}
		case *tir.AttrStmt:
			if x, ok := n.Node.(*tir.IterVar); ok {
				axis(x)
			}
		}
		vars, buffers := tir.Named(n)
		found = found || slices.Contains(vars, v)
		for _, b := range buffers {
			buffer(b)
		}
		_, buffers = tir.Bound(n)
		for _, b := range buffers {
			buffer(b)
		}
		return !found
	}
	tir.Walk(s, visit)
	return found
}

func (a *Analyzer) while(s *tir.While) tir.Stmt {
	if s == nil {
		return nil
	}
	cond := a.Simplify(s.Cond)
	if isConst(cond, 0) {
		a.hit(ruleWhileFalse)
		return nil
	}
	var body tir.Stmt
	a.With(cond, func() { body = a.stmt(s.Body) })
	if body == nil {
		body = emptyLike(s.Body)
	}
	if cond == s.Cond && body == s.Body {
		return s
	}
	return &tir.While{Cond: cond, Body: body}
}

func (a *Analyzer) branches(s *tir.If) tir.Stmt {
	if s == nil {
		return nil
	}
	cond := a.Simplify(s.Cond)
	if c, ok := tir.IntValue(cond); ok {
		a.hit(ruleIfConst)
		if c != 0 {
			return a.stmt(s.Then)
		}
		return a.stmt(s.Else)
	}
	var then, other tir.Stmt
	a.With(cond, func() { then = a.stmt(s.Then) })
	if s.Else != nil {
		a.With(a.Simplify(&tir.Not{A: cond}), func() { other = a.stmt(s.Else) })
	}
	switch {
	case then == nil && other == nil && a.pure(cond):
		a.hit(ruleIfEmpty)
		return nil
	case then == nil && other == nil:
		return &tir.Evaluate{Value: cond}
	case then == nil:
		a.hit(ruleIfEmpty)
		return &tir.If{Cond: a.Simplify(&tir.Not{A: cond}), Then: other}
	}
	if cond == s.Cond && then == s.Then && other == s.Else {
		return s
	}
	return &tir.If{Cond: cond, Then: then, Else: other}
}

func (a *Analyzer) letStmt(s *tir.LetStmt) tir.Stmt {
	if s == nil || s.Var == nil {
		return s
	}
	value := a.Simplify(s.Value)
	var body tir.Stmt
	a.Scope(func() {
		a.define(s.Var, value)
		body = a.stmt(s.Body)
	})
	if a.pure(value) && (body == nil || !mentionsStmt(body, s.Var)) {
		a.hit(ruleLetStmt)
		return body
	}
	if body == nil {
		body = emptyLike(s.Body)
	}
	if value == s.Value && body == s.Body {
		return s
	}
	return &tir.LetStmt{Var: s.Var, Value: value, Body: body}
}

func (a *Analyzer) assertion(s *tir.Assert) tir.Stmt {
	if s == nil {
		return nil
	}
	cond := a.Simplify(s.Cond)
	if isConst(cond, 1) {
		a.hit(ruleAssertTrue)
		return nil
	}
	if cond == s.Cond {
		return s
	}
	return &tir.Assert{Cond: cond, Kind: s.Kind, Message: s.Message}
}

// sequence simplifies statements in order; assertions hold for the statements that follow.
func (a *Analyzer) sequence(s *tir.Seq) tir.Stmt {
	if s == nil {
		return nil
	}
	a.push()
	defer a.pop()
	changed := false
	var all []tir.Stmt
	for i, x := range s.Stmts {
		r := a.stmt(x)
		changed = changed || r != x
		if r != nil {
			all = append(all, r)
		}
		if c, ok := r.(*tir.Assert); ok {
			if isConst(c.Cond, 0) && i < len(s.Stmts)-1 { // the rest is unreachable
				a.hit(ruleAssertFalse)
				changed = true
				break
			}
			a.assume(c.Cond)
		}
	}
	switch {
	case !changed && len(all) > 0:
		return s
	case len(all) == 0:
		return nil
	}
	return tir.Sequence(all...)
}
