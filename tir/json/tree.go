package json

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// maxJSONDepth is the maximum nesting of lists and objects.
const maxJSONDepth = 10_000

// Error is an error in a module's JSON. Path is the faulty value: "$.funcs[0].body". Offset is its position in bytes,
// or that of the closest enclosing value if it is missing.
type Error struct {
	Path   string
	Offset int
	Msg    string
}

// Error returns the path and the message.
func (e *Error) Error() string { return "tir: read JSON: " + e.Path + ": " + e.Msg }

// parse reads the text of a module: objects, lists, texts, json.Number, bool and nil.
func parse(text string) (any, *Error) {
	tree, err := jsonpos.Parse(text, maxJSONDepth)
	if e, is := err.(*jsonpos.Error); is {
		msg := e.Msg
		switch e.Kind {
		case jsonpos.Duplicate:
			msg = "the field occurs twice"
		case jsonpos.TooDeep:
			msg = fmt.Sprintf("lists and objects are nested more than %d deep", maxJSONDepth)
		}
		return nil, &Error{e.Path, e.Offset, msg}
	}
	return tree, nil
}

// position locates a value in a JSON document; nil is the whole document.
type position struct {
	up   *position
	step jsonpos.Step
}

func (p *position) member(key string) *position {
	return &position{p, jsonpos.Step{Key: key, Index: -1}}
}
func (p *position) element(i int) *position { return &position{p, jsonpos.Step{Index: i}} }

// failure is the panic that ends the reading of a document.
type failure struct {
	at  *position
	msg string
}

func failJSON(at *position, format string, args ...any) {
	panic(failure{at, fmt.Sprintf(format, args...)})
}

// in returns the error for a failure in a text.
func (f failure) in(text string) *Error {
	var steps []jsonpos.Step
	for p := f.at; p != nil; p = p.up {
		steps = append(steps, p.step)
	}
	slices.Reverse(steps)
	return &Error{jsonpos.Path(steps), jsonpos.Find(text, steps), f.msg}
}

// object is an object whose fields are read one by one.
type object struct {
	at     *position
	fields map[string]any
	asked  map[string]bool
}

func (r *reader) object(at *position, v any) *object {
	fields, ok := v.(map[string]any)
	if !ok {
		failJSON(at, "found %s, want an object", sortOf(v))
	}
	return &object{at, fields, map[string]bool{}}
}

// sortOf describes a JSON value in words.
func sortOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "number " + form.Clip(v.String())
	case string:
		return "text " + strconv.Quote(form.Clip(v))
	case []any:
		return "a list"
	}
	return "an object"
}

// has reports whether the object has a field.
func (o *object) has(name string) bool {
	o.asked[name] = true
	_, ok := o.fields[name]
	return ok
}

// get returns a required field and its position.
func (o *object) get(name string) (any, *position) {
	if !o.has(name) {
		failJSON(o.at, "field %q is missing", name)
	}
	return o.fields[name], o.at.member(name)
}

// done fails if the object has a field that has not been read.
func (o *object) done() {
	for _, k := range slices.Sorted(maps.Keys(o.fields)) {
		if !o.asked[k] {
			failJSON(o.at.member(k), "unknown field: want one of %q", slices.Sorted(maps.Keys(o.asked)))
		}
	}
}

func (o *object) text(name string) string {
	v, at := o.get(name)
	return jsonText(v, at)
}

// optional returns a field's text, "" if the object does not have the field.
func (o *object) optional(name string) string {
	if !o.has(name) {
		return ""
	}
	return o.text(name)
}

func jsonText(v any, at *position) string {
	if fields, ok := v.(map[string]any); ok && len(fields) == 1 {
		if s, ok := fields["base64"].(string); ok {
			b, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				failJSON(at, "%v", err)
			}
			return string(b)
		}
	}
	s, ok := v.(string)
	if !ok {
		failJSON(at, "found %s, want text", sortOf(v))
	}
	return s
}

func (o *object) list(name string) ([]any, *position) {
	v, at := o.get(name)
	list, ok := v.([]any)
	if !ok {
		failJSON(at, "found %s, want a list", sortOf(v))
	}
	return list, at
}

func (o *object) typ(name string) tir.Type {
	v, at := o.get(name)
	s, _ := v.(string)
	if s == "" {
		failJSON(at, "found %s, want the name of a type", sortOf(v))
	}
	t, err := dlpack.ParseDataType(s)
	if err == nil {
		err = tir.CheckType(t)
	}
	if err != nil {
		failJSON(at, "%v", err)
	}
	return t
}

// whole returns an integer field, which must be between least and greatest.
func (o *object) whole(name string, least, greatest int) int {
	v, at := o.get(name)
	return wholeOf(v, at, least, greatest)
}

func wholeOf(v any, at *position, least, greatest int) int {
	n, _ := v.(json.Number)
	i, err := strconv.Atoi(n.String())
	if err != nil || i < least || i > greatest {
		failJSON(at, "found %s, want an integer from %d to %d", sortOf(v), least, greatest)
	}
	return i
}

// float returns a float field, which can be a text for values that JSON numbers cannot express.
func (o *object) float(name string) float64 {
	v, at := o.get(name)
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			failJSON(at, "%s is too large for a 64-bit float", form.Clip(v.String()))
		}
		return f
	case string:
		if hex, ok := strings.CutPrefix(v, "nan:0x"); ok {
			if f, ok := form.NaN(hex); ok {
				return f
			}
		} else if v == "inf" || v == "-inf" || v == "nan" {
			f, _ := form.ReadFloat(v, 64)
			return f
		}
	}
	failJSON(at, "found %s, want a number, \"inf\", \"-inf\", \"nan\", or \"nan:0x…\" with the bits", sortOf(v))
	return 0
}
