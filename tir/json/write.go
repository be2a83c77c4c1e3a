package json

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// jsonVersion is the version of the JSON form that Marshal writes, and the only one that Unmarshal reads.
const jsonVersion = 1

// Marshal returns a module as JSON, the same bytes for the same module:
//
//	{"tir":1, "attrs":[…], "vars":[{"name":"n","type":"int32"}, …],
//	 "buffers":[{"name":"A","data":1,"type":"float32","shape":[…]}, …],
//	 "functions":[{"name":"main","params":[0,1],"buffers":[{"param":1,"buffer":0}],"result":"void",
//	               "attrs":[…],"body":…}]}
//
// Variables and buffers are identified by their index in "vars" and "buffers", so that two uses of one remain uses of
// one. A sequence is a list; every other node is an object: {"op":"+","a":…,"b":…}. Numbers have 64 bits, and need a
// reader that keeps all of them. Floats that JSON cannot express are "inf", "-inf", "nan", and "nan:" followed by their
// bits; text that is not UTF-8 is {"base64":"…"}. Nodes that a finished module does not contain (*Bad, *ProducerLoad,
// *Reduce) are an error.
func Marshal(m *tir.IRModule) ([]byte, error) {
	if m == nil {
		return nil, errors.New("tir: write JSON: the module is nil")
	}
	w := &writer{vars: map[*tir.Var]int{}, buffers: map[*tir.Buffer]int{}}
	for i, f := range m.Funcs {
		w.comma(i)
		w.function(f)
	}
	functions := w.out
	w.out, w.place = nil, "attributes of the module"
	w.raw(`{"tir":` + strconv.Itoa(jsonVersion))
	w.attrs(m.Attrs)
	head := w.out
	w.out = nil
	for i := 0; i < len(w.bufferList); i++ { // which may add variables and buffers
		w.comma(i)
		w.buffer(w.bufferList[i])
	}
	buffers := w.out
	w.out = head
	w.raw(`,"vars":[`)
	for i, v := range w.varList {
		w.comma(i)
		w.raw(`{"name":`)
		w.text(v.Name)
		w.field("type")
		w.typ(v.Type)
		w.raw("}")
	}
	w.raw(`],"buffers":[`)
	w.out = append(w.out, buffers...)
	w.raw(`],"functions":[`)
	w.out = append(w.out, functions...)
	w.raw("]}")
	if w.err != nil {
		return nil, fmt.Errorf("tir: write JSON: %w", w.err)
	}
	return w.out, nil
}

// writer writes nodes, and keeps the first error.
type writer struct {
	out        []byte
	vars       map[*tir.Var]int
	varList    []*tir.Var
	buffers    map[*tir.Buffer]int
	bufferList []*tir.Buffer
	place      string // the function that is being written, for messages
	err        error
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", w.place, fmt.Errorf(format, args...))
	}
	w.raw("null")
}

func (w *writer) raw(s string) { w.out = append(w.out, s...) }

func (w *writer) comma(i int) {
	if i > 0 {
		w.raw(",")
	}
}

// field begins a field other than the first.
func (w *writer) field(name string) { w.raw(`,"` + name + `":`) }

func (w *writer) text(s string) {
	if !utf8.ValidString(s) {
		w.raw(`{"base64":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}`)
		return
	}
	b, err := json.Marshal(s)
	if err != nil {
		w.fail("text %q: %w", s, err)
		return
	}
	w.out = append(w.out, b...)
}

// word writes the name of an operation or a kind, which must exist.
func (w *writer) word(of fmt.Stringer) {
	if s := of.String(); s != "invalid" {
		w.text(s)
		return
	}
	w.fail("%T(%[1]d) does not exist", of)
}

func (w *writer) number(n int64) { w.out = strconv.AppendInt(w.out, n, 10) }

func (w *writer) float(v float64) {
	switch {
	case math.IsNaN(v) && math.Float64bits(v) != math.Float64bits(math.NaN()):
		w.raw(fmt.Sprintf(`"nan:%#016x"`, math.Float64bits(v)))
	case math.IsNaN(v), math.IsInf(v, 0):
		w.raw(`"` + form.Number(v, 64) + `"`)
	default:
		w.out = strconv.AppendFloat(w.out, v, 'g', -1, 64)
	}
}

func (w *writer) typ(t tir.Type) {
	if err := tir.CheckType(t); err != nil {
		w.fail("%w", err)
		return
	}
	w.raw(`"` + form.TypeText(t) + `"`)
}

func (w *writer) variable(v *tir.Var) {
	if v == nil {
		w.fail("a variable is nil")
		return
	}
	i, known := w.vars[v]
	if !known {
		i = len(w.varList)
		w.vars[v] = i
		w.varList = append(w.varList, v)
	}
	w.number(int64(i))
}

func (w *writer) bufferRef(b *tir.Buffer) {
	if b == nil {
		w.fail("a buffer is nil")
		return
	}
	i, known := w.buffers[b]
	if !known {
		i = len(w.bufferList)
		w.buffers[b] = i
		w.bufferList = append(w.bufferList, b)
	}
	w.number(int64(i))
}

func (w *writer) buffer(b *tir.Buffer) {
	w.place = "buffer " + b.Name
	w.raw(`{"name":`)
	w.text(b.Name)
	w.field("data")
	w.variable(b.Data)
	w.field("type")
	w.typ(b.DType)
	w.field("shape")
	w.exprs(b.Shape)
	if b.Strides != nil {
		w.field("strides")
		w.exprs(b.Strides)
	}
	if !tir.IsNil(b.Offset) {
		w.field("offset")
		w.expr(b.Offset)
	}
	if b.Scope != "" {
		w.field("scope")
		w.text(b.Scope)
	}
	if b.Alignment != 0 {
		w.field("align")
		w.number(int64(b.Alignment))
	}
	w.raw("}")
}

func (w *writer) function(f *tir.PrimFunc) {
	w.place = "module"
	if f == nil {
		w.fail("a function is nil")
		return
	}
	w.place = "function " + f.Name
	w.raw(`{"name":`)
	w.text(f.Name)
	w.field("params")
	w.raw("[")
	for i, v := range f.Params {
		w.comma(i)
		w.variable(v)
	}
	w.raw("]")
	w.field("buffers")
	w.raw("[")
	for i, v := range f.BufferParams() {
		w.comma(i)
		w.raw(`{"param":`)
		w.variable(v)
		w.field("buffer")
		w.bufferRef(f.Buffers[v])
		w.raw("}")
	}
	w.raw("]")
	w.field("result")
	w.typ(f.Result)
	w.attrs(f.Attrs)
	w.field("body")
	w.stmt(f.Body)
	w.raw("}")
}

// attrs writes the field of attributes, sorted by name, unless there are none.
func (w *writer) attrs(attrs map[string]any) {
	if len(attrs) == 0 {
		return
	}
	w.field("attrs")
	w.raw("[")
	for i, k := range slices.Sorted(maps.Keys(attrs)) {
		w.comma(i)
		w.raw(`{"key":`)
		w.text(k)
		switch v := attrs[k].(type) {
		case int64:
			w.field("int")
			w.number(v)
		case float64:
			w.field("float")
			w.float(v)
		case bool:
			w.field("bool")
			w.raw(strconv.FormatBool(v))
		case string:
			w.field("text")
			w.text(v)
		case *target.Target:
			w.field("target")
			if v == nil {
				w.fail("attribute %q is a nil target", k)
				break
			}
			w.raw(v.JSON())
		default:
			w.fail("attribute %q is a %T: want int64, float64, bool, string or *target.Target", k, v)
		}
		w.raw("}")
	}
	w.raw("]")
}
