package target

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is the number of levels that a target may have: objects and lists in JSON, maps and slices in Go.
const MaxDepth = 32

// MaxText is the number of bytes that the text of a target may have: far more than a target takes, and little enough that reading what is no
// target ends soon.
const MaxText = 1 << 20

const byteOrderMark = "\ufeff" // what some editors write before a text

// child is the JSON path of a member.
func child(path, key string) string {
	if len(key) > 60 {
		return path + "[" + brief(key) + "]"
	}
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return path + "[" + brief(key) + "]"
		}
	}
	if key == "" || strings.Contains(key, ".") {
		return path + `["` + key + `"]`
	}
	return path + "." + key
}

func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// readJSON reads one object; its numbers stay json.Number. Stricter than encoding/json: keys stand once, text is whole characters.
func readJSON(text string) (map[string]any, error) {
	r := jsonReader{text: text}
	if !utf8.ValidString(text) {
		for r.at < len(text) {
			c, n := utf8.DecodeRuneInString(text[r.at:])
			if c == utf8.RuneError && n == 1 {
				break
			}
			r.at += n
		}
		return nil, r.wrong("the text is not valid UTF-8")
	}
	if strings.HasPrefix(text, byteOrderMark) {
		return nil, r.wrong("the text starts with a byte order mark: save it as UTF-8 without one")
	}
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	if r.space(); r.at < len(text) {
		return nil, r.wrong("more text follows the end of the target")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{Path: "$", Err: ErrType, Expected: "an object", Found: describe(v)}
	}
	return m, nil
}

// jsonReader keeps the place where it reads; the path is put together only for an error.
type jsonReader struct {
	text  string
	at    int
	depth int
	steps [MaxDepth]pathStep
}

// pathStep is a member of an object, or an element of a list if index >= 0.
type pathStep struct {
	key   string
	index int
}

func (r *jsonReader) path() string {
	path := "$"
	for _, s := range r.steps[:r.depth] {
		if s.index < 0 {
			path = child(path, s.key)
		} else {
			path = element(path, s.index)
		}
	}
	return path
}

func (r *jsonReader) wrong(format string, args ...any) error {
	line := 1 + strings.Count(r.text[:min(r.at, len(r.text))], "\n")
	return wrong(r.path(), ErrSyntax, "not JSON: at byte %d (line %d): %s", r.at, line, fmt.Sprintf(format, args...))
}

// unexpected is the error for what stands at the place.
func (r *jsonReader) unexpected(want string) error {
	if r.at >= len(r.text) {
		return r.wrong("the text ends early: want %s", want)
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.at:])
	return r.wrong("want %s, not %q", want, c)
}

func (r *jsonReader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next is the next byte that is no white space; 0 at the end.
func (r *jsonReader) next() byte {
	r.space()
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *jsonReader) value() (any, error) {
	switch c := r.next(); {
	case c == '{' || c == '[':
		if r.depth == MaxDepth {
			return nil, tooDeep(r.path())
		}
		r.at++
		r.depth++
		if c == '{' {
			return r.object()
		}
		return r.list()
	case c == '"':
		return r.string()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for _, w := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if strings.HasPrefix(r.text[r.at:], w.text) {
			r.at += len(w.text)
			return w.value, nil
		}
	}
	return nil, r.unexpected("a value")
}

func (r *jsonReader) list() (any, error) {
	list := []any{}
	if r.steps[r.depth-1] = (pathStep{index: 0}); r.next() == ']' {
		r.at++
		r.depth--
		return list, nil
	}
	for {
		r.steps[r.depth-1].index = len(list)
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		c := r.next()
		if c != ',' && c != ']' {
			return nil, r.unexpected("a comma or ]")
		}
		if r.at++; c == ']' {
			r.depth--
			return list, nil
		}
	}
}

func (r *jsonReader) object() (any, error) {
	m := make(map[string]any, 8)
	depth := r.depth
	r.depth-- // an error before the first key is one of the object's own
	if r.next() == '}' {
		r.at++
		return m, nil
	}
	for {
		if r.next() != '"' {
			return nil, r.unexpected("a key in quotes")
		}
		start := r.at
		key, err := r.string()
		if err != nil {
			return nil, err
		}
		r.depth = depth
		r.steps[depth-1] = pathStep{key: key, index: -1}
		if _, twice := m[key]; twice {
			line := 1 + strings.Count(r.text[:start], "\n")
			return nil, wrong(r.path(), ErrDuplicate, "at byte %d (line %d): the key stands there twice", start, line)
		}
		if r.next() != ':' {
			return nil, r.unexpected("a colon")
		}
		r.at++
		if m[key], err = r.value(); err != nil {
			return nil, err
		}
		r.depth--
		c := r.next()
		if c != ',' && c != '}' {
			return nil, r.unexpected("a comma or }")
		}
		if r.at++; c == '}' {
			return m, nil
		}
	}
}

// digits passes over at least one.
func (r *jsonReader) digits() error {
	start := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	if r.at == start {
		return r.unexpected("a digit")
	}
	return nil
}

// has passes over one of some bytes.
func (r *jsonReader) has(bytes string) bool {
	if r.at < len(r.text) && strings.IndexByte(bytes, r.text[r.at]) >= 0 {
		r.at++
		return true
	}
	return false
}

func (r *jsonReader) number() (any, error) {
	start := r.at
	r.has("-")
	if !r.has("0") {
		if err := r.digits(); err != nil {
			return nil, err
		}
	}
	if r.has(".") {
		if err := r.digits(); err != nil {
			return nil, err
		}
	}
	if r.has("eE") {
		r.has("+-")
		if err := r.digits(); err != nil {
			return nil, err
		}
	}
	return json.Number(r.text[start:r.at]), nil
}

// string reads text in quotes.
func (r *jsonReader) string() (string, error) {
	r.at++
	start := r.at
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.text[start : r.at-1], nil
		case c == '\\':
			return r.escaped(start)
		case c < ' ':
			return "", r.wrong("a control character in text: write \\u%04x", c)
		}
	}
	return "", r.wrong("the text ends early: a \" is not closed")
}

// escaped reads on from the first escape of a text.
func (r *jsonReader) escaped(start int) (string, error) {
	b := []byte(r.text[start:r.at])
	for r.at < len(r.text) {
		c := r.text[r.at]
		switch {
		case c == '"':
			r.at++
			return string(b), nil
		case c < ' ':
			return "", r.wrong("a control character in text: write \\u%04x", c)
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
		char, err := r.unicode()
		if err != nil {
			return "", err
		}
		b = utf8.AppendRune(b, char)
	}
	return "", r.wrong("the text ends early: a \" is not closed")
}

// unicode reads \uXXXX, or the two of a surrogate pair.
func (r *jsonReader) unicode() (rune, error) {
	first, ok := r.hex(r.at)
	switch {
	case !ok:
		return 0, r.wrong(`no such escape: want one of \" \\ \/ \b \f \n \r \t, or \u and four hexadecimal digits`)
	case !utf16.IsSurrogate(first):
		r.at += 6
		return first, nil
	}
	second, _ := r.hex(r.at + 6)
	char := utf16.DecodeRune(first, second)
	if char == utf8.RuneError {
		return 0, r.wrong("half of a surrogate pair")
	}
	r.at += 12
	return char, nil
}

func (r *jsonReader) hex(at int) (rune, bool) {
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

func tooDeep(path string) error {
	if len(path) > 80 {
		path = path[:80] + "…"
	}
	return wrong(path, ErrTooDeep, "more than %d levels, or something that holds itself", MaxDepth)
}
