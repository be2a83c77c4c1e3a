package text

import (
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

func startsNumber(t token) bool {
	return t.kind == tokenNumber || t.isWord("inf") || t.isWord("nan")
}

// number reads a number, inf or nan, with its sign. If the bits of a NaN are given, they are returned as a float.
func (p *parser) number(t token) (text string, bits float64, isNaN bool) {
	sign := ""
	if p.skip("-") {
		sign = "-"
	}
	n := p.next()
	if !startsNumber(n) {
		p.fail(n, "found %s, want a number", n)
	}
	if n.text != "nan" {
		return sign + n.text, 0, false
	}
	if sign != "" {
		p.fail(t, "nan has no sign: write its bits, as in nan(0xfff8000000000000)")
	}
	if !p.skip("(") {
		return "nan", 0, false
	}
	hex := p.next()
	digits, isHex := strings.CutPrefix(hex.text, "0x")
	bits, isNaN = form.NaN(digits)
	if hex.kind != tokenNumber || !isHex || !isNaN {
		p.fail(hex, "found %s, want the 64 bits of a NaN, as in nan(0x7ff8000000000001)", hex)
	}
	p.want(")", "after the bits of a NaN")
	return "nan", bits, true
}

// isWholeNumber reports whether the text of a number is that of an integer.
func isWholeNumber(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits[0] != 'i' && digits[0] != 'n' && (strings.HasPrefix(digits, "0x") || !strings.ContainsAny(digits, ".eE"))
}

// constant reads a constant without an explicit type.
func (p *parser) constant(t token) parsed {
	text, bits, isNaN := p.number(t)
	if isNaN {
		return p.node(t, &tir.FloatImm{Type: tir.Float32, Value: bits}, nil)
	}
	if isWholeNumber(text) {
		e, err := form.Const(tir.Int32, text)
		if err != nil {
			if _, long := form.Const(tir.Int64, text); long == nil {
				p.fail(t, "%s is out of range for int32: write int64(%s)", text, text)
			}
		}
		return p.node(t, e, err)
	}
	v, err := form.ReadFloat(text, 32)
	return p.node(t, &tir.FloatImm{Type: tir.Float32, Value: v}, err)
}

// typedConstant reads a number in parentheses after its type has been read.
func (p *parser) typedConstant(at token, t tir.Type) parsed {
	text, bits, isNaN := p.number(at)
	p.want(")", "after a constant")
	if isNaN {
		e, err := form.Float(t, bits)
		return p.node(at, e, err)
	}
	e, err := form.Const(t, text)
	return p.node(at, e, err)
}
