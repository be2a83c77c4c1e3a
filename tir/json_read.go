package tir

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/target"
)

// maxJSONDepth is how deep lists and objects may be within one another; encoding/json takes no more either.
const maxJSONDepth = 10_000

// UnmarshalJSON reads what [IRModule.MarshalJSON] writes, in any order of fields. A field that is missing, or means nothing, is an error, which
// says where it is. The module stays what it was if there is one.
func (m *IRModule) UnmarshalJSON(data []byte) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *jsonError:
			err = e
		default:
			panic(e)
		}
	}()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	tree := readTree(d, nil, 0)
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		failJSON(nil, "something follows the module")
	}
	r := &jsonReader{}
	read := r.module(r.object(nil, tree))
	*m = *read
	return nil
}

// jsonError is what is wrong, and where.
type jsonError struct{ path, msg string }

func (e *jsonError) Error() string { return "tir: read JSON: " + e.path + ": " + e.msg }

// place is where in a JSON document something is; nil is the whole.
type place struct {
	up    *place
	key   string // of a field; "" in lists
	index int
}

func (p *place) String() string {
	var parts []string
	for ; p != nil; p = p.up {
		part := "[" + strconv.Itoa(p.index) + "]"
		if p.key != "" {
			part = "." + p.key
		}
		parts = append(parts, part)
	}
	slices.Reverse(parts)
	if n := len(parts); n > 40 { // deep within: where it begins, and where it ends
		parts = append(append(parts[:20:20], "…"), parts[n-10:]...)
	}
	return "$" + strings.Join(parts, "")
}

func failJSON(at *place, format string, args ...any) {
	panic(&jsonError{at.String(), fmt.Sprintf(format, args...)})
}

// readTree reads one value: map[string]any, []any, string, json.Number, bool or nil. No key may be there twice.
func readTree(d *json.Decoder, at *place, depth int) any {
	if depth > maxJSONDepth {
		failJSON(at, "more than %d lists and objects are within one another", maxJSONDepth)
	}
	t, err := d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		failJSON(at, "%v", err)
	}
	switch t {
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				failJSON(at, "%v", err)
			}
			key := k.(string) // Token gives no other key
			below := &place{up: at, key: key}
			if _, twice := object[key]; twice {
				failJSON(below, "the field is there twice")
			}
			object[key] = readTree(d, below, depth+1)
		}
		closeTree(d, at)
		return object
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, readTree(d, &place{up: at, index: len(list)}, depth+1))
		}
		closeTree(d, at)
		return list
	}
	return t
}

func closeTree(d *json.Decoder, at *place) {
	if _, err := d.Token(); err != nil {
		failJSON(at, "%v", err)
	}
}

// jsonReader makes nodes.
type jsonReader struct {
	vars    []*Var
	buffers []*Buffer
}

// object is an object whose fields are read one by one.
type object struct {
	at     *place
	fields map[string]any
	asked  map[string]bool
}

func (r *jsonReader) object(at *place, v any) *object {
	fields, ok := v.(map[string]any)
	if !ok {
		failJSON(at, "found %s, want an object", sortOf(v))
	}
	return &object{at, fields, map[string]bool{}}
}

// sortOf is what a JSON value is, in words.
func sortOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "number " + clip(v.String())
	case string:
		return "text " + strconv.Quote(clip(v))
	case []any:
		return "a list"
	}
	return "an object"
}

// has says whether there is a field.
func (o *object) has(name string) bool {
	o.asked[name] = true
	_, ok := o.fields[name]
	return ok
}

// get is a field that must be there, and its place.
func (o *object) get(name string) (any, *place) {
	if !o.has(name) {
		failJSON(o.at, "field %q is missing", name)
	}
	return o.fields[name], &place{up: o.at, key: name}
}

// done says that all fields have been asked for that the object may have.
func (o *object) done() {
	for _, k := range slices.Sorted(maps.Keys(o.fields)) {
		if !o.asked[k] {
			failJSON(&place{up: o.at, key: k}, "the field means nothing here; known are %q", slices.Sorted(maps.Keys(o.asked)))
		}
	}
}

func (o *object) text(name string) string {
	v, at := o.get(name)
	return jsonText(v, at)
}

// optional is a field's text, "" if there is none.
func (o *object) optional(name string) string {
	if !o.has(name) {
		return ""
	}
	return o.text(name)
}

func jsonText(v any, at *place) string {
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

func (o *object) list(name string) ([]any, *place) {
	v, at := o.get(name)
	list, ok := v.([]any)
	if !ok {
		failJSON(at, "found %s, want a list", sortOf(v))
	}
	return list, at
}

func (o *object) typ(name string) Type {
	v, at := o.get(name)
	s, _ := v.(string)
	if s == "" {
		failJSON(at, "found %s, want the name of a type", sortOf(v))
	}
	t, err := dlpack.ParseDataType(s)
	if err == nil {
		err = checkType(t)
	}
	if err != nil {
		failJSON(at, "%v", err)
	}
	return t
}

// whole is a field's whole number from least to greatest.
func (o *object) whole(name string, least, greatest int) int {
	v, at := o.get(name)
	return wholeOf(v, at, least, greatest)
}

func wholeOf(v any, at *place, least, greatest int) int {
	n, _ := v.(json.Number)
	i, err := strconv.Atoi(n.String())
	if err != nil || i < least || i > greatest {
		failJSON(at, "found %s, want a whole number from %d to %d", sortOf(v), least, greatest)
	}
	return i
}

// float is a field's number, which may be one that JSON has no number for.
func (o *object) float(name string) float64 {
	v, at := o.get(name)
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			failJSON(at, "%s is beyond the floats of 64 bits", clip(v.String()))
		}
		return f
	case string:
		if hex, ok := strings.CutPrefix(v, "nan:0x"); ok {
			if f, ok := nanOf(hex); ok {
				return f
			}
		} else if v == "inf" || v == "-inf" || v == "nan" {
			f, _ := readFloat(v, 64)
			return f
		}
	}
	failJSON(at, "found %s, want a number, \"inf\", \"-inf\", \"nan\", or \"nan:0x…\" with the bits", sortOf(v))
	return 0
}

func (r *jsonReader) variable(v any, at *place) *Var {
	return r.vars[wholeOf(v, at, 0, len(r.vars)-1)]
}

func (r *jsonReader) varField(o *object, name string) *Var {
	v, at := o.get(name)
	return r.variable(v, at)
}

func (r *jsonReader) bufferField(o *object, name string) *Buffer {
	return r.buffers[o.whole(name, 0, len(r.buffers)-1)]
}

func (r *jsonReader) module(o *object) *IRModule {
	if v, at := o.get("tir"); v != json.Number(strconv.Itoa(jsonVersion)) {
		failJSON(at, "found %s: this package reads version %d: write the module with it, or as text", sortOf(v), jsonVersion)
	}
	m := &IRModule{Attrs: r.attrs(o)}
	list, at := o.list("vars")
	for i, v := range list {
		x := r.object(&place{up: at, index: i}, v)
		r.vars = append(r.vars, NewVar(x.text("name"), x.typ("type")))
		x.done()
	}
	r.bufferTable(o)
	list, at = o.list("functions")
	for i, v := range list {
		here := &place{up: at, index: i}
		f := r.function(r.object(here, v))
		if f.Name == "" || m.Func(f.Name) != nil {
			failJSON(here, "function name %q: want one that no other function has", f.Name)
		}
		m.Funcs = append(m.Funcs, f)
	}
	o.done()
	return m
}

// bufferTable reads the buffers. Their shapes may speak of any of them, so that all are there before.
func (r *jsonReader) bufferTable(o *object) {
	list, at := o.list("buffers")
	all := make([]*object, len(list))
	for i, v := range list {
		x := r.object(&place{up: at, index: i}, v)
		all[i] = x
		shape, _ := x.list("shape")
		r.buffers = append(r.buffers, &Buffer{Name: x.text("name"), Data: r.varField(x, "data"), DType: x.typ("type"), Shape: make([]Expr, len(shape))})
	}
	for i, x := range all {
		b := r.buffers[i]
		b.Shape = r.exprs(x, "shape", 1)
		if x.has("strides") {
			b.Strides = r.exprs(x, "strides", 1)
		}
		if x.has("offset") {
			b.Offset = r.expr(x, "offset", 1)
		}
		b.Scope = x.optional("scope")
		if x.has("align") {
			b.Alignment = x.whole("align", 0, 1<<30)
		}
		x.done()
	}
}

func (r *jsonReader) function(o *object) *PrimFunc {
	f := &PrimFunc{Name: o.text("name"), Buffers: map[*Var]*Buffer{}, Result: o.typ("result"), Attrs: r.attrs(o)}
	list, at := o.list("params")
	for i, v := range list {
		f.Params = append(f.Params, r.variable(v, &place{up: at, index: i}))
	}
	list, at = o.list("buffers")
	for i, v := range list {
		x := r.object(&place{up: at, index: i}, v)
		p := r.varField(x, "param")
		if f.Buffers[p] != nil {
			failJSON(x.at, "parameter %s stands for a buffer already", p.Name)
		}
		f.Buffers[p] = r.bufferField(x, "buffer")
		x.done()
	}
	f.Body = r.stmt(o, "body", 1)
	o.done()
	return f
}

// attrs reads the field of attributes, which need not be there.
func (r *jsonReader) attrs(o *object) map[string]any {
	attrs := map[string]any{}
	if !o.has("attrs") {
		return attrs
	}
	list, at := o.list("attrs")
	for i, v := range list {
		x := r.object(&place{up: at, index: i}, v)
		key := x.text("key")
		if _, twice := attrs[key]; twice {
			failJSON(x.at, "attribute %q is there already", key)
		}
		switch {
		case x.has("int"):
			v, at := x.get("int")
			n, _ := v.(json.Number)
			i, err := strconv.ParseInt(n.String(), 10, 64)
			if err != nil {
				failJSON(at, "found %s, want an int64", sortOf(v))
			}
			attrs[key] = i
		case x.has("float"):
			attrs[key] = x.float("float")
		case x.has("bool"):
			v, at := x.get("bool")
			b, ok := v.(bool)
			if !ok {
				failJSON(at, "found %s, want true or false", sortOf(v))
			}
			attrs[key] = b
		case x.has("text"):
			attrs[key] = x.text("text")
		case x.has("target"):
			v, at := x.get("target")
			text, err := json.Marshal(v)
			if err != nil {
				failJSON(at, "%v", err)
			}
			t, err := target.New(string(text))
			if err != nil {
				failJSON(at, "%v", err)
			}
			attrs[key] = t
		default:
			failJSON(x.at, "attribute %q has no int, float, bool, text or target", key)
		}
		x.done()
	}
	return attrs
}
