package tagdata

import (
	"fmt"
	"strconv"
	"strings"
)

// reader reads the JSON of the data: objects, lists, true, false, integers, and texts without escapes. encoding/json reads the
// same in several times the time, and the first use of a target would feel it. What it finds is part of the text, not a copy.
type reader struct {
	text string
	at   int
	err  error // the first one; after it nothing more is read
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		line := 1 + strings.Count(r.text[:r.at], "\n")
		r.err = fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
	}
}

// next skips white space and returns the byte after it, 0 at the end or after an error.
func (r *reader) next() byte {
	for r.err == nil && r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *reader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) expect(c byte) {
	if !r.take(c) {
		r.fail("a %q is missing", c)
	}
}

// object calls member for each key; member reads the value.
func (r *reader) object(member func(key string)) {
	r.expect('{')
	if r.take('}') {
		return
	}
	for more := true; more && r.err == nil; more = r.take(',') {
		key := r.string()
		r.expect(':')
		if r.err == nil {
			member(key)
		}
	}
	r.expect('}')
}

func (r *reader) list(element func()) {
	r.expect('[')
	if r.take(']') {
		return
	}
	for more := true; more && r.err == nil; more = r.take(',') {
		element()
	}
	r.expect(']')
}

func (r *reader) string() string {
	r.expect('"')
	if r.err != nil {
		return ""
	}
	start := r.at
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.text[start : r.at-1]
		case c == '\\' || c < ' ':
			r.fail("a text has an escape or a control character")
			return ""
		}
	}
	r.fail("a text does not end")
	return ""
}

func (r *reader) strings() []string {
	var all []string
	r.list(func() { all = append(all, r.string()) })
	return all
}

// rawObject skips an object and returns its text. Whether that is sound shows when it is read.
func (r *reader) rawObject() string {
	if r.next() != '{' {
		r.fail("a '{' is missing")
	}
	start, depth := r.at, 0
	for r.err == nil && r.at < len(r.text) {
		switch r.text[r.at] {
		case '"':
			r.string()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				r.at++
				return r.text[start:r.at]
			}
		}
		r.at++
	}
	r.fail("an object does not end")
	return ""
}

// value reads anything: numbers as int64, lists as []any, objects as map[string]any.
func (r *reader) value() any {
	switch c := r.next(); {
	case c == '{':
		m := make(map[string]any, 8)
		r.object(func(key string) {
			if _, twice := m[key]; twice {
				r.fail("the key %q is there twice", key)
			}
			m[key] = r.value()
		})
		return m
	case c == '[':
		all := []any{}
		r.list(func() { all = append(all, r.value()) })
		return all
	case c == '"':
		return r.string()
	}
	start := r.at
	for r.at < len(r.text) && strings.IndexByte(" \n\r\t,]}", r.text[r.at]) < 0 {
		r.at++
	}
	word := r.text[start:r.at]
	if word == "true" || word == "false" {
		return word == "true"
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != word { // +1 and 01 are no JSON
		r.fail("%q is no text, list, object, truth value or integer of 64 bits", word)
	}
	return n
}

// end is called when all should have been read.
func (r *reader) end() error {
	if r.next() != 0 {
		r.fail("something follows the end")
	}
	return r.err
}
