package graph

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// ParseError is an error in the text of a function, with its position.
type ParseError struct {
	Line, Column int // from 1; columns are characters
	Cause        error
}

// Error returns the position and the cause.
func (e *ParseError) Error() string {
	return fmt.Sprintf("graph: parse: line %d, column %d: %v", e.Line, e.Column, e.Cause)
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Cause }

// Parse reads functions from text, as Function.String and Function.Text write them or as people write them.
//
//	text      = { "func" NAME params [ "where" size "in" range { "," size "in" range } ] block }
//	params    = "(" [ NAME ":" type { "," NAME ":" type } ] ")"
//	type      = TYPE "[" [ size { "," size } ] "]"                   float32[n, 8]
//	range     = INT [ ".." INT ]                                     the least and the greatest size
//	block     = "{" { statement } "return" [ returned { "," returned } ] "}"
//	returned  = ( "_" | NAME ) [ "as" NAME ]                         the name for callers, in functions without a caller
//	statement = "const" NAME ":" type "=" data
//	          | [ result { "," result } ] "=" OPERATOR "(" [ names ] ")" [ "{" sizes "}" ] [ attr { "," attr } ]
//	            { "body" NAME params block }                           of if and loop
//	result    = "_" | NAME [ ":" type ]
//	names     = ( "_" | NAME ) { "," ( "_" | NAME ) }
//	data      = "{" [ element { "," element } ] "}"                    1, -2.5e3, inf, nan, true
//	          | "hex" DIGITS                                           the bytes of Const.Data
//	          | "@" REFERENCE                                          a key of the table constants
//	attr      = NAME "=" value
//	value     = INT | FLOAT | "true" | "false" | TEXT | TYPE | "none" | "[" [ value { "," value } ] "]"
//
// A statement is one line, except for its bodies; "#" begins a comment. A NAME is letters, digits and "_./-", or a
// string as in Go; "%3" is a value without a name, and x%3 one of several with the name x. A size is an expression of
// tir/text; its variables are sizes that are known at run time. The operator elements has its sizes in braces, without
// which they are new ones; so has an operator with an attribute that is a list of sizes. "_" is a result that is not
// used or an operand that is left out. Callers know a result by the name of its value, or by the one after "as"; if two
// have the same name, or one has none, by their numbers.
//
// Types and shapes of results are inferred, and compared with the ones in the text, which may be left out except for
// those of if and loop. constants, which may be nil, has the data that the text refers to, as Function.Constants
// returns it; functions keep it. Operators have to be registered (tvmgo/graph/operators). Errors are of type
// *ParseError.
func Parse(text string, constants map[string][]byte) (functions []*Function, err error) {
	p := &parser{src: text}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *ParseError:
			functions, err = nil, e
		default:
			panic(e)
		}
	}()
	for p.blank(true); p.at < len(p.src); p.blank(true) {
		p.word("func")
		f := NewFunction("")
		p.fn = f
		parsed := p.function()
		f.Name = parsed.name
		b := &builder{parser: p, constants: constants, values: map[string]bound{}}
		b.function(f, parsed)
		functions = append(functions, f)
	}
	return functions, nil
}

// parser reads the syntax of functions.
type parser struct {
	src   string
	at    int
	fn    *Function // that owns the sizes
	depth int       // of bodies in bodies
}

// maxBodies is how deep bodies may be nested.
const maxBodies = 64

// parsedFunction is a function or a body as it is written.
type parsedFunction struct {
	at         int
	name       string
	params     []declaration
	statements []statement
	results    []reference
	names      []alias // of the results
}

// alias is the name of a result for callers, and its position; "" if the text has none.
type alias struct {
	at   int
	name string
}

// declaration is a parameter, a constant or a result. Names are as they are written, except for quotes.
type declaration struct {
	reference
	typed bool
	dtype tir.Type
	shape []tir.Expr
}

// reference is the name of a value. key tells values with equal names apart; it is "" for one that is left out.
type reference struct {
	at        int
	name, key string
}

// statement is a node, or a constant if it has no operator.
type statement struct {
	at      int
	results []declaration
	op      string
	inputs  []reference
	attrs   []attribute
	sizes   []tir.Expr // nil: not given
	bodies  []parsedFunction
	data    data
}

type attribute struct {
	at    int
	name  string
	value any // int64, float64, string, bool, tir.Type, nil for none, or []any
}

// data is what a constant has: elements, bytes, or a reference.
type data struct {
	at        int
	elements  []string
	bytes     []byte
	reference string
}

// ref reads the name of a value.
func (p *parser) ref(of string, optional bool) reference {
	p.blank(false)
	r := reference{at: p.at}
	if optional && p.skipWord("_") {
		return r
	}
	if !strings.HasPrefix(p.src[p.at:], "%") {
		r.name = p.name(of)
	}
	r.key = strconv.Quote(r.name)
	if strings.HasPrefix(p.src[p.at:], "%") {
		n := 1
		for p.at+n < len(p.src) && p.src[p.at+n] >= '0' && p.src[p.at+n] <= '9' {
			n++
		}
		if n == 1 {
			p.failf(p.at, "there is no number after %%")
		}
		r.key += p.src[p.at : p.at+n]
		p.at += n
	}
	return r
}

// typed reads the type and the shape of a declaration.
func (p *parser) typed(d *declaration) {
	d.typed, d.dtype = true, p.typ()
	p.want('[', "before the sizes")
	d.shape = p.exprs(']', "after a size")
	for i, e := range d.shape {
		if n, ok := tir.IntValue(e); ok && n < 0 || e.DType() != tir.Int32 {
			p.failf(d.at, "size %d of %q is %s: want an integer of type int32 that is not negative", i, d.name, printed(e))
		}
	}
	if len(d.shape) > maxRank {
		p.failf(d.at, "%q has %d dimensions: want at most %d", d.name, len(d.shape), maxRank)
	}
}

// exprs reads expressions up to a closing bracket.
func (p *parser) exprs(end byte, where string) []tir.Expr {
	list := []tir.Expr{}
	p.list(end, where, func() {
		n, inner := 0, 0 // to the comma or bracket that ends the expression
		for ; p.at+n < len(p.src); n++ {
			c := p.src[p.at+n]
			if c == '"' {
				prefix, err := strconv.QuotedPrefix(p.src[p.at+n:])
				if err != nil {
					p.failf(p.at+n, "the string has no closing quote on its line, or an unknown escape")
				}
				n += len(prefix) - 1
				continue
			}
			if inner == 0 && (c == ',' || c == end) {
				break
			}
			switch c {
			case '(', '[', '{':
				inner++
			case ')', ']', '}':
				inner--
			}
		}
		list = append(list, p.expr(p.src[p.at:p.at+n]))
		p.at += n
	})
	return list
}

// expr reads an expression. Its variables are sizes.
func (p *parser) expr(src string) tir.Expr {
	e, err := text.ParseExpr(src, text.Scope{Free: func(name string) *tir.Var { return p.fn.Symbol(name) }})
	if wrong := (*text.ParseError)(nil); errors.As(err, &wrong) {
		lines := strings.SplitAfter(src, "\n")[:wrong.Line]
		last := []rune(lines[wrong.Line-1])
		before := strings.Join(lines[:wrong.Line-1], "") + string(last[:min(wrong.Column-1, len(last))])
		p.failf(p.at+len(before), "size: %s", wrong.Msg)
	}
	return e
}

// function reads a function after its first word.
func (p *parser) function() parsedFunction {
	if p.depth++; p.depth > maxBodies {
		p.failf(p.at, "bodies are nested more than %d levels deep", maxBodies)
	}
	defer func() { p.depth-- }()
	p.blank(false)
	f := parsedFunction{at: p.at, name: p.peekWord()} // any word
	if p.at += len(f.name); f.name == "" {
		f.name = p.name("a function")
	}
	p.want('(', "after the name of a function")
	p.list(')', "after a parameter", func() {
		d := declaration{reference: p.ref("a parameter", false)}
		p.want(':', "and the type of the parameter")
		p.typed(&d)
		f.params = append(f.params, d)
	})
	if p.depth == 1 && p.skipWord("where") {
		p.ranges()
	}
	p.want('{', "and the statements of the function")
	for {
		p.blank(true)
		if p.skipWord("return") {
			break
		}
		f.statements = append(f.statements, p.statement())
	}
	p.returned(&f)
	p.blank(true)
	p.want('}', "after the results")
	return f
}

// ranges reads the ranges of sizes.
func (p *parser) ranges() {
	for more := true; more; more = p.skip(',') {
		p.blank(true)
		at, n := p.at, 0
		if strings.HasPrefix(p.src[at:], "$") { // a name in quotes
			prefix, err := strconv.QuotedPrefix(p.src[at+1:])
			if err != nil {
				p.failf(at, "want a name in quotes after $")
			}
			n = 1 + len(prefix)
		} else {
			n = plainLength(p.src[at:])
		}
		v, ok := p.expr(p.src[at : at+n]).(*tir.Var)
		if !ok {
			p.failf(at, "found %s, want the name of a size", p.found())
		}
		p.at += n
		p.word("in")
		p.blank(false)
		place := p.at
		r, err := ParseRange(p.number("a range"))
		if err == nil {
			err = p.fn.SetRange(v, r)
		}
		if err != nil {
			p.fail(place, err)
		}
	}
}

// returned reads the results up to the end of the line or the block.
func (p *parser) returned(f *parsedFunction) {
	for p.blank(false); p.at < len(p.src) && p.src[p.at] != '\n' && p.src[p.at] != '}'; p.blank(false) {
		if len(f.results) > 0 {
			p.want(',', "after a result")
		}
		f.results = append(f.results, p.ref("a result", true))
		name := alias{at: p.at}
		if p.blank(false); p.peekWord() == "as" {
			if name.at = p.at; p.depth > 1 {
				p.failf(p.at, "only results of functions have names for callers, and those of bodies have none")
			}
			p.word("as")
			p.blank(false)
			name.at = p.at
			if name.name = p.name("a result"); name.name == "" {
				p.failf(name.at, "the name of a result is empty")
			}
		}
		f.names = append(f.names, name)
	}
}

// refs reads names of values up to a closing sign.
func (p *parser) refs(end byte, of, where string) (refs []reference) {
	p.list(end, where, func() { refs = append(refs, p.ref(of, true)) })
	return refs
}

// statement reads a constant or a node, with the end of its line.
func (p *parser) statement() (s statement) {
	if s.at = p.at; p.skipWord("const") {
		d := declaration{reference: p.ref("a constant", false)}
		p.want(':', "and the type of the constant")
		p.typed(&d)
		p.want('=', "and the data of the constant")
		s.results, s.data = []declaration{d}, p.data()
		p.lineEnd()
		return s
	}
	for !p.skip('=') {
		if len(s.results) > 0 {
			p.want(',', `or "=" after a result`)
		}
		d := declaration{reference: p.ref("a result", true)}
		if d.key != "" && p.skip(':') {
			p.typed(&d)
		}
		s.results = append(s.results, d)
	}
	s.op = p.name("an operator")
	p.want('(', "and the operands of the operator")
	s.inputs = p.refs(')', "an operand", "after an operand")
	if p.skip('{') {
		s.sizes = p.exprs('}', "after a size")
	}
	for p.blank(false); p.at < len(p.src) && p.src[p.at] != '\n'; p.blank(false) {
		if len(s.attrs) > 0 {
			p.want(',', "or the end of the line after an attribute")
			p.blank(false)
		}
		a := attribute{at: p.at}
		a.name = p.name("an attribute")
		p.want('=', "and the value of the attribute")
		a.value = p.value(true)
		s.attrs = append(s.attrs, a)
	}
	p.lineEnd()
	for p.blank(true); p.skipWord("body"); p.blank(true) {
		s.bodies = append(s.bodies, p.function())
	}
	return s
}

// data reads the data of a constant.
func (p *parser) data() data {
	p.blank(false)
	d := data{at: p.at}
	switch {
	case p.skip('@'):
		if d.reference = p.peekWord(); d.reference == "" {
			p.failf(p.at, "found %s, want a reference after @", p.found())
		}
		p.at += len(d.reference)
	case p.skip('{'):
		d.elements = []string{}
		p.list('}', "after an element", func() { d.elements = append(d.elements, p.number("an element")) })
	case p.skipWord("hex"):
		digits := p.peekWord()
		bytes, err := hex.DecodeString(digits)
		if err != nil {
			p.failf(p.at, "found %s, want two hexadecimal digits for each byte", p.found())
		}
		d.bytes = bytes
		p.at += len(digits)
	default:
		p.failf(p.at, "found %s, want {elements}, hex and bytes, or @reference", p.found())
	}
	return d
}
