package json

import (
	"encoding/json"
	"strconv"

	"tvmgo/target"
	"tvmgo/tir"
)

// Unmarshal reads a module in the form that [Marshal] writes; the order of fields does not matter. A missing or an
// unknown field is an error of type *[Error], which contains its path.
func Unmarshal(data []byte) (m *tir.IRModule, err error) {
	text := string(data)
	tree, broken := parse(text)
	if broken != nil {
		return nil, broken
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			m, err = nil, e.in(text)
		default:
			panic(e)
		}
	}()
	r := &reader{}
	return r.module(r.object(nil, tree)), nil
}

// reader makes nodes from JSON values.
type reader struct {
	vars    []*tir.Var
	buffers []*tir.Buffer
}

func (r *reader) variable(v any, at *position) *tir.Var {
	return r.vars[wholeOf(v, at, 0, len(r.vars)-1)]
}

func (r *reader) varField(o *object, name string) *tir.Var {
	v, at := o.get(name)
	return r.variable(v, at)
}

func (r *reader) bufferField(o *object, name string) *tir.Buffer {
	return r.buffers[o.whole(name, 0, len(r.buffers)-1)]
}

func (r *reader) module(o *object) *tir.IRModule {
	if v, at := o.get("tir"); v != json.Number(strconv.Itoa(jsonVersion)) {
		failJSON(at, "found %s: this package reads version %d: write the module with this package, or as text",
			sortOf(v), jsonVersion)
	}
	m := &tir.IRModule{Attrs: r.attrs(o)}
	list, at := o.list("vars")
	for i, v := range list {
		x := r.object(at.element(i), v)
		r.vars = append(r.vars, tir.NewVar(x.text("name"), x.typ("type")))
		x.done()
	}
	r.bufferTable(o)
	list, at = o.list("functions")
	for i, v := range list {
		here := at.element(i)
		f := r.function(r.object(here, v))
		if f.Name == "" || m.Func(f.Name) != nil {
			failJSON(here, "function name %q is empty or used twice", f.Name)
		}
		m.Funcs = append(m.Funcs, f)
	}
	o.done()
	return m
}

// bufferTable reads the buffers. All of them are made before their shapes are read, since these can refer to any
// buffer.
func (r *reader) bufferTable(o *object) {
	list, at := o.list("buffers")
	all := make([]*object, len(list))
	for i, v := range list {
		x := r.object(at.element(i), v)
		all[i] = x
		shape, _ := x.list("shape")
		r.buffers = append(r.buffers, &tir.Buffer{Name: x.text("name"), Data: r.varField(x, "data"), DType: x.typ("type"),
			Shape: make([]tir.Expr, len(shape))})
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

func (r *reader) function(o *object) *tir.PrimFunc {
	f := &tir.PrimFunc{Name: o.text("name"), Buffers: map[*tir.Var]*tir.Buffer{}, Result: o.typ("result"),
		Attrs: r.attrs(o)}
	list, at := o.list("params")
	for i, v := range list {
		f.Params = append(f.Params, r.variable(v, at.element(i)))
	}
	list, at = o.list("buffers")
	for i, v := range list {
		x := r.object(at.element(i), v)
		p := r.varField(x, "param")
		if f.Buffers[p] != nil {
			failJSON(x.at, "parameter %s has a buffer already", p.Name)
		}
		f.Buffers[p] = r.bufferField(x, "buffer")
		x.done()
	}
	f.Body = r.stmt(o, "body", 1)
	o.done()
	return f
}

// attrs reads the optional field of attributes.
func (r *reader) attrs(o *object) map[string]any {
	attrs := map[string]any{}
	if !o.has("attrs") {
		return attrs
	}
	list, at := o.list("attrs")
	for i, v := range list {
		x := r.object(at.element(i), v)
		key := x.text("key")
		if _, twice := attrs[key]; twice {
			failJSON(x.at, "attribute %q occurs twice", key)
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
