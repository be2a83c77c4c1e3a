package modelcall

import (
	"slices"
	"strconv"
	"strings"
)

// expr is the expression of a dimension. Operators: 'n' a number, 's' a symbol, and + - * / (rounded down) % <
// (minimum) > (maximum).
type expr struct {
	op    byte
	value int64 // a number, or the index of a symbol
	a, b  *expr
}

const (
	maxSymbols = 32 // those of a function that are compared; further ones are not
	maxNesting = 50 // of expressions
)

// parser reads the expression of a dimension as TVM prints it: "16", "n", "n * 2", "T.int64(2) * n", "T.max(n, m)".
type parser struct {
	text   string
	f      *Function
	depth  int
	failed bool
}

// parseDim returns nil for what is not known.
func (f *Function) parseDim(text string) *expr {
	p := parser{text: text, f: f}
	e := p.sum()
	if p.skip(); p.failed || p.text != "" {
		return nil
	}
	return e
}

func (p *parser) skip() { p.text = strings.TrimLeft(p.text, " ") }

// take removes a token, if it comes next.
func (p *parser) take(token string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.text, token)
	if ok {
		p.text = rest
	}
	return ok
}

func (p *parser) fail() *expr {
	p.failed = true
	return &expr{op: 'n'}
}

func (p *parser) sum() *expr {
	if p.depth++; p.depth > maxNesting {
		return p.fail()
	}
	defer func() { p.depth-- }()
	e := p.product()
	for !p.failed {
		switch {
		case p.take("+"):
			e = &expr{op: '+', a: e, b: p.product()}
		case p.take("-"):
			e = &expr{op: '-', a: e, b: p.product()}
		default:
			return e
		}
	}
	return e
}

func (p *parser) product() *expr {
	e := p.factor()
	for !p.failed {
		switch {
		case p.take("*"):
			e = &expr{op: '*', a: e, b: p.factor()}
		case p.take("//"):
			e = &expr{op: '/', a: e, b: p.factor()}
		case p.take("%"):
			e = &expr{op: '%', a: e, b: p.factor()}
		default:
			return e
		}
	}
	return e
}

func (p *parser) factor() *expr {
	if p.take("(") {
		e := p.sum()
		if !p.take(")") {
			return p.fail()
		}
		return e
	}
	p.skip()
	n := 0
	for n < len(p.text) && (isLetter(p.text[n]) || n == 0 && p.text[0] == '-') {
		n++
	}
	word := p.text[:n]
	p.text = p.text[n:]
	if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		return &expr{op: 'n', value: v}
	}
	if word == "" || word[0] == '-' || '0' <= word[0] && word[0] <= '9' {
		return p.fail()
	}
	if !p.take("(") {
		return p.symbol(word)
	}
	e := p.sum()
	switch strings.TrimPrefix(word, "T.") {
	case "int64", "int32": // the type of a number
	case "min", "max":
		op := byte('<')
		if strings.HasSuffix(word, "max") {
			op = '>'
		}
		if !p.take(",") {
			return p.fail()
		}
		e = &expr{op: op, a: e, b: p.sum()}
	default:
		return p.fail()
	}
	if !p.take(")") {
		return p.fail()
	}
	return e
}

func isLetter(c byte) bool {
	return c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (p *parser) symbol(name string) *expr {
	i := slices.Index(p.f.symbols, name)
	if i < 0 {
		if len(p.f.symbols) == maxSymbols {
			return p.fail()
		}
		i = len(p.f.symbols)
		p.f.symbols = append(p.f.symbols, name)
	}
	return &expr{op: 's', value: int64(i)}
}

// has reports whether the symbol is in the expression.
func (e *expr) has(symbol int64) bool {
	return e != nil && (e.op == 's' && e.value == symbol || e.a.has(symbol) || e.b.has(symbol))
}

// symbols calls f for each symbol of the expression.
func (e *expr) eachSymbol(f func(symbol int64)) {
	if e == nil {
		return
	}
	if e.op == 's' {
		f(e.value)
	}
	e.a.eachSymbol(f)
	e.b.eachSymbol(f)
}

// evaluate returns false if a symbol has no value, or the value is not defined.
func (e *expr) evaluate(v *values) (int64, bool) {
	switch e.op {
	case 'n':
		return e.value, true
	case 's':
		return v.value[e.value], v.known&(1<<e.value) != 0
	}
	a, ok1 := e.a.evaluate(v)
	b, ok2 := e.b.evaluate(v)
	if !ok1 || !ok2 {
		return 0, false
	}
	switch e.op {
	case '+':
		return a + b, true
	case '-':
		return a - b, true
	case '*':
		return a * b, true
	case '<':
		return min(a, b), true
	case '>':
		return max(a, b), true
	}
	if b <= 0 {
		return 0, false
	}
	r := (a%b + b) % b // rounds down, as the compiler does
	if e.op == '%' {
		return r, true
	}
	return (a - r) / b, true
}
