package text

import (
	"slices"

	"tvmgo/tir"
)

// survey is collected before a function is printed: which variables are used for anything but the address of a buffer.
// Only these need a name in the text.
type survey struct {
	used      map[*tir.Var]bool
	addresses map[*tir.Var]bool // of buffers; an address of two buffers is a used variable, too
	seen      map[*tir.Buffer]bool
}

func newSurvey() survey {
	return survey{map[*tir.Var]bool{}, map[*tir.Var]bool{}, map[*tir.Buffer]bool{}}
}

// owns reports whether nothing but the buffer refers to its address.
func (s survey) owns(b *tir.Buffer) bool {
	d := b.Data
	return d != nil && !s.used[d] && d.Type == tir.Handle
}

func (s survey) function(f *tir.PrimFunc) {
	for _, v := range f.Params {
		s.used[v] = true
	}
	for v, b := range f.Buffers {
		s.used[v] = true
		s.buffer(b)
	}
	s.stmt(f.Body)
}

func (s survey) stmt(body tir.Stmt) { tir.Walk(body, s.visit) }

func (s survey) exprs(all ...tir.Expr) {
	for _, e := range all {
		tir.Walk(e, s.visit)
	}
}

func (s survey) visit(node any) bool {
	switch n := node.(type) {
	case *tir.Var:
		s.used[n] = true
	case *tir.BufferLoad:
		s.buffer(n.Buffer)
	case *tir.Let:
		s.used[n.Var] = true
	case *tir.Reduce:
		for _, x := range n.Axes {
			s.iter(x)
		}
		if c := n.Combiner; c != nil {
			for _, v := range append(append([]*tir.Var{}, c.Left...), c.Right...) {
				s.used[v] = true
			}
			s.exprs(append(append([]tir.Expr{}, c.Results...), c.Identity...)...)
		}
	case *tir.BufferStore:
		s.buffer(n.Buffer)
	case *tir.For:
		s.used[n.Var] = true
	case *tir.LetStmt:
		s.used[n.Var] = true
	case *tir.Alloc:
		s.buffer(n.Buffer)
	case *tir.AttrStmt:
		switch x := n.Node.(type) {
		case *tir.Var:
			s.used[x] = true
		case *tir.Buffer:
			s.buffer(x)
		case *tir.IterVar:
			s.iter(x)
		}
	default:
		vars, buffers := tir.Named(n)
		own, ownBuffers := tir.Bound(n)
		for _, v := range append(vars, own...) {
			if !slices.ContainsFunc(ownBuffers, func(b *tir.Buffer) bool { return b.Data == v }) {
				s.used[v] = true
			}
		}
		for _, b := range append(buffers, ownBuffers...) {
			s.buffer(b)
		}
	}
	return true
}

func (s survey) iter(x *tir.IterVar) {
	if x != nil {
		s.used[x.Var] = true
		s.exprs(x.Min, x.Extent)
	}
}

func (s survey) buffer(b *tir.Buffer) {
	if b == nil || s.seen[b] {
		return
	}
	s.seen[b] = true
	if s.addresses[b.Data] {
		s.used[b.Data] = true
	}
	s.addresses[b.Data] = true
	s.exprs(exprsOf(b)...)
}

// exprsOf returns the expressions in a buffer's layout.
func exprsOf(b *tir.Buffer) []tir.Expr {
	if b == nil {
		return nil
	}
	all := append(append([]tir.Expr{}, b.Shape...), b.Strides...)
	if !tir.IsNil(b.Offset) {
		all = append(all, b.Offset)
	}
	return all
}
