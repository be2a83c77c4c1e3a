package text

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// ParseError is a syntax error or another error in a text, with its position.
type ParseError struct {
	Line, Column int // from 1; columns are characters
	Msg          string
}

// Error returns the position and the message.
func (e *ParseError) Error() string {
	return fmt.Sprintf("tir: parse: line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// Scope contains the variables and buffers that an expression can refer to, by name.
type Scope struct {
	Vars    []*tir.Var
	Buffers []*tir.Buffer
	// Free returns the variable for a name that Vars lacks; nil, or without a function, such a name is an error.
	Free func(name string) *tir.Var
}

// Parse reads a module from text, as [Print] writes it or as people write it: layout is free, "#" and "//" begin
// comments, constants of type int32 and float32 are converted to the type of the other operand, and a name can be used
// again after the block in which it is defined. Errors are of type *ParseError.
//
//	module    = [ "attrs" attrs ] { function }
//	function  = "func" NAME "(" [ NAME ":" TYPE { "," NAME ":" TYPE } ] ")" [ "->" TYPE ]
//	            "{" [ "attrs" attrs ] { statement } "}"
//	attrs     = "{" [ TEXT ":" value { "," TEXT ":" value } ] "}"
//	value     = INT | FLOAT | "true" | "false" | TEXT | "target" ( TEXT | JSON )
//
//	statement = NAME "[" exprs "]" "=" expr                         a store
//	          | ( "for" | "parallel" | "vectorized" | "unrolled" | "thread" ) NAME [ ":" TYPE ] "in" range
//	            [ "," "thread" TEXT ] [ "," "attrs" attrs ] block
//	          | "while" expr block
//	          | "if" expr block [ "else" ( block | if ) ]
//	          | "assert" expr "," NAME "," TEXT                     the error's kind and message
//	          | "let" NAME [ ":" TYPE ] "=" expr body
//	          | "alloc" NAME layout body
//	          | "attr" TEXT [ "var" NAME | "buffer" NAME | axis ] "=" ( expr | "none" ) body
//	          | "seq" block                                         a sequence within another
//	          | call | "eval" expr                                  an expression that is computed for its effect
//	          | "var" NAME ":" TYPE                                 a variable without a definition, as in shapes
//	          | "tir." NODE "(" fields ")" { NAME block }           a statement without a syntax of its own
//	          | "buffer" NAME ( layout | "," "param" NAME )         a buffer of a parameter or of other memory
//	body      = block | the statements that follow in the enclosing block
//	block     = "{" { statement [ ";" ] } "}"
//	range     = "range" "(" [ expr "," "count" "=" ] expr ")"       the first value (default 0) and the number of values
//	axis      = "iter" NAME [ ":" TYPE ] [ "in" range ] { "," ( "kind" NAME | "thread" TEXT ) }
//	layout    = ":" TYPE "[" exprs "]" { "," clause }
//	clause    = "param" NAME | "data" NAME [ ":" "handle" ] | "strides" "[" exprs "]" | "offset" expr
//	          | "scope" TEXT | "align" INT
//
//	expr      = "let" NAME [ ":" TYPE ] "=" expr "in" expr | infix
//	infix     = operands of || && (== != < <= > >=) (+ -) (* / %) ! -, from the lowest to the highest precedence
//	operand   = INT | FLOAT | "true" | "false" | "inf" | "nan" | TEXT | NAME | "(" expr ")" | NAME "[" exprs "]" | call
//	          | TYPE "(" NUMBER ")"                                 a constant of a type
//	          | "cast" "(" TYPE "," expr ")" | "select" "(" expr "," expr "," expr ")"
//	          | ( "min" | "max" | "floordiv" | "floormod" ) "(" expr "," expr ")"
//	          | "ramp" "(" expr "," expr "," INT ")" | "broadcast" "(" expr "," INT ")"
//	          | "shuffle" "(" "[" exprs "]" "," "[" INT { "," INT } "]" ")"
//	          | "tir." NODE "(" fields ")"                          an expression without a syntax of its own
//	fields    = [ NAME "=" field { "," NAME "=" field } ]           by the names of the node's fields
//	field     = expr | "[" exprs "]" | NAME | TYPE | TEXT | NUMBER | attrs | NAME ":" TYPE | "{" NAME layout "}"
//	          | "{" [ "var" NAME | "buffer" NAME | axis ] "}"
//	call      = [ "intrin" | "extern" | "packed" | "func" ] NAME [ "[" TYPE "]" ] "(" exprs ")"
//	exprs     = [ expr { "," expr } ]
//
// A NAME is letters, digits, "_", and dots between, or $"any text". TEXT is a string as in Go. The type of a call is
// given in brackets; by default it is that of an intrinsic's last argument (bool for predicates such as isnan), and
// void for other calls. A buffer without "data" has a new variable for its address; "data" names the variable, and with
// a type after it defines it. Example:
//
//	func scale(A: handle, B: handle, n: int32) {
//	  buffer A: float32[n], param A
//	  buffer B: float32[n], param B, align 64
//	  parallel i in range(n) {
//	    B[i] = A[i] * 2.0
//	  }
//	}
func Parse(text string) (m *tir.IRModule, err error) {
	p := newParser(text)
	defer p.caught(&err)
	m = p.module()
	return m, nil
}

// ParseExpr reads an expression that can refer to the variables and buffers of a scope. If two have the same name, the
// last one is used.
func ParseExpr(text string, scope Scope) (e tir.Expr, err error) {
	p := newParser(text)
	defer p.caught(&err)
	for _, v := range scope.Vars {
		if v != nil {
			p.vars.declare(v.Name, v)
		}
	}
	for _, b := range scope.Buffers {
		if b != nil {
			p.buffers.declare(b.Name, b)
		}
	}
	p.free = scope.Free
	e = p.expr().e
	if t := p.peek(); t.kind != tokenEnd {
		p.fail(t, "found %s after an expression, want the end of the text", t)
	}
	return e, nil
}

type parser struct {
	src     string
	tokens  []token
	at      int // the index of the next token
	exprs   int // number of enclosing expressions
	blocks  int // number of enclosing blocks
	vars    visible[*tir.Var]
	buffers visible[*tir.Buffer]
	params  map[*tir.Var]*tir.Buffer // of the current function
	free    func(name string) *tir.Var
}

func newParser(text string) *parser {
	return &parser{src: text, tokens: lex(text), vars: newVisible[*tir.Var](), buffers: newVisible[*tir.Buffer]()}
}

// visible maps names to their meanings at the current position in the text.
type visible[T any] struct {
	bound    map[string]T
	declared map[string]T // valid until the end of the function
	hidden   []hidden[T]
}

type hidden[T any] struct {
	name string
	what T
	had  bool
}

func newVisible[T any]() visible[T] {
	return visible[T]{bound: map[string]T{}, declared: map[string]T{}}
}

func (v *visible[T]) declare(name string, what T) { v.declared[name] = what }

// bind gives a name a meaning until restore is called.
func (v *visible[T]) bind(name string, what T) {
	old, had := v.bound[name]
	v.hidden = append(v.hidden, hidden[T]{name, old, had})
	v.bound[name] = what
}

func (v *visible[T]) restore(mark int) {
	for len(v.hidden) > mark {
		h := v.hidden[len(v.hidden)-1]
		v.hidden = v.hidden[:len(v.hidden)-1]
		if h.had {
			v.bound[h.name] = h.what
		} else {
			delete(v.bound, h.name)
		}
	}
}

func (v *visible[T]) lookup(name string) (T, bool) {
	if what, ok := v.bound[name]; ok {
		return what, true
	}
	what, ok := v.declared[name]
	return what, ok
}

func (v *visible[T]) names() []string {
	return append(slices.Collect(maps.Keys(v.bound)), slices.Collect(maps.Keys(v.declared))...)
}

// scope opens a scope; end closes it and restores the earlier meanings of names.
func (p *parser) scope() (end func()) {
	v, b := len(p.vars.hidden), len(p.buffers.hidden)
	return func() {
		p.vars.restore(v)
		p.buffers.restore(b)
	}
}

// caught converts a panic of fail to an error. Other panics are faults of this package, and continue.
func (p *parser) caught(err *error) {
	switch e := recover().(type) {
	case nil:
	case *ParseError:
		*err = e
	default:
		panic(e)
	}
}

// fail ends parsing with an error at a token.
func (p *parser) fail(t token, format string, args ...any) {
	before := p.src[:t.at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	panic(&ParseError{line, column, fmt.Sprintf(format, args...)})
}

// String describes the token in messages.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end of the text"
	case tokenText:
		return "text " + form.Clip(strconv.Quote(t.text))
	case tokenName:
		return "$" + form.Clip(strconv.Quote(t.text))
	}
	return `"` + form.Clip(t.text) + `"`
}

func (p *parser) ahead(n int) token {
	return p.tokens[min(p.at+n, len(p.tokens)-1)]
}

// peek returns the next token; it fails if that is a tokenBad.
func (p *parser) peek() token {
	t := p.ahead(0)
	if t.kind == tokenBad {
		p.fail(t, "%s", t.text)
	}
	return t
}

func (p *parser) next() token {
	t := p.peek()
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

func (t token) is(sign string) bool { return t.kind == tokenSign && t.text == sign }

func (t token) isWord(word string) bool { return t.kind == tokenWord && t.text == word }

// skip consumes the next token if it is the given sign.
func (p *parser) skip(sign string) bool {
	if p.peek().is(sign) {
		p.at++
		return true
	}
	return false
}

// skipWord consumes the next token if it is the given word.
func (p *parser) skipWord(word string) bool {
	if p.peek().isWord(word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(sign, after string) {
	if t := p.peek(); !p.skip(sign) {
		p.fail(t, "found %s, want %q %s", t, sign, after)
	}
}

func (p *parser) wantWord(word, after string) {
	if t := p.peek(); !p.skipWord(word) {
		p.fail(t, "found %s, want %q %s", t, word, after)
	}
}

// name reads a name.
func (p *parser) name(of string) (string, token) {
	t := p.next()
	if !t.isName() {
		if t.kind == tokenWord {
			p.fail(t, "found %s, want the name of %s: the word is reserved, write $%q", t, of, t.text)
		}
		p.fail(t, "found %s, want the name of %s", t, of)
	}
	return t.text, t
}

func (t token) isName() bool {
	return t.kind == tokenName || t.kind == tokenWord && !reserved[t.text] && !isTypeName(t.text)
}

func (p *parser) text(of string) string {
	t := p.next()
	if t.kind != tokenText {
		p.fail(t, "found %s, want %s as text in quotes", t, of)
	}
	return t.text
}

// whole reads an integer literal.
func (p *parser) whole(of string) int {
	t := p.next()
	v, err := strconv.ParseInt(t.text, 10, 32)
	if t.kind != tokenNumber || err != nil {
		p.fail(t, "found %s, want %s as an integer", t, of)
	}
	return int(v)
}

// typ reads a type.
func (p *parser) typ() tir.Type {
	t := p.next()
	if t.kind == tokenWord {
		dt, err := dlpack.ParseDataType(t.text)
		if err == nil {
			err = tir.CheckType(dt)
		}
		if err == nil {
			return dt
		}
		p.fail(t, "%q is not a type%s; types are int32, float16, bool, handle, float32x4, …", form.Clip(t.text),
			didYouMeanWord(t.text, typeNames))
	}
	p.fail(t, "found %s, want a type: int32, float16, bool, handle, float32x4, …", t)
	return tir.Void
}

var typeNames = []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
	"float16", "bfloat16", "float32", "float64", "bool", "handle", "void"}
