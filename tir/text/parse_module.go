package text

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

func (p *parser) module() *tir.IRModule {
	m := &tir.IRModule{Attrs: map[string]any{}}
	if p.skipWord("attrs") {
		m.Attrs = p.attrs()
	}
	known := map[string]bool{}
	for p.peek().kind != tokenEnd {
		p.wantWord("func", "to begin a function")
		at := p.peek()
		f := p.function()
		if f.Name == "" {
			p.fail(at, "the function has no name")
		}
		if known[f.Name] {
			p.fail(at, "two functions are named %s: give one another name", nameText(f.Name))
		}
		known[f.Name] = true
		m.Funcs = append(m.Funcs, f)
	}
	return m
}

func (p *parser) function() *tir.PrimFunc {
	p.vars, p.buffers, p.params = newVisible[*tir.Var](), newVisible[*tir.Buffer](), map[*tir.Var]*tir.Buffer{}
	f := &tir.PrimFunc{Result: tir.Void, Attrs: map[string]any{}, Buffers: p.params}
	f.Name, _ = p.name("a function")
	p.want("(", "before the parameters")
	for !p.skip(")") {
		if len(f.Params) > 0 {
			p.want(",", "or \")\" after a parameter")
		}
		name, at := p.name("a parameter")
		if _, twice := p.vars.lookup(name); twice {
			p.fail(at, "two parameters are named %s", nameText(name))
		}
		p.want(":", "and a type after a parameter's name")
		v := tir.NewVar(name, p.typ())
		p.vars.declare(name, v)
		f.Params = append(f.Params, v)
	}
	if p.skip("->") {
		f.Result = p.typ()
	}
	p.want("{", "before the function's body")
	if p.skipWord("attrs") {
		f.Attrs = p.attrs()
	}
	f.Body = p.restOfBlock()
	p.want("}", "after the function's body")
	return f
}

// attrs reads attributes with their names.
func (p *parser) attrs() map[string]any {
	attrs := map[string]any{}
	p.want("{", "before attributes")
	for !p.skip("}") {
		if len(attrs) > 0 {
			p.want(",", "or \"}\" after an attribute")
		}
		at := p.peek()
		key := p.text("an attribute's name")
		if _, twice := attrs[key]; twice {
			p.fail(at, "attribute %q occurs twice", key)
		}
		p.want(":", "after an attribute's name")
		attrs[key] = p.value()
	}
	return attrs
}

// value reads an attribute's value.
func (p *parser) value() any {
	t := p.peek()
	switch {
	case t.kind == tokenText:
		p.at++
		return t.text
	case t.isWord("true"), t.isWord("false"):
		p.at++
		return t.text == "true"
	case t.isWord("target"):
		p.at++
		return p.target()
	}
	text, bits, isNaN := p.number(t)
	if isNaN {
		return bits
	}
	if isWholeNumber(text) {
		v, err := strconv.ParseInt(form.Digits(text))
		if err != nil {
			p.fail(t, "%s is not an int64", form.Clip(text))
		}
		return v
	}
	v, err := form.ReadFloat(text, 64)
	if err != nil {
		p.fail(t, "%v", err)
	}
	return v
}

// target reads a target: a text for target.New, or a JSON object.
func (p *parser) target() *target.Target {
	at := p.peek()
	text := at.text
	switch {
	case at.kind == tokenText:
		p.at++
	case at.is("{"):
		var raw json.RawMessage
		d := json.NewDecoder(strings.NewReader(p.src[at.at:]))
		if err := d.Decode(&raw); err != nil {
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				at.at = min(at.at+int(syntax.Offset), len(p.src))
			}
			p.fail(at, "the target is not JSON: %v", err)
		}
		text = string(raw)
		end := at.at + int(d.InputOffset())
		for p.ahead(0).kind != tokenEnd && p.ahead(0).at < end {
			p.next()
		}
	default:
		p.fail(at, "found %s, want a target as text or as JSON", at)
	}
	t, err := target.New(text)
	if err != nil {
		p.fail(at, "%v", err)
	}
	return t
}
