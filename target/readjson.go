package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the number of levels that a target may have: objects and lists in JSON, maps and slices in Go.
const MaxDepth = 32

// child is the JSON path of a member.
func child(path, key string) string {
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

// readJSON reads one object; its numbers stay json.Number.
func readJSON(text []byte) (map[string]any, error) {
	if !utf8.Valid(text) {
		return nil, &Error{Path: "$", Err: ErrSyntax, Message: "the JSON is not valid UTF-8"}
	}
	r := jsonReader{d: json.NewDecoder(bytes.NewReader(text)), text: text}
	r.d.UseNumber()
	v, err := r.value("$", 0)
	if err != nil {
		return nil, err
	}
	if _, err := r.d.Token(); err != io.EOF {
		return nil, r.syntax("$", errors.New("more text follows the end of the target"))
	}
	if at := loneSurrogate(text); at >= 0 {
		return nil, wrong("$", ErrSyntax, "not JSON: at byte %d: half of a surrogate pair", at)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{Path: "$", Err: ErrType, Expected: "an object", Found: describe(v)}
	}
	return m, nil
}

type jsonReader struct {
	d    *json.Decoder
	text []byte
}

func (r *jsonReader) syntax(path string, err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends early")
	}
	at := r.d.InputOffset()
	var s *json.SyntaxError
	if errors.As(err, &s) {
		at = s.Offset
	}
	line := 1 + bytes.Count(r.text[:min(at, int64(len(r.text)))], []byte("\n"))
	return wrong(path, ErrSyntax, "not JSON: at byte %d (line %d): %s", at, line, strings.TrimPrefix(err.Error(), "json: "))
}

func (r *jsonReader) value(path string, depth int) (any, error) {
	t, err := r.d.Token()
	if err != nil {
		return nil, r.syntax(path, err)
	}
	open, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth == MaxDepth {
		return nil, tooDeep(path)
	}
	if open == '[' {
		list := []any{}
		for r.d.More() {
			v, err := r.value(element(path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		if _, err := r.d.Token(); err != nil {
			return nil, r.syntax(path, err)
		}
		return list, nil
	}
	m := map[string]any{}
	for r.d.More() {
		t, err := r.d.Token()
		if err != nil {
			return nil, r.syntax(path, err)
		}
		key, ok := t.(string)
		if !ok {
			return nil, r.syntax(path, fmt.Errorf("a key must be text, not %v", t))
		}
		at := child(path, key)
		if _, twice := m[key]; twice {
			return nil, wrong(at, ErrDuplicate, "the key stands there twice")
		}
		if m[key], err = r.value(at, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := r.d.Token(); err != nil {
		return nil, r.syntax(path, err)
	}
	return m, nil
}

func tooDeep(path string) error {
	if len(path) > 80 {
		path = path[:80] + "…"
	}
	return wrong(path, ErrTooDeep, "more than %d levels, or something that holds itself", MaxDepth)
}

// loneSurrogate finds a \u escape that stands for half a character; Go's reader would replace it. -1: there is none.
func loneSurrogate(text []byte) int {
	half := func(i int) int { // 1: the first half, 2: the second
		if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
		switch {
		case err != nil || n < 0xd800 || n > 0xdfff:
			return 0
		case n < 0xdc00:
			return 1
		}
		return 2
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch half(i) {
		case 1:
			if half(i+6) != 2 {
				return i
			}
			i += 11
		case 2:
			return i
		default:
			i++ // what is escaped
		}
	}
	return -1
}
