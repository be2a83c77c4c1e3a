// Package jsonpos reads JSON and reports where an error is: path, byte and line. It is stricter than encoding/json: a
// key must not be repeated in an object, and text must be valid UTF-8 with complete surrogate pairs. [Parse] returns a
// document as a tree. A [Reader] reads one part after another without building a tree, and without copying text that
// has no escapes.
package jsonpos

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is a class of errors.
type Kind int

// The kinds of errors.
const (
	Syntax    Kind = iota // not JSON
	Duplicate             // a key of an object is repeated
	TooDeep               // more objects and lists within one another than the limit
)

// Error is an error in a document, with its position.
type Error struct {
	Kind   Kind
	Path   string // of the value: "$.host.mcpu"
	Offset int    // in bytes
	Line   int    // from 1
	Msg    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: at byte %d (line %d): %s", e.Path, e.Offset, e.Line, e.Msg)
}

// ByteOrderMark is what some editors write before a text; JSON must not begin with it.
const ByteOrderMark = "\ufeff"

// Parse reads a document: map[string]any, []any, string, json.Number, bool or nil. Objects and lists are nested at most
// depth levels deep. An error is an *[Error].
func Parse(text string, depth int) (any, error) {
	r := NewReader(text, depth)
	r.CheckEncoding()
	v := r.Value()
	return v, r.End()
}

// Reader reads a text from its beginning. After the first error it reads nothing more: its methods return zero values,
// and [Reader.End] returns the error.
type Reader struct {
	// Number makes the value of a number for Value; nil: a json.Number.
	Number func(text string) (any, error)

	text     string
	at       int
	maxDepth int
	steps    []Step // from the document to the current value
	err      *Error
}

// Step is a member of an object, or an element of a list if Index >= 0.
type Step struct {
	Key   string
	Index int
}

// NewReader returns a reader of a text, in which objects and lists are nested at most depth levels deep.
func NewReader(text string, depth int) *Reader {
	return &Reader{text: text, maxDepth: depth, steps: make([]Step, 0, 8)}
}

// Member returns the path of a member of the object at a path.
func Member(path, key string) string {
	if len(key) > 60 {
		return path + "[" + strconv.Quote(strings.ToValidUTF8(key[:60], "")+"…") + "]"
	}
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return path + "[" + strconv.Quote(key) + "]"
		}
	}
	if key == "" || strings.Contains(key, ".") {
		return path + `["` + key + `"]`
	}
	return path + "." + key
}

// Element returns the path of an element of the list at a path.
func Element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Path returns the path of the value to which steps lead from a document. Of a long path it shows the beginning and
// the end.
func Path(steps []Step) string {
	const first, last = 20, 10
	path := "$"
	for i, s := range steps {
		switch n := len(steps); {
		case n > first+last+10 && i >= first && i < n-last:
			if i == first {
				path += "…"
			}
		case s.Index < 0:
			path = Member(path, s.Key)
		default:
			path = Element(path, s.Index)
		}
	}
	return path
}

// Find returns the offset of the value to which steps lead from a document, or of the closest enclosing value that
// exists, in bytes. It returns len(text) if the text has no value.
func Find(text string, steps []Step) int {
	r := NewReader(text, len(text))
	found := 0
	var walk func(steps []Step)
	walk = func(steps []Step) {
		open := r.next()
		found = r.at
		switch {
		case len(steps) == 0:
		case steps[0].Index < 0 && open == '{':
			r.Object(func(key string) {
				if key != steps[0].Key {
					r.Value()
					return
				}
				walk(steps[1:])
				r.Fail("found") // ends the search
			})
		case steps[0].Index >= 0 && open == '[':
			i := 0
			r.List(func() {
				if i != steps[0].Index {
					r.Value()
					i++
					return
				}
				walk(steps[1:])
				r.Fail("found")
			})
		}
	}
	walk(steps)
	return found
}

// Fail makes an error of the text at the current position, unless there is one already.
func (r *Reader) Fail(format string, args ...any) { r.fail(Syntax, r.at, format, args...) }

func (r *Reader) fail(kind Kind, at int, format string, args ...any) {
	if r.err == nil {
		line := 1 + strings.Count(r.text[:min(at, len(r.text))], "\n")
		r.err = &Error{kind, Path(r.steps), at, line, fmt.Sprintf(format, args...)}
	}
}

// unexpected fails because of the character at the current position.
func (r *Reader) unexpected(want string) {
	if r.at >= len(r.text) {
		r.Fail("the text ends early: want %s", want)
		return
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.at:])
	r.Fail("want %s, not %q", want, c)
}

// next skips white space and returns the byte after it; 0 at the end and after an error.
func (r *Reader) next() byte {
	for r.err == nil && r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// End returns the error of the reader; it is an error if text is left.
func (r *Reader) End() error {
	if r.next(); r.err == nil && r.at < len(r.text) {
		r.Fail("more text follows the end")
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

// enter begins an object or a list.
func (r *Reader) enter(open byte, want string) bool {
	if r.next() != open || r.err != nil {
		r.unexpected(want)
		return false
	}
	if len(r.steps) == r.maxDepth {
		r.fail(TooDeep, r.at, "more than %d levels", r.maxDepth)
		return false
	}
	r.at++
	return true
}

// Object calls member for each key of an object; member reads the value.
func (r *Reader) Object(member func(key string)) { r.object(member, nil) }

// object is Object; seen has the keys so far, if repeated keys are errors.
func (r *Reader) object(member func(key string), seen map[string]any) {
	if !r.enter('{', "an object") {
		return
	}
	if r.next() == '}' {
		r.at++
		return
	}
	depth := len(r.steps)
	for r.err == nil {
		if r.next() != '"' {
			r.unexpected("a key in quotes")
			return
		}
		start := r.at
		key := r.Text()
		if r.err != nil {
			return
		}
		r.steps = append(r.steps[:depth], Step{key, -1})
		if _, twice := seen[key]; twice {
			r.fail(Duplicate, start, "the key is repeated")
			return
		}
		if r.next() != ':' {
			r.unexpected("a colon")
			return
		}
		r.at++
		member(key)
		if r.err != nil {
			return
		}
		r.steps = r.steps[:depth]
		c := r.next()
		if c != ',' && c != '}' {
			r.unexpected("a comma or }")
			return
		}
		if r.at++; c == '}' {
			return
		}
	}
}

// List calls element for each element of a list; element reads it.
func (r *Reader) List(element func()) {
	if !r.enter('[', "a list") {
		return
	}
	depth := len(r.steps)
	r.steps = append(r.steps, Step{})
	if r.next() == ']' {
		r.at++
		r.steps = r.steps[:depth]
		return
	}
	for i := 0; r.err == nil; i++ {
		r.steps[depth].Index = i
		element()
		c := r.next()
		if c != ',' && c != ']' {
			r.unexpected("a comma or ]")
			return
		}
		if r.at++; c == ']' {
			r.steps = r.steps[:depth]
			return
		}
	}
}

// Raw skips an object or a list and returns its text. It checks only that brackets and quotes are closed.
func (r *Reader) Raw() string {
	if c := r.next(); r.err != nil || c != '{' && c != '[' {
		r.unexpected("an object or a list")
		return ""
	}
	start, depth := r.at, 0
	for r.err == nil && r.at < len(r.text) {
		switch r.text[r.at] {
		case '"':
			r.Text()
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
	r.Fail("the text ends early: a bracket is not closed")
	return ""
}

// Value reads any value: map[string]any, []any, string, the result of Number, bool or nil.
func (r *Reader) Value() any {
	switch c := r.next(); {
	case r.err != nil:
		return nil
	case c == '{':
		m := make(map[string]any, 8)
		r.object(func(key string) { m[key] = r.Value() }, m)
		return m
	case c == '[':
		list := []any{}
		r.List(func() { list = append(list, r.Value()) })
		return list
	case c == '"':
		return r.Text()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	return r.literal()
}

// literal reads true, false or null.
func (r *Reader) literal() any {
	for _, w := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if strings.HasPrefix(r.text[r.at:], w.text) {
			r.at += len(w.text)
			return w.value
		}
	}
	r.unexpected("a value")
	return nil
}

func (r *Reader) number() any {
	start := r.at
	text := r.numeral()
	if r.err != nil || r.Number == nil {
		return json.Number(text)
	}
	v, err := r.Number(text)
	if err != nil {
		r.fail(Syntax, start, "%v", err)
	}
	return v
}

// numeral skips a number and returns its text.
func (r *Reader) numeral() string {
	start := r.at
	r.has("-")
	if !r.has("0") {
		r.digits()
	}
	if r.has(".") {
		r.digits()
	}
	if r.has("eE") {
		r.has("+-")
		r.digits()
	}
	return r.text[start:r.at]
}

// digits skips at least one digit.
func (r *Reader) digits() {
	start := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	if r.at == start {
		r.unexpected("a digit")
	}
}

// has skips a byte if it is one of some.
func (r *Reader) has(bytes string) bool {
	if r.err == nil && r.at < len(r.text) && strings.IndexByte(bytes, r.text[r.at]) >= 0 {
		r.at++
		return true
	}
	return false
}
