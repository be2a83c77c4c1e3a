package text

import (
	"fmt"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
	"tvmgo/tir/internal/printer"
)

// Print returns an expression, a statement, a function or a module as text that [Parse] and [ParseExpr] read. Variables
// or buffers with the same name get different ones: "i", "i_1", "i_2" and so on. If the node is a part of a function,
// what is defined outside of it is not declared. Nodes that a finished module does not contain (*Bad, *ProducerLoad,
// *Reduce) are printed for people, and cannot be read.
func Print(node any) string {
	switch n := node.(type) {
	case *tir.PrimFunc:
		return functionText(n)
	case *tir.IRModule:
		return moduleText(n)
	}
	p := newWriter(true)
	switch n := node.(type) {
	case tir.Expr:
		p.expr(n, precLet)
	case tir.Stmt:
		p.survey.stmt(n)
		p.block(n)
		return strings.TrimSuffix(p.out.String(), "\n")
	case *tir.Buffer:
		p.buffer(n)
	case *tir.IterVar:
		p.iter(n)
	default:
		return fmt.Sprintf("<%T is not a node>", node)
	}
	return p.out.String()
}

func moduleText(m *tir.IRModule) string {
	if m == nil {
		return "<nil module>"
	}
	var parts []string
	if len(m.Attrs) > 0 {
		parts = append(parts, "attrs "+attrsText(m.Attrs)+"\n")
	}
	for _, f := range m.Funcs {
		parts = append(parts, functionText(f))
	}
	return strings.Join(parts, "\n")
}

func functionText(f *tir.PrimFunc) string {
	if f == nil {
		return "<nil function>\n"
	}
	p := newWriter(false)
	p.survey.function(f)
	return p.function(f)
}

func init() { printer.Print = Print }

// writer prints one function, or a part of one.
type writer struct {
	out      *strings.Builder
	depth    int
	fragment bool // a part of a function: what is defined outside is not declared
	vars     names[*tir.Var]
	buffers  names[*tir.Buffer]
	free     []*tir.Var // used in the function but bound nowhere: declared at its beginning
	survey   survey
}

func newWriter(fragment bool) *writer {
	return &writer{out: &strings.Builder{}, fragment: fragment, vars: newNames[*tir.Var](),
		buffers: newNames[*tir.Buffer](), survey: newSurvey()}
}

// names maps things to their names at the current position. A name refers to the same thing in the whole text.
type names[K comparable] struct {
	of    map[K]string
	taken map[string]bool
	next  map[string]int // the next suffix to try for a name
}

func newNames[K comparable]() names[K] {
	return names[K]{map[K]string{}, map[string]bool{}, map[string]int{}}
}

// bind gives a thing a unique name until undo is called.
func (n *names[K]) bind(what K, name string) (unique string, undo func()) {
	unique = name
	for k := max(n.next[name], 1); n.taken[unique]; k++ {
		unique = fmt.Sprintf("%s_%d", name, k)
		n.next[name] = k + 1
	}
	n.taken[unique] = true
	old, had := n.of[what]
	n.of[what] = unique
	return unique, func() {
		if had {
			n.of[what] = old
		} else {
			delete(n.of, what)
		}
	}
}

func (p *writer) bindVar(v *tir.Var) (text string, undo func()) {
	if v == nil {
		return "<nil>", func() {}
	}
	name, undo := p.vars.bind(v, v.Name)
	return nameText(name), undo
}

func (p *writer) bindBuffer(b *tir.Buffer) (text string, undo func()) {
	if b == nil {
		return "<nil>", func() {}
	}
	name, undo := p.buffers.bind(b, b.Name)
	return nameText(name), undo
}

// varName returns the name of a used variable. A variable that is bound nowhere is declared at the beginning of the
// function.
func (p *writer) varName(v *tir.Var) string {
	if v == nil {
		return "<nil>"
	}
	name, known := p.vars.of[v]
	if !known {
		name, _ = p.vars.bind(v, v.Name)
		p.free = append(p.free, v)
	}
	return nameText(name)
}

// bufferName returns the name of a used buffer.
func (p *writer) bufferName(b *tir.Buffer) string {
	if b == nil {
		return "<nil>"
	}
	name, known := p.buffers.of[b]
	if !known {
		name, _ = p.buffers.bind(b, b.Name)
	}
	return nameText(name)
}

func (p *writer) write(parts ...string) {
	for _, s := range parts {
		p.out.WriteString(s)
	}
}

// deepestIndent is the maximum number of indented levels: with thousands, most of the text would be blanks.
const deepestIndent = 64

// line begins a new line.
func (p *writer) line(parts ...string) {
	for range min(p.depth, deepestIndent) {
		p.out.WriteString("  ")
	}
	p.write(parts...)
}

// aside returns what write prints, instead of adding it to the text.
func (p *writer) aside(write func()) string {
	out := p.out
	p.out = &strings.Builder{}
	write()
	s := p.out.String()
	p.out = out
	return s
}

func (p *writer) function(f *tir.PrimFunc) string {
	p.write("func ", nameText(f.Name), "(")
	for i, v := range f.Params {
		if i > 0 {
			p.write(", ")
		}
		name, _ := p.bindVar(v)
		p.write(name, ": ", form.TypeText(typeOfVar(v)))
	}
	p.write(")")
	if f.Result != tir.Void {
		p.write(" -> ", form.TypeText(f.Result))
	}
	p.write(" {\n")
	p.depth++
	if len(f.Attrs) > 0 {
		p.line("attrs ", attrsText(f.Attrs), "\n")
	}
	body := p.aside(func() {
		for _, v := range f.BufferParams() {
			p.paramBuffer(v, f.Buffers[v])
		}
		p.block(f.Body)
	})
	for _, v := range p.free {
		p.line("var ", p.varName(v), ": ", form.TypeText(v.Type), "\n")
	}
	p.write(body, "}\n")
	return p.out.String()
}

// paramBuffer declares the buffer of a parameter. If the buffer is declared already, the line only names the parameter.
func (p *writer) paramBuffer(v *tir.Var, b *tir.Buffer) {
	if _, known := p.buffers.of[b]; known {
		p.line("buffer ", p.bufferName(b), ", param ", p.varName(v), "\n")
		return
	}
	name, _ := p.bindBuffer(b)
	p.declareIn(exprsOf(b)...)
	p.line("buffer ", name)
	p.layout(b, p.varName(v))
	p.write("\n")
}

func typeOfVar(v *tir.Var) tir.Type {
	if v == nil {
		return tir.Void
	}
	return v.Type
}
