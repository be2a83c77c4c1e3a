package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tvmgo/tir/internal/form"
)

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // a name, a type or a keyword
	tokenName             // $"any name": text is the name without quotes
	tokenNumber           // 12, 0x1f, 1.5, 1e-3
	tokenText             // "text": text is the content without quotes
	tokenSign             // an operator or a bracket
	tokenBad              // an error, whose message is text
)

// token is a word, sign or literal, with its position.
type token struct {
	kind tokenKind
	text string
	at   int
}

// signs are the operators and brackets; those that are a prefix of others come after them.
var signs = []string{
	"&&", "||", "==", "!=", "<=", ">=", "->",
	"(", ")", "[", "]", "{", "}", ",", ":", ";", "=", "+", "-", "*", "/", "%", "<", ">", "!",
}

// lex splits a text into tokens. The last one is tokenEnd, or the first tokenBad.
func lex(src string) []token {
	var all []token
	for at := 0; ; {
		at += blank(src[at:])
		if at == len(src) {
			return append(all, token{tokenEnd, "", at})
		}
		t, n := lexOne(src[at:])
		t.at = at
		all = append(all, t)
		if t.kind == tokenBad {
			return all
		}
		at += n
	}
}

// blank returns the number of bytes of white space and comments at the beginning of s.
func blank(s string) int {
	at := 0
	for at < len(s) {
		switch {
		case s[at] == ' ' || s[at] == '\t' || s[at] == '\n' || s[at] == '\r':
			at++
		case s[at] == '#' || strings.HasPrefix(s[at:], "//"):
			end := strings.IndexByte(s[at:], '\n')
			if end < 0 {
				return len(s)
			}
			at += end
		default:
			return at
		}
	}
	return at
}

// lexOne returns the token at the beginning of s, and its length.
func lexOne(s string) (token, int) {
	c := s[0]
	switch {
	case isLetter(c):
		n := wordLength(s)
		return token{kind: tokenWord, text: s[:n]}, n
	case isDigit(c):
		n := numberLength(s)
		return token{kind: tokenNumber, text: s[:n]}, n
	case c == '"':
		return lexText(s, tokenText, 0)
	case c == '$':
		return lexText(s, tokenName, 1)
	}
	for _, sign := range signs {
		if strings.HasPrefix(s, sign) {
			return token{kind: tokenSign, text: sign}, len(sign)
		}
	}
	r, _ := utf8.DecodeRuneInString(s)
	return badToken("unexpected character %q: a name with such characters is written $\"…\"", r), 0
}

func badToken(format string, args ...any) token {
	return token{kind: tokenBad, text: fmt.Sprintf(format, args...)}
}

// lexText reads text in quotes that begins at offset start.
func lexText(s string, kind tokenKind, start int) (token, int) {
	if start >= len(s) || s[start] != '"' {
		return badToken("want a name in quotes after $: $\"name\""), 0
	}
	for i := start + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			return badToken("text has no closing quote on its line: write \\n for a new line"), 0
		case '"':
			text, err := strconv.Unquote(s[start : i+1])
			if err != nil {
				return badToken("text %s has an unknown escape: want one of \\n \\t \\\" \\\\ \\xff \\u00e9",
					form.Clip(s[start:i+1])), 0
			}
			return token{kind: kind, text: text}, i + 1
		}
	}
	return badToken("text has no closing quote"), 0
}

// numberLength returns the length of the number at the beginning of s. Errors in it are reported when it is converted.
func numberLength(s string) int {
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		n := 2
		for n < len(s) && (isDigit(s[n]) || isLetter(s[n])) {
			n++
		}
		return n
	}
	digits := func(n int) int {
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		return n
	}
	n := digits(0)
	if n < len(s) && s[n] == '.' {
		n = digits(n + 1)
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		n = digits(n)
	}
	for n < len(s) && isLetter(s[n]) { // 12abc is one invalid number, not a number and a name
		n++
	}
	return n
}
