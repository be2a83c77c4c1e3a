package text

import (
	"strconv"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// buffer prints a single buffer.
func (p *writer) buffer(b *tir.Buffer) {
	if b == nil {
		p.write("<nil>")
		return
	}
	p.survey.buffer(b)
	name, _ := p.bindBuffer(b)
	p.write("buffer ", name)
	p.layout(b, "")
}

// layout prints everything of a buffer but its name. Its address is bound unless it is bound already; undo reverts
// that.
func (p *writer) layout(b *tir.Buffer, param string) (undo func()) {
	undo = func() {}
	if b == nil {
		return undo
	}
	p.write(": ", form.TypeText(b.DType))
	p.list("[", "]", b.Shape)
	if param != "" {
		p.write(", param ", param)
	}
	undo = p.data(b)
	if b.Strides != nil {
		p.list(", strides [", "]", b.Strides)
	}
	if !tir.IsNil(b.Offset) {
		p.write(", offset ")
		p.expr(b.Offset, precLet)
	}
	if b.Scope != "" {
		p.write(", scope ", strconv.Quote(b.Scope))
	}
	if b.Alignment != 0 {
		p.write(", align ", strconv.Itoa(b.Alignment))
	}
	return undo
}

// data prints the address of a buffer if necessary: with a type if it is bound here. It is omitted if it has the
// default name and nothing else refers to it.
func (p *writer) data(b *tir.Buffer) (undo func()) {
	if _, known := p.vars.of[b.Data]; known || b.Data == nil {
		p.write(", data ", p.varName(b.Data))
		return func() {}
	}
	owned := p.survey.owns(b)
	if owned && b.Data.Name == b.Name {
		return func() {}
	}
	name, undo := p.bindVar(b.Data)
	if owned && name == p.bufferName(b) {
		return undo
	}
	p.write(", data ", name, ": ", form.TypeText(b.Data.Type))
	return undo
}

// declareOf prints declarations of the buffers that a statement is the first to use and that nothing defines.
func (p *writer) declareOf(s tir.Stmt) {
	switch s := s.(type) {
	case *tir.BufferStore:
		p.declare(s.Buffer)
		p.declareIn(s.Indices...)
		p.declareIn(s.Value)
	case *tir.AttrStmt:
		switch n := s.Node.(type) {
		case *tir.Buffer:
			p.declare(n)
		case *tir.IterVar:
			if n != nil {
				p.declareIn(n.Min, n.Extent)
			}
		}
		p.declareIn(s.Value)
	default:
		_, own := tir.Bound(s)
		for _, b := range own {
			p.declareIn(exprsOf(b)...)
		}
		p.declareNamed(s)
		exprs, _ := tir.Parts(s)
		p.declareIn(exprs...)
	}
}

// declareIn declares the buffers that expressions are the first to use.
func (p *writer) declareIn(all ...tir.Expr) {
	for _, e := range all {
		tir.Walk(e, func(n any) bool {
			p.declareNamed(n)
			return true
		})
	}
}

// declareNamed declares the buffers that are new in a node's own fields.
func (p *writer) declareNamed(node any) {
	_, buffers := tir.Named(node)
	for _, b := range buffers {
		p.declare(b)
	}
}

// hasNewBuffers reports whether an expression uses a buffer that would have to be declared.
func (p *writer) hasNewBuffers(e tir.Expr) (found bool) {
	tir.Walk(e, func(n any) bool {
		_, buffers := tir.Named(n)
		for _, b := range buffers {
			_, known := p.buffers.of[b]
			found = found || b != nil && !known
		}
		return !found
	})
	return found
}

// declare prints the declaration of a buffer that nothing defines. It is valid until the end of the function.
func (p *writer) declare(b *tir.Buffer) {
	if _, known := p.buffers.of[b]; known || b == nil {
		return
	}
	name, _ := p.bindBuffer(b)
	p.declareIn(exprsOf(b)...)
	p.line("buffer ", name)
	p.layout(b, "")
	p.write("\n")
}
