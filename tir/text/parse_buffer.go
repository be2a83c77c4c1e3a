package text

import (
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

func (p *parser) allocStmt() tir.Stmt {
	defer p.scope()()
	name, _ := p.name("a buffer")
	b, data := p.layout(name, false)
	p.buffers.bind(name, b)
	if data != nil {
		p.vars.bind(data.Name, data)
	}
	return &tir.Alloc{Buffer: b, Body: p.body()}
}

// declaration reads the declaration of a buffer that is valid until the end of the function, or of a parameter for a
// buffer that is declared already.
func (p *parser) declaration() {
	name, _ := p.name("a buffer")
	if p.peek().is(",") {
		p.at--
		b := p.knownBuffer()
		p.at++
		p.wantWord("param", "after a buffer that is declared already")
		p.param(b)
		return
	}
	b, data := p.layout(name, true)
	p.buffers.declare(name, b)
	if data != nil {
		p.vars.declare(data.Name, data)
	}
}

// param reads the parameter whose buffer b is.
func (p *parser) param(b *tir.Buffer) {
	at := p.peek()
	v := p.knownVar()
	if v.Type != tir.Handle {
		p.fail(at, "%s is of type %s: only a handle can have a buffer", nameText(v.Name), form.TypeText(v.Type))
	}
	if p.params[v] != nil {
		p.fail(at, "%s has buffer %s already", nameText(v.Name), nameText(p.params[v].Name))
	}
	p.params[v] = b
}

// layout reads everything of a buffer but its name; data is the variable of its address if it is defined here.
func (p *parser) layout(name string, declared bool) (b *tir.Buffer, data *tir.Var) {
	b = &tir.Buffer{Name: name}
	p.want(":", "and a type after a buffer's name")
	b.DType = p.typ()
	p.want("[", "and the shape after a buffer's type")
	b.Shape = exprsIn(p.args("]", "after a dimension"))
	for p.skip(",") {
		switch at := p.next(); {
		case at.isWord("param") && declared:
			p.param(b)
		case at.isWord("data"):
			if !p.ahead(1).is(":") {
				b.Data = p.knownVar()
				break
			}
			data, _ = p.loopVar()
			if data.Type != tir.Handle {
				p.fail(at, "the address of buffer %s is of type %s: want handle", nameText(name), form.TypeText(data.Type))
			}
			b.Data = data
		case at.isWord("strides"):
			p.want("[", "after strides")
			b.Strides = exprsIn(p.args("]", "after a stride"))
		case at.isWord("offset"):
			b.Offset = p.expr().e
		case at.isWord("scope"):
			b.Scope = p.text("a storage scope")
		case at.isWord("align"):
			b.Alignment = p.whole("the alignment in bytes")
		default:
			p.fail(at, "found %s, want data, strides, offset, scope, align, or for a function's parameter param", at)
		}
	}
	if b.Data == nil {
		b.Data = tir.NewVar(name, tir.Handle)
	}
	return b, data
}
