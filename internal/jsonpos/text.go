package jsonpos

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads text in quotes. Without escapes it is a part of the reader's text, not a copy.
func (r *Reader) Text() string {
	if r.next() != '"' || r.err != nil {
		r.unexpected("text in quotes")
		return ""
	}
	r.at++
	start := r.at
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.text[start : r.at-1]
		case c == '\\':
			return r.escaped(start)
		case c < ' ':
			r.Fail("a control character in text: write \\u%04x", c)
			return ""
		}
	}
	r.Fail("the text ends early: a \" is not closed")
	return ""
}

// escaped continues Text at the first escape.
func (r *Reader) escaped(start int) string {
	b := []byte(r.text[start:r.at])
	for r.at < len(r.text) {
		c := r.text[r.at]
		switch {
		case c == '"':
			r.at++
			return string(b)
		case c < ' ':
			r.Fail("a control character in text: write \\u%04x", c)
			return ""
		case c != '\\':
			b = append(b, c)
			r.at++
			continue
		}
		if r.at+1 == len(r.text) {
			break
		}
		i := strings.IndexByte(`"\/bfnrt`, r.text[r.at+1])
		if i >= 0 {
			b = append(b, "\"\\/\b\f\n\r\t"[i])
			r.at += 2
			continue
		}
		char, ok := r.unicode()
		if !ok {
			return ""
		}
		b = utf8.AppendRune(b, char)
	}
	r.Fail("the text ends early: a \" is not closed")
	return ""
}

// unicode reads \uXXXX, or both escapes of a surrogate pair.
func (r *Reader) unicode() (char rune, ok bool) {
	first, ok := r.hex(r.at)
	switch {
	case !ok:
		r.Fail(`no such escape: want one of \" \\ \/ \b \f \n \r \t, or \u and four hexadecimal digits`)
		return 0, false
	case !utf16.IsSurrogate(first):
		r.at += 6
		return first, true
	}
	second, _ := r.hex(r.at + 6)
	char = utf16.DecodeRune(first, second)
	if char == utf8.RuneError {
		r.Fail("half of a surrogate pair")
		return 0, false
	}
	r.at += 12
	return char, true
}

func (r *Reader) hex(at int) (rune, bool) {
	if at+6 > len(r.text) || r.text[at] != '\\' || r.text[at+1] != 'u' {
		return 0, false
	}
	n := rune(0)
	for _, c := range []byte(r.text[at+2 : at+6]) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
