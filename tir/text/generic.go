package text

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// Nodes without a syntax of their own are written by their description: "tir.NAME(field=value, …)", and for statements
// a block in braces after the name of each field that is a statement. Fields that are in the scope of what the node
// defines come last.

const genericPrefix = "tir."

// genericType returns the type of nodes that a word stands for; nil if it stands for none.
func genericType(word string) *tir.NodeType {
	name, ok := strings.CutPrefix(word, genericPrefix)
	if !ok {
		return nil
	}
	for _, t := range tir.NodeTypes() {
		if t.Name == name && strings.HasPrefix(Print(t.New()), word+"(") {
			return t
		}
	}
	return nil
}

// generic writes a node by its description. For a statement, it does not end the line.
func (p *writer) generic(node any) {
	t := tir.TypeOf(node)
	if t == nil {
		p.write(fmt.Sprintf("<%T>", node))
		return
	}
	p.write(genericPrefix, t.Name, "(")
	bodies := make([]string, len(t.Fields))
	first := true
	part := func(i int, write func()) {
		f := &t.Fields[i]
		if f.Optional && reflect.ValueOf(f.In(node)).Elem().IsZero() {
			return
		}
		text := p.aside(write)
		switch {
		case isBody(f, node):
			bodies[i] = " " + f.Name + text
			return
		case !first:
			p.write(", ")
		}
		first = false
		p.write(f.Name, "=", text)
	}
	fields := func(scoped bool) {
		for i := range t.Fields {
			if f := &t.Fields[i]; !f.Binds && f.Scoped == scoped {
				part(i, func() { p.field(f, node) })
			}
		}
	}
	fields(false)
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Binds {
			undo := func() {}
			part(i, func() { undo = p.bound(f, node) })
			defer func() { undo() }()
		}
	}
	fields(true)
	p.write(")")
	p.write(bodies...)
}

// isBody reports whether a field is written as a block.
func isBody(f *tir.Field, node any) bool {
	switch f.In(node).(type) {
	case *tir.Stmt, *[]tir.Stmt:
		return true
	}
	return false
}

// field writes the value of a field.
func (p *writer) field(f *tir.Field, node any) {
	switch x := f.In(node).(type) {
	case *tir.Expr:
		p.expr(*x, precLet)
	case *[]tir.Expr:
		p.list("[", "]", *x)
	case *tir.Stmt:
		p.braces(*x)
	case *[]tir.Stmt:
		p.seqBraces(&tir.Seq{Stmts: *x})
	case **tir.Var:
		p.write(p.varName(*x))
	case **tir.Buffer:
		p.write(p.bufferName(*x))
	case *tir.Type:
		p.write(form.TypeText(*x))
	case *string:
		p.write(strconv.Quote(*x))
	case *int:
		p.write(strconv.Itoa(*x))
	case *int64:
		p.write(strconv.FormatInt(*x, 10))
	case *float64:
		p.write(form.Number(*x, 64))
	case *[]int:
		p.write(strings.ReplaceAll(fmt.Sprint(*x), " ", ", "))
	case *map[string]any:
		p.write(attrsText(*x))
	case *any:
		p.reference(*x)
	case *tir.BinaryOp:
		p.write(strconv.Quote(x.String()))
	case *tir.CallKind:
		p.write(strconv.Quote(x.String()))
	case *tir.ForKind:
		p.write(strconv.Quote(x.String()))
	default:
		p.write(fmt.Sprintf("<%T>", x))
	}
}

// bound writes what a field defines, until undo is called.
func (p *writer) bound(f *tir.Field, node any) (undo func()) {
	switch x := f.In(node).(type) {
	case **tir.Var:
		name, undo := p.bindVar(*x)
		p.write(name, ": ", form.TypeText(typeOfVar(*x)))
		return undo
	case **tir.Buffer:
		name, undo := p.bindBuffer(*x)
		p.write("{", name)
		undoData := p.layout(*x, "")
		p.write("}")
		return func() { undoData(); undo() }
	}
	p.write(fmt.Sprintf("<%T>", f.In(node)))
	return func() {}
}

// reference writes what an attribute refers to.
func (p *writer) reference(node any) {
	p.write("{")
	switch n := node.(type) {
	case *tir.Var:
		p.write("var ", p.varName(n))
	case *tir.Buffer:
		p.write("buffer ", p.bufferName(n))
	case *tir.IterVar:
		p.write("iter ")
		p.iter(n)
	}
	p.write("}")
}

// generic reads a node by its description, and returns the expressions that are its parts, too.
func (p *parser) generic(at token, t *tir.NodeType) (node any, parts []parsed) {
	p.next()
	p.want("(", "after "+at.text)
	node = t.New()
	seen := map[string]bool{}
	var binds []func() // make known what the node defines
	read := func(key token, f *tir.Field) {
		seen[f.Name] = true
		defer p.scope()()
		if f.Scoped {
			for _, bind := range binds {
				bind()
			}
		}
		switch {
		case f.Binds:
			binds = append(binds, p.bound(key, f, node))
		default:
			parts = append(parts, p.field(key, f, node)...)
		}
	}
	for !p.skip(")") {
		if len(seen) > 0 {
			p.want(",", "or \")\" after a field")
		}
		key := p.next()
		f := fieldOf(t, key.text)
		if f == nil || seen[f.Name] || isBody(f, node) {
			p.fail(key, "found %s, want a field of %s that is not yet there", key, at.text)
		}
		p.want("=", "after a field")
		read(key, f)
	}
	for p.ahead(1).is("{") {
		key := p.peek()
		f := fieldOf(t, key.text)
		if f == nil || seen[f.Name] || !isBody(f, node) {
			break
		}
		p.next()
		read(key, f)
	}
	for i := range t.Fields {
		if f := &t.Fields[i]; !seen[f.Name] && !f.Optional {
			p.fail(at, "%s lacks its field %s", at.text, f.Name)
		}
	}
	return node, parts
}

func fieldOf(t *tir.NodeType, name string) *tir.Field {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// bound reads what a field defines; bind makes it known.
func (p *parser) bound(at token, f *tir.Field, node any) (bind func()) {
	switch x := f.In(node).(type) {
	case **tir.Var:
		v, typed := p.loopVar()
		if !typed {
			p.fail(at, "%s lacks its type", nameText(v.Name))
		}
		*x = v
		return func() { p.vars.bind(v.Name, v) }
	case **tir.Buffer:
		p.want("{", "before a buffer that is defined")
		name, _ := p.name("a buffer")
		b, data := p.layout(name, false)
		p.want("}", "after a buffer that is defined")
		*x = b
		return func() {
			p.buffers.bind(name, b)
			if data != nil {
				p.vars.bind(data.Name, data)
			}
		}
	}
	p.fail(at, "field %s has no text form", f.Name)
	return nil
}

// field reads the value of a field.
func (p *parser) field(at token, f *tir.Field, node any) (parts []parsed) {
	switch x := f.In(node).(type) {
	case *tir.Expr:
		e := p.expr()
		*x, parts = e.e, []parsed{e}
	case *[]tir.Expr:
		p.want("[", "before a list")
		parts = p.args("]", "after an expression")
		*x = exprsIn(parts)
	case *tir.Stmt:
		*x = p.block("a body")
	case *[]tir.Stmt:
		p.want("{", "before a body")
		*x = p.statements()
		p.want("}", "after a statement")
	case **tir.Var:
		*x = p.knownVar()
	case **tir.Buffer:
		*x = p.knownBuffer()
	case *tir.Type:
		*x = p.typ()
	case *string:
		*x = p.text(f.Name)
	case *int:
		*x = int(p.integer(f.Name))
	case *int64:
		*x = p.integer(f.Name)
	case *float64:
		text, bits, isNaN := p.number(p.peek())
		if *x = bits; !isNaN {
			v, err := form.ReadFloat(text, 64)
			if err != nil {
				p.fail(at, "%v", err)
			}
			*x = v
		}
	case *[]int:
		p.want("[", "before a list")
		for !p.skip("]") {
			if len(*x) > 0 {
				p.want(",", "or \"]\" after an integer")
			}
			*x = append(*x, int(p.integer(f.Name)))
		}
	case *map[string]any:
		*x = p.attrs()
	case *any:
		p.want("{", "before a variable, a buffer or an axis")
		*x = p.reference()
		p.want("}", "after a variable, a buffer or an axis")
	case *tir.BinaryOp:
		*x = enumOf[tir.BinaryOp](p)
	case *tir.CallKind:
		*x = enumOf[tir.CallKind](p)
	case *tir.ForKind:
		*x = enumOf[tir.ForKind](p)
	default:
		p.fail(at, "field %s has no text form", f.Name)
	}
	return parts
}

// integer reads an integer that is no expression, with its sign.
func (p *parser) integer(of string) int64 {
	t := p.peek()
	text, _, isNaN := p.number(t)
	v, err := strconv.ParseInt(form.Digits(text))
	if isNaN || err != nil {
		p.fail(t, "found %s, want %s as an integer", t, of)
	}
	return v
}

// enumOf reads the name of an enumeration's value, as text.
func enumOf[E tir.Enum](p *parser) E {
	t := p.peek()
	e, known := tir.ByName[E](p.text("one of the names"))
	if !known {
		p.fail(t, "found %s, want one of %q", t, tir.Names[E]())
	}
	return e
}

// reference reads what an attribute refers to; nil if it is nothing.
func (p *parser) reference() any {
	switch t := p.peek(); {
	case p.skipWord("var"):
		return p.knownVar()
	case p.skipWord("buffer"):
		return p.knownBuffer()
	case t.isWord("iter"):
		p.at++
		x, bound := p.iter()
		if bound != nil {
			p.vars.declare(bound.Name, bound)
		}
		return x
	}
	return nil
}
