package text

import (
	"strconv"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// block prints a body: statements in lines, at the current depth.
func (p *writer) block(s tir.Stmt) {
	if tir.IsNil(s) {
		return
	}
	// A sequence of one statement or within a sequence is marked by seq; otherwise Parse would not restore it.
	if seq, ok := s.(*tir.Seq); ok && len(seq.Stmts) != 1 {
		for i, x := range seq.Stmts {
			p.stmt(x, i == len(seq.Stmts)-1)
		}
		return
	}
	p.stmt(s, true)
}

// braces prints a body in braces at the end of a line.
func (p *writer) braces(s tir.Stmt) {
	if seq, ok := s.(*tir.Seq); tir.IsNil(s) || ok && len(seq.Stmts) == 0 {
		p.write(" {}")
		return
	}
	p.write(" {\n")
	p.depth++
	p.block(s)
	p.depth--
	p.line("}")
}

// rest prints the body of a statement that binds something: without braces after the statement if that is the last one
// of its block, otherwise in braces.
func (p *writer) rest(body tir.Stmt, last bool) {
	if !last {
		p.braces(body)
		p.write("\n")
		return
	}
	p.write("\n")
	p.block(body)
}

// stmt prints a statement. The body of the last one in a block follows without braces.
func (p *writer) stmt(s tir.Stmt, last bool) {
	if tir.IsNil(s) {
		p.line("<nil>\n")
		return
	}
	if !p.fragment {
		p.declareOf(s)
	}
	switch s := s.(type) {
	case *tir.BufferStore:
		p.line(p.bufferName(s.Buffer))
		p.list("[", "]", s.Indices)
		p.write(" = ")
		p.expr(s.Value, precLet)
		p.write("\n")
	case *tir.For:
		p.forStmt(s)
	case *tir.While:
		p.line("while ")
		p.expr(s.Cond, precLet)
		p.braces(s.Body)
		p.write("\n")
	case *tir.If:
		p.line()
		p.ifStmt(s)
		p.write("\n")
	case *tir.LetStmt:
		p.line("let ")
		value, undo := p.binding(s.Var, s.Value)
		p.write(value)
		p.rest(s.Body, last)
		undo()
	case *tir.Assert:
		p.line("assert ")
		p.expr(s.Cond, precLet)
		p.write(", ", nameText(s.Kind), ", ", strconv.Quote(s.Message), "\n")
	case *tir.Alloc:
		name, undo := p.bindBuffer(s.Buffer)
		p.line("alloc ", name)
		undoData := p.layout(s.Buffer, "")
		p.rest(s.Body, last)
		undoData()
		undo()
	case *tir.AttrStmt:
		p.attrStmt(s, last)
	case *tir.Seq:
		p.line("seq")
		p.seqBraces(s)
		p.write("\n")
	case *tir.Evaluate:
		p.line()
		if _, isCall := s.Value.(*tir.Call); !isCall || tir.IsNil(s.Value) {
			p.write("eval ")
		}
		p.expr(s.Value, precLet)
		p.write("\n")
	default:
		p.line()
		p.generic(s)
		p.write("\n")
	}
}

// seqBraces prints the statements of an explicit sequence.
func (p *writer) seqBraces(s *tir.Seq) {
	if len(s.Stmts) == 0 {
		p.write(" {}")
		return
	}
	p.write(" {\n")
	p.depth++
	for i, x := range s.Stmts {
		p.stmt(x, i == len(s.Stmts)-1)
	}
	p.depth--
	p.line("}")
}

func (p *writer) forStmt(s *tir.For) {
	span := p.aside(func() { p.span(s.Min, s.Extent) })
	name, undo := p.bindVar(s.Var)
	p.line(s.Kind.String(), " ", name)
	p.spanType(s.Var, s.Min, s.Extent)
	p.write(" in ", span)
	if s.Thread != "" {
		p.write(", thread ", strconv.Quote(s.Thread))
	}
	if len(s.Annotations) > 0 {
		p.write(", attrs ", attrsText(s.Annotations))
	}
	p.braces(s.Body)
	p.write("\n")
	undo()
}

// span prints "range(extent)", or "range(min, count=extent)" unless min is 0 and of the extent's type.
func (p *writer) span(low, n tir.Expr) {
	p.write("range(")
	if zero, ok := low.(*tir.IntImm); !ok || tir.IsNil(low) || tir.IsNil(n) || zero.Value != 0 ||
		zero.Type != printedType(n) {
		p.expr(low, precLet)
		p.write(", count=")
	}
	p.expr(n, precLet)
	p.write(")")
}

// spanType prints the variable's type unless that follows from its range.
func (p *writer) spanType(v *tir.Var, low, n tir.Expr) {
	if tir.IsNil(low) || tir.IsNil(n) || printedType(low) != typeOfVar(v) || printedType(n) != typeOfVar(v) {
		p.write(": ", form.TypeText(typeOfVar(v)))
	}
}

func (p *writer) ifStmt(s *tir.If) {
	p.write("if ")
	p.expr(s.Cond, precLet)
	p.braces(s.Then)
	if tir.IsNil(s.Else) {
		return
	}
	p.write(" else")
	if next, ok := s.Else.(*tir.If); ok && (p.fragment || !p.hasNewBuffers(next.Cond)) {
		p.write(" ")
		p.ifStmt(next)
		return
	}
	p.braces(s.Else)
}

func (p *writer) attrStmt(s *tir.AttrStmt, last bool) {
	p.line("attr ", strconv.Quote(s.Key))
	value := "none"
	if !tir.IsNil(s.Value) { // an axis that the attribute defines is not in scope in its value
		value = p.aside(func() { p.expr(s.Value, precLet) })
	}
	switch n := s.Node.(type) {
	case nil:
	case *tir.Var:
		p.write(" var ", p.varName(n))
	case *tir.Buffer:
		p.write(" buffer ", p.bufferName(n))
	case *tir.IterVar:
		p.write(" iter ")
		p.iter(n)
	default:
		p.write(" <no node>")
	}
	p.write(" = ", value)
	p.rest(s.Body, last)
}

// iter prints an axis. If it has a type, it defines its variable, which is valid until the end of the function: other
// attributes can refer to it.
func (p *writer) iter(x *tir.IterVar) {
	if x == nil {
		p.write("<nil>")
		return
	}
	span := ""
	if !tir.IsNil(x.Min) || !tir.IsNil(x.Extent) {
		span = " in " + p.aside(func() { p.span(x.Min, x.Extent) })
	}
	if _, known := p.vars.of[x.Var]; known {
		p.write(p.varName(x.Var))
	} else {
		name, _ := p.bindVar(x.Var)
		p.write(name, ": ", form.TypeText(typeOfVar(x.Var)))
	}
	p.write(span, ", kind ", x.Kind.String())
	if x.Thread != "" {
		p.write(", thread ", strconv.Quote(x.Thread))
	}
}
