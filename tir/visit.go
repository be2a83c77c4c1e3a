package tir

import (
	"fmt"
	"unsafe"
)

// Walk calls visit for an expression or a statement and for all nodes within it, each before its parts, in evaluation
// order. If visit returns false, the parts are skipped. A node that occurs several times is visited each time. nil is
// not visited.
//
// Variables are visited where they are used, not where they are bound. Of reductions the sources and the condition are
// visited, the combiner and the axes are not; of buffers neither the shape nor the address.
func Walk(node any, visit func(node any) bool) {
	w := walker{visit}
	switch n := node.(type) {
	case Expr, Stmt:
		w.node(n)
	case *PrimFunc:
		if n != nil {
			w.node(n.Body)
		}
	case *IRModule:
		if n != nil {
			for _, f := range n.Funcs {
				if f != nil {
					w.node(f.Body)
				}
			}
		}
	}
}

// Contains reports whether is holds for one of the nodes that [Walk] visits. It visits none after the first such node.
func Contains(node any, is func(node any) bool) bool {
	found := false
	Walk(node, func(n any) bool {
		found = found || is(n)
		return !found
	})
	return found
}

type walker struct{ visit func(any) bool }

func (w walker) node(node any) {
	t := TypeOf(node)
	var p unsafe.Pointer
	if t != nil {
		p = address(node)
	}
	if node == nil || t != nil && p == nil || !w.visit(node) || t == nil {
		return
	}
	for i := range t.parts {
		f := &t.parts[i]
		switch f.part {
		case partExpr:
			w.node(*f.expr(p))
		case partExprs:
			for _, e := range *f.exprs(p) {
				w.node(e)
			}
		case partStmt:
			w.node(*f.stmt(p))
		case partStmts:
			for _, s := range *f.stmts(p) {
				w.node(s)
			}
		}
	}
}

// ExprParts returns the expressions that an expression consists of, in evaluation order.
func ExprParts(e Expr) []Expr {
	t := TypeOf(e)
	if t == nil || len(t.parts) == 0 {
		return nil
	}
	p := address(e)
	if f := &t.parts[0]; len(t.parts) == 1 && f.part == partExprs {
		return *f.exprs(p)
	}
	all := make([]Expr, 0, len(t.parts))
	for i := range t.parts {
		switch f := &t.parts[i]; f.part {
		case partExpr:
			if part := *f.expr(p); part != nil || !f.Optional {
				all = append(all, part)
			}
		case partExprs:
			all = append(all, *f.exprs(p)...)
		}
	}
	return all
}

// NotKnown returns the error of a pass that meets a node whose effects it does not know. why says where it stands.
func NotKnown(node any, why string) error {
	return fmt.Errorf("%s %s, and this pass does not know what it does: lower it before", NodeName(node), why)
}
