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

// declaration reads a buffer that is known to the function's end, or that a parameter stands for one that is known
// already.
func (p *parser) declaration() {
	name, _ := p.name("a buffer")
	if p.peek().is(",") {
		p.at--
		b := p.knownBuffer()
		p.at++
		p.wantWord("param", "after a buffer that is known")
		p.param(b)
		return
	}
	b, data := p.layout(name, true)
	p.buffers.declare(name, b)
	if data != nil {
		p.vars.declare(data.Name, data)
	}
}

// param makes a parameter stand for a buffer.
func (p *parser) param(b *tir.Buffer) {
	at := p.peek()
	v := p.knownVar()
	if v.Type != tir.Handle {
		p.fail(at, "%s is of type %s: only a handle stands for a buffer", nameText(v.Name), form.TypeText(v.Type))
	}
	if p.params[v] != nil {
		p.fail(at, "%s stands for buffer %s already", nameText(v.Name), nameText(p.params[v].Name))
	}
	p.params[v] = b
}

// layout reads what a buffer is but its name; data is its address's variable if it is brought here by name.
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
