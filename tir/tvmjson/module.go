package tvmjson

import (
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/tvmnodes"
	"tvmgo/target"
	"tvmgo/tir"
)

type node = tvmnodes.Node

// IsTVM reports whether a JSON text is one that tvm.ir.save_json has written.
func IsTVM(text []byte) bool { return tvmnodes.IsGraph(string(text)) }

// Unmarshal reads a module, or a single PrimFunc, in the JSON of tvm.ir.save_json. Names of functions are their global
// symbols. An error is a *tvmnodes.Error with the path to the faulty node; types of nodes, operators and functions that
// cannot be read are listed together in one error. The result has not been checked: tir.Check does that.
func Unmarshal(text []byte) (m *tir.IRModule, err error) {
	defer tvmnodes.Catch(&err)
	g, err := tvmnodes.Parse(string(text))
	if err != nil {
		return nil, err
	}
	m, others := Functions(g)
	for _, o := range others {
		o.Node.Unsupported("function %s of type %s (want a PrimFunc)", o.Name, o.Node.Key())
	}
	if err := g.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// Function is a function of a module that is no PrimFunc.
type Function struct {
	Name string
	Node tvmnodes.Node
}

// Functions reads the PrimFuncs of a module, and returns its other functions, too. Wrong nodes end it by a panic, as
// package tvmnodes describes, and what is not supported is noted in the graph.
func Functions(g *tvmnodes.Graph) (m *tir.IRModule, others []Function) {
	r := &reader{}
	return r.module(g.Root())
}

// Sizes reads integer expressions outside of PrimFuncs, such as the shapes of tensors. A variable that occurs for the
// first time is a new one.
type Sizes struct{ r reader }

// NewSizes returns a reader that knows no variable.
func NewSizes() *Sizes {
	return &Sizes{reader{scope: scope{vars: map[int]tir.Expr{}, sizes: true}}}
}

// Expr reads an expression. A wrong node ends it by a panic, as package tvmnodes describes.
func (s *Sizes) Expr(n tvmnodes.Node) tir.Expr { return s.r.expr(n) }

// reader makes nodes of package tir of TVM's.
type reader struct {
	scope
	names map[string]string // function names in the module to global symbols
}

// scope is what the reader knows of one function.
type scope struct {
	vars     map[int]tir.Expr // what a variable stands for, by the number of its node; nil: it is not defined here
	buffers  map[int]*access
	memories map[int]*memory                   // by the variable that is the address
	all      []*memory                         // the same, each once
	threads  []thread                          // loops over threads around the statement
	reads    map[*tir.Call]bool                // addresses that a function only reads
	sizes    bool                              // variables that are not known are sizes of a parameter's buffer
	carried  map[*tir.Buffer]map[*tir.Var]bool // loops from one iteration of which to the next a buffer keeps values
}

func (r *reader) module(root node) (m *tir.IRModule, others []Function) {
	m = &tir.IRModule{Attrs: map[string]any{}}
	if root.Name() == "PrimFunc" {
		m.Funcs = append(m.Funcs, r.function(root, "main"))
		return m, nil
	}
	if root.Name() != "IRModule" {
		root.Fail("want an IRModule or a PrimFunc")
	}
	r.names = map[string]string{}
	functions := root.At("functions").Pairs()
	for _, p := range functions {
		if p.Value.Name() == "PrimFunc" {
			r.names[p.Name] = symbol(p.Value, p.Name)
		}
	}
	for _, p := range functions {
		switch p.Value.Name() {
		case "PrimFunc":
			f := r.function(p.Value, p.Name)
			if m.Func(f.Name) != nil {
				p.Value.Fail("two functions are named %q", f.Name)
			}
			m.Funcs = append(m.Funcs, f)
		default:
			others = append(others, Function{p.Name, p.Value})
		}
	}
	return m, others
}

// attributes returns the entries of a function's attributes.
func attributes(f node) map[string]node {
	out := map[string]node{}
	attrs, ok := f.Maybe("attrs")
	if !ok {
		return out
	}
	if attrs.Has("__dict__") {
		attrs = attrs.At("__dict__")
	}
	for _, p := range attrs.Pairs() {
		out[p.Name] = p.Value
	}
	return out
}

// symbol returns the name under which a function is exported.
func symbol(f node, name string) string {
	if s, ok := attributes(f)["global_symbol"]; ok {
		if text, ok := s.Value(); ok {
			name, _ = text.(string)
		}
	}
	return name
}

func (r *reader) function(n node, name string) *tir.PrimFunc {
	r.scope = scope{vars: map[int]tir.Expr{}, buffers: map[int]*access{}, memories: map[int]*memory{},
		reads: map[*tir.Call]bool{}, carried: map[*tir.Buffer]map[*tir.Var]bool{}}
	f := &tir.PrimFunc{Name: symbol(n, name), Buffers: map[*tir.Var]*tir.Buffer{}, Attrs: map[string]any{},
		Result: r.result(n)}
	if f.Name == "" {
		n.Fail("the function has no name")
	}
	if t, ok := attributes(n)["target"]; ok && t.Name() == "Target" {
		f.Attrs["target"] = r.target(t)
	}
	list := n.At("params").List()
	owners := map[int]*tir.Var{}
	for _, p := range list {
		t := r.typeOf(p)
		v := tir.NewVar(nameOf(p), t)
		f.Params = append(f.Params, v)
		owners[p.Index()] = v
		if !isBufferVar(p) {
			r.bind(p, v)
			if tir.IsHandle(t) {
				r.remember(p, &memory{data: v})
			}
		}
	}
	r.sizes = true
	for _, p := range list {
		if isBufferVar(p) {
			f.Buffers[owners[p.Index()]] = r.parameterBuffer(p)
		}
	}
	if buffers, ok := n.Maybe("buffer_map"); ok {
		of := map[int]node{}
		for _, p := range buffers.Pairs() {
			of[p.Key.Index()] = p.Value
			if owners[p.Key.Index()] == nil {
				p.Key.Fail("a buffer belongs to variable %s, which is no parameter", nameOf(p.Key))
			}
		}
		for _, p := range list {
			if b, ok := of[p.Index()]; ok {
				f.Buffers[owners[p.Index()]] = r.parameterBuffer(b)
			}
		}
	}
	r.sizes = false
	f.Body = r.statement(n.At("body"))
	for _, m := range r.all {
		f.Body = m.around(f.Body)
	}
	if f.Body == nil {
		f.Body = &tir.Seq{}
	}
	return f
}

// parameterBuffer makes the buffer of a parameter.
func (r *reader) parameterBuffer(n node) *tir.Buffer {
	d := describe(n)
	b := r.newBuffer(d, nil)
	b.Alignment = 0 // callers pass tensors with less than what TVM allocates
	return b
}

func (r *reader) result(n node) tir.Type {
	t, ok := n.Maybe("ret_type")
	if !ok {
		return tir.Void
	}
	return r.typed(t)
}

// target reads the target that a function is for.
func (r *reader) target(n node) *target.Target {
	config := map[string]any{}
	kind := n.At("kind")
	if kind.Has("name") {
		config["kind"] = kind.TextAt("name")
	} else {
		config["kind"] = kind.Text()
	}
	if attrs, ok := n.Maybe("attrs"); ok {
		for _, p := range attrs.Pairs() {
			if v, ok := plain(p.Value); ok {
				config[p.Name] = v
			}
		}
	}
	if keys, ok := n.Maybe("keys"); ok {
		config["keys"], _ = plain(keys)
	}
	t, err := target.New(config)
	if err != nil {
		n.Fail("%v", err)
	}
	return t
}

// plain returns a constant, or a list of constants.
func plain(n node) (any, bool) {
	if n.Name() != "Array" {
		return n.Value()
	}
	list := []any{}
	for _, e := range n.List() {
		v, ok := plain(e)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// nameOf returns the name of a variable.
func nameOf(n node) string {
	if name := n.Name(); name != "Var" && name != "SizeVar" && name != "Buffer" {
		n.Fail("want a variable")
	}
	return n.TextAt("name")
}

// bind defines what a variable stands for.
func (r *reader) bind(n node, value tir.Expr) { r.vars[n.Index()] = value }

// within defines a variable while body is read.
func (r *reader) within(n node, value tir.Expr, body func()) {
	i := n.Index()
	outer, had := r.vars[i]
	r.vars[i] = value
	body()
	if had {
		r.vars[i] = outer
	} else {
		delete(r.vars, i)
	}
}

// typeOf returns the type of an expression.
func (r *reader) typeOf(n node) tir.Type {
	if n.Has("ty") {
		return r.typed(n.At("ty"))
	}
	return dataType(n)
}

// typed returns the type that a type's node describes.
func (r *reader) typed(n node) tir.Type {
	switch n.Name() {
	case "PrimType":
		return dataType(n)
	case "PointerType", "BufferType", "StringType", "OpaqueType":
		return tir.Handle
	case "TupleType":
		if len(n.At("fields").List()) == 0 {
			return tir.Void
		}
	}
	n.Unsupported("type %s", n.Key())
	return tir.Int32
}

// dataType reads the field with the name of a type.
func dataType(n node) tir.Type {
	name := n.Direct("dtype")
	if lanes, old := strings.CutPrefix(name, "uint1"); old && (lanes == "" || lanes[0] == 'x') {
		name = "bool" + lanes
	}
	t, err := dlpack.ParseDataType(name)
	if err == nil && t != tir.Void {
		err = tir.CheckType(t)
	}
	if err != nil {
		n.Fail("type %q: %v", name, err)
	}
	return t
}

// good returns an expression, or ends the reading if it could not be made.
func good(n node, e tir.Expr) tir.Expr {
	if bad, is := e.(*tir.Bad); is {
		n.Fail("%s", bad.Text())
	}
	return e
}
