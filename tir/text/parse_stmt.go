package text

import (
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// block reads statements in braces.
func (p *parser) block(of string) tir.Stmt {
	p.want("{", "before "+of)
	s := p.restOfBlock()
	p.want("}", "after a statement")
	return s
}

// restOfBlock reads statements up to the brace that closes the enclosing block. A single statement is not put into a
// sequence.
func (p *parser) restOfBlock() tir.Stmt {
	list := p.statements()
	if len(list) == 1 {
		return list[0]
	}
	return &tir.Seq{Stmts: list}
}

func (p *parser) statements() (list []tir.Stmt) {
	p.blocks++
	if p.blocks > form.MaxStmtDepth {
		p.fail(p.peek(), "statements are nested more than %d deep", form.MaxStmtDepth)
	}
	defer func() { p.blocks-- }()
	for {
		switch t := p.peek(); {
		case t.is("}"):
			return list
		case t.kind == tokenEnd:
			p.fail(t, "found the end of the text, want a statement, or \"}\" to close the block")
		case t.is(";"):
			p.at++
		default:
			if s := p.statement(t); s != nil {
				list = append(list, s)
			}
		}
	}
}

// body reads the body of a statement that binds something: a block, or the remaining statements of the enclosing block.
func (p *parser) body() tir.Stmt {
	if p.peek().is("{") {
		return p.block("a body")
	}
	p.skip(";")
	return p.restOfBlock()
}

// statement reads a statement. For a declaration it returns nil.
func (p *parser) statement(t token) tir.Stmt {
	if t.kind == tokenWord {
		switch t.text {
		case "for", "parallel", "vectorized", "unrolled", "thread":
			p.at++
			kind, _ := tir.ByName[tir.ForKind](t.text)
			return p.forStmt(kind)
		case "while":
			p.at++
			cond := p.cond("while")
			return &tir.While{Cond: cond, Body: p.block("the body of a loop")}
		case "if":
			p.at++
			return p.ifStmt()
		case "let":
			p.at++
			return p.letStmt()
		case "assert":
			p.at++
			return p.assertStmt()
		case "alloc":
			p.at++
			return p.allocStmt()
		case "attr":
			p.at++
			return p.attrStmt()
		case "seq":
			p.at++
			p.want("{", "after seq")
			s := &tir.Seq{Stmts: p.statements()}
			p.want("}", "after a statement")
			return s
		case "eval":
			p.at++
			return &tir.Evaluate{Value: p.expr().e}
		case "var":
			p.at++
			name, _ := p.name("a variable")
			p.want(":", "and a type after a variable's name")
			p.vars.declare(name, tir.NewVar(name, p.typ()))
			return nil
		case "buffer":
			p.at++
			p.declaration()
			return nil
		}
		if nt := genericType(t.text); nt != nil && nt.IsStmt {
			s, _ := p.generic(t, nt)
			return s.(tir.Stmt)
		}
	}
	return p.storeOrCall(t)
}

// storeOrCall reads a statement that begins with a name.
func (p *parser) storeOrCall(t token) tir.Stmt {
	calls := t.isWord("intrin") || t.isWord("extern") || t.isWord("packed") || t.isWord("func")
	if !t.isName() && !calls {
		p.fail(t, "found %s, want a statement: for, if, let, alloc, a store A[i] = x, a call, …", t)
	}
	if p.ahead(1).is("=") {
		p.fail(t, "%s: variables have a value by \"let %[1]s = …\", elements of buffers by %[1]s[…] = …", nameText(t.text))
	}
	if next := p.ahead(1); !calls && !next.is("[") && !next.is("(") {
		p.fail(t, "found %s, want a statement: for, if, let, alloc, a store A[i] = x, a call, …%s", t,
			didYouMeanWord(t.text, statementWords))
	}
	e := p.operand().e
	switch e := e.(type) {
	case *tir.Call:
		return &tir.Evaluate{Value: e}
	case *tir.BufferLoad:
		p.want("=", "and a value after an element of a buffer")
		at := p.peek()
		x := asType(p.expr().e, e.DType())
		if found, want := x.DType(), e.DType(); found != want {
			p.fail(at, "a value of type %s is stored in buffer %s as %s: cast it", form.TypeText(found),
				nameText(e.Buffer.Name), form.TypeText(want))
		}
		return &tir.BufferStore{Buffer: e.Buffer, Value: x, Indices: e.Indices}
	}
	p.fail(t, "an expression has no effect: to evaluate it anyway, write eval before it")
	return nil
}

var statementWords = []string{"for", "parallel", "vectorized", "unrolled", "thread", "while", "if", "let", "assert",
	"alloc", "attr", "eval", "buffer"}

// cond reads a condition.
func (p *parser) cond(of string) tir.Expr {
	at := p.peek()
	e := p.expr().e
	if t := e.DType(); t != tir.Bool {
		p.fail(at, "%s takes a bool, found type %s: compare it", of, form.TypeText(t))
	}
	return e
}

// span reads a range. If the type of its variable is not given, it becomes that of the range.
func (p *parser) span(v *tir.Var, typed bool) (low, n tir.Expr) {
	at := p.peek()
	p.wantWord("range", "after in")
	p.want("(", "after range")
	n = p.expr().e
	if p.skip(",") {
		low = n
		p.wantWord("count", "and the number of values after the first value of a range")
		p.want("=", "after count")
		n = p.expr().e
	}
	p.want(")", "after a range")
	switch {
	case typed:
		n = asType(n, v.Type)
	case low != nil:
		low = asType(low, n.DType())
		n = asType(n, low.DType())
	}
	if !typed {
		v.Type = n.DType()
	}
	if low == nil {
		low = tir.IntConst(v.Type, 0)
	}
	low = asType(low, v.Type)
	if !tir.IsInt(v.Type) || v.Type.Lanes != 1 || low.DType() != v.Type || n.DType() != v.Type {
		p.fail(at, "variable %s of type %s in a range of types %s and %s: want one scalar integer type",
			nameText(v.Name), form.TypeText(v.Type), form.TypeText(low.DType()), form.TypeText(n.DType()))
	}
	return low, n
}

// loopVar reads a variable with an optional type.
func (p *parser) loopVar() (v *tir.Var, typed bool) {
	name, _ := p.name("a variable")
	v = tir.NewVar(name, tir.Int32)
	if p.skip(":") {
		v.Type, typed = p.typ(), true
	}
	return v, typed
}

func (p *parser) forStmt(kind tir.ForKind) tir.Stmt {
	defer p.scope()()
	v, typed := p.loopVar()
	p.wantWord("in", "after a loop's variable")
	s := &tir.For{Kind: kind, Var: v}
	s.Min, s.Extent = p.span(v, typed)
	for p.skip(",") {
		switch at := p.next(); {
		case at.isWord("thread"):
			s.Thread = p.text("the name of a thread's index")
		case at.isWord("attrs"):
			s.Annotations = p.attrs()
		default:
			p.fail(at, "found %s, want thread or attrs", at)
		}
	}
	p.vars.bind(v.Name, v)
	s.Body = p.block("the body of a loop")
	return s
}

func (p *parser) ifStmt() tir.Stmt {
	p.blocks++
	defer func() { p.blocks-- }()
	s := &tir.If{Cond: p.cond("if")}
	s.Then = p.block("the body of an if")
	if !p.skipWord("else") {
		return s
	}
	if p.skipWord("if") {
		s.Else = p.ifStmt()
		return s
	}
	s.Else = p.block("the body of an else")
	return s
}

func (p *parser) letStmt() tir.Stmt {
	v, x := p.binding()
	if t := p.peek(); t.isWord("in") {
		p.fail(t, "a let with in is an expression: write eval before it")
	}
	defer p.scope()()
	p.vars.bind(v.Name, v)
	return &tir.LetStmt{Var: v, Value: x.e, Body: p.body()}
}

func (p *parser) assertStmt() tir.Stmt {
	s := &tir.Assert{Cond: p.cond("assert")}
	p.want(",", "and the kind of error after the condition")
	s.Kind, _ = p.name("a kind of error, such as ValueError")
	p.want(",", "and a message after the kind of error")
	s.Message = p.text("a message")
	return s
}

func (p *parser) attrStmt() tir.Stmt {
	defer p.scope()()
	s := &tir.AttrStmt{Key: p.text("an attribute's name")}
	var bound *tir.Var
	switch t := p.next(); {
	case t.is("="):
		p.at--
	case t.isWord("var"):
		s.Node = p.knownVar()
	case t.isWord("buffer"):
		s.Node = p.knownBuffer()
	case t.isWord("iter"):
		s.Node, bound = p.iter()
	default:
		p.fail(t, "found %s, want var, buffer, iter, or \"=\" and a value", t)
	}
	p.want("=", "and a value after an attribute")
	if !p.skipWord("none") {
		s.Value = p.expr().e
	}
	if bound != nil {
		p.vars.bind(bound.Name, bound)
		p.vars.declare(bound.Name, bound)
	}
	s.Body = p.body()
	return s
}

// iter reads an axis. An axis with a type defines its variable, which is valid until the end of the function.
func (p *parser) iter() (x *tir.IterVar, bound *tir.Var) {
	x = &tir.IterVar{}
	if p.ahead(1).is(":") {
		x.Var, _ = p.loopVar()
		bound = x.Var
	} else {
		x.Var = p.knownVar()
	}
	if p.skipWord("in") {
		x.Min, x.Extent = p.span(x.Var, true)
	}
	for p.skip(",") {
		switch at := p.next(); {
		case at.isWord("thread"):
			x.Thread = p.text("the name of a thread's index")
		case at.isWord("kind"):
			t := p.next()
			kind, known := tir.ByName[tir.IterKind](t.text)
			if !known {
				p.fail(t, "found %s, want the kind of an axis: %v", t, tir.Names[tir.IterKind]())
			}
			x.Kind = kind
		default:
			p.fail(at, "found %s, want kind or thread", at)
		}
	}
	return x, bound
}

func (p *parser) knownVar() *tir.Var {
	name, at := p.name("a variable")
	v, known := p.vars.lookup(name)
	if !known {
		p.fail(at, "there is no variable %s%s", nameText(name), didYouMean(name, p.vars.names()))
	}
	return v
}

func (p *parser) knownBuffer() *tir.Buffer {
	name, at := p.name("a buffer")
	b, known := p.buffers.lookup(name)
	if !known {
		p.fail(at, "there is no buffer %s%s", nameText(name), didYouMean(name, p.buffers.names()))
	}
	return b
}
