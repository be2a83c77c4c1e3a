package graph

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// fail ends parsing with an error at an offset.
func (p *parser) fail(at int, err error) {
	before := p.src[:min(at, len(p.src))]
	panic(&ParseError{strings.Count(before, "\n") + 1,
		utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1, err})
}

func (p *parser) failf(at int, format string, args ...any) { p.fail(at, fmt.Errorf(format, args...)) }

// blank skips white space and comments; lines also skips ends of lines.
func (p *parser) blank(lines bool) {
	for ; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
		case c == '#':
			end := strings.IndexByte(p.src[p.at:], '\n')
			if end < 0 {
				p.at = len(p.src)
				return
			}
			p.at += end - 1
		default:
			return
		}
	}
}

// found describes what is at the current position.
func (p *parser) found() string {
	rest := p.src[p.at:]
	switch n := plainLength(rest); {
	case rest == "":
		return "the end of the text"
	case rest[0] == '\n':
		return "the end of the line"
	case n > 0:
		return strconv.Quote(clip(rest[:n]))
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return strconv.Quote(string(r))
}

// skip consumes a sign, if it is the next one.
func (p *parser) skip(sign byte) bool {
	p.blank(false)
	if p.at < len(p.src) && p.src[p.at] == sign {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(sign byte, where string) {
	if !p.skip(sign) {
		p.failf(p.at, "found %s, want %q %s", p.found(), sign, where)
	}
}

// peekWord returns the word without quotes at the current position, or "".
func (p *parser) peekWord() string {
	p.blank(false)
	return p.src[p.at : p.at+plainLength(p.src[p.at:])]
}

func (p *parser) skipWord(word string) bool {
	if p.peekWord() != word {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) word(word string) {
	if !p.skipWord(word) {
		p.failf(p.at, "found %s, want %q", p.found(), word)
	}
}

// quotedText reads a string in quotes.
func (p *parser) quotedText() string {
	prefix, err := strconv.QuotedPrefix(p.src[p.at:])
	if err != nil {
		p.failf(p.at, "the string has no closing quote on its line, or an unknown escape")
	}
	s, err := strconv.Unquote(prefix)
	if err != nil {
		p.fail(p.at, err)
	}
	p.at += len(prefix)
	return s
}

// name reads a name.
func (p *parser) name(of string) string {
	word := p.peekWord()
	switch {
	case strings.HasPrefix(p.src[p.at:], `"`):
		return p.quotedText()
	case keywords[word]:
		p.failf(p.at, "found %q, which is a word of the syntax, want the name of %s: write it in quotes", word, of)
	case word == "":
		p.failf(p.at, "found %s, want the name of %s", p.found(), of)
	}
	p.at += len(word)
	return word
}

// list reads what is separated by commas up to a closing sign.
func (p *parser) list(end byte, where string, each func()) {
	for p.blank(true); !p.skip(end); p.blank(true) {
		each()
		if p.blank(true); p.at < len(p.src) && p.src[p.at] == end {
			continue
		}
		p.want(',', fmt.Sprintf("or %q %s", end, where))
	}
}

// typ reads the name of a type.
func (p *parser) typ() tir.Type {
	word := p.peekWord()
	t, err := dlpack.ParseDataType(word)
	if err == nil {
		err = tir.CheckType(t)
	}
	if err != nil || word == "" {
		p.failf(p.at, "found %s, want a type, such as float32", p.found())
	}
	p.at += len(word)
	return t
}

func (p *parser) lineEnd() {
	if p.blank(false); p.at < len(p.src) && p.src[p.at] != '\n' {
		p.failf(p.at, "found %s, want the end of the line", p.found())
	}
}

// number reads the letters, digits and signs of a number.
func (p *parser) number(of string) string {
	p.blank(false)
	n := 0
	for p.at+n < len(p.src) {
		if p.src[p.at+n] == '+' {
			n++
			continue
		}
		more := plainLength(p.src[p.at+n:])
		if more == 0 {
			break
		}
		n += more
	}
	if n == 0 {
		p.failf(p.at, "found %s, want %s", p.found(), of)
	}
	word := p.src[p.at : p.at+n]
	p.at += n
	return word
}

// value reads the value of an attribute.
func (p *parser) value(lists bool) any {
	p.blank(false)
	switch {
	case strings.HasPrefix(p.src[p.at:], `"`):
		return p.quotedText()
	case lists && p.skip('['):
		list := []any{}
		p.list(']', "after an element", func() { list = append(list, p.value(false)) })
		return list
	case p.skipWord("none"):
		return nil
	}
	at := p.at
	word := p.number("the value of an attribute")
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(word, 64); err == nil {
		return x
	}
	if word == "true" || word == "false" {
		return word == "true"
	}
	p.at = at
	return p.typ()
}
