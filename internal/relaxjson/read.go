package relaxjson

import (
	"tvmgo/blob"
	"tvmgo/internal/tvmnodes"
	"tvmgo/tir"
	"tvmgo/tir/tvmjson"
)

type node = tvmnodes.Node

// Unmarshal reads a module in the JSON of tvm.ir.save_json. An error is a *tvmnodes.Error; types of nodes that are not
// known are listed together in one.
func Unmarshal(text []byte) (m *Module, err error) {
	defer tvmnodes.Catch(&err)
	g, err := tvmnodes.Parse(string(text))
	if err != nil {
		return nil, err
	}
	loops, others := tvmjson.Functions(g)
	m = &Module{Loops: loops, Version: g.Version}
	for _, o := range others {
		if o.Node.Name() != "Function" {
			o.Node.Unsupported("function %s of type %s", o.Name, o.Node.Key())
			continue
		}
		r := &reader{g: g, vars: map[int]*Var{}, constants: map[int]*Constant{}, sizes: tvmjson.NewSizes()}
		f := r.function(o.Node)
		f.Name = o.Name
		m.Functions = append(m.Functions, f)
	}
	if err := g.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// reader reads one function of a module.
type reader struct {
	g         *tvmnodes.Graph
	vars      map[int]*Var
	constants map[int]*Constant
	sizes     *tvmjson.Sizes
}

func (r *reader) function(n node) *Function {
	f := &Function{}
	for _, p := range n.At("params").List() {
		f.Params = append(f.Params, r.variable(p))
	}
	for _, field := range []string{"ret_ty", "ret_struct_info"} {
		if t, ok := n.Maybe(field); ok {
			f.Result = r.typeOf(t)
		}
	}
	if n.Has("is_pure") {
		f.Pure = n.Int("is_pure") != 0
	}
	if attrs, ok := n.Maybe("attrs"); ok && attrs.Has("__dict__") {
		for _, p := range attrs.At("__dict__").Pairs() {
			if text, ok := p.Value.Value(); ok && p.Name == "global_symbol" {
				f.Symbol, _ = text.(string)
			}
		}
	}
	f.Body = r.expr(n.At("body"))
	return f
}

// variable returns the variable of a node; in older files a node of its own is its identity.
func (r *reader) variable(n node) *Var {
	switch n.Name() {
	case "Var", "DataflowVar":
	default:
		n.Fail("want a variable")
	}
	id, name := n.Index(), ""
	if n.Has("vid") {
		vid := n.At("vid")
		id, name = vid.Index(), vid.TextAt("name_hint")
	} else {
		name = n.TextAt("name")
	}
	if v := r.vars[id]; v != nil {
		return v
	}
	v := &Var{Name: name, Dataflow: n.Name() == "DataflowVar"}
	r.vars[id] = v
	v.Type = r.valueType(n)
	if isSize(n) {
		v.Size = r.sizes.Expr(n)
	}
	return v
}

// isSize reports whether a variable is one of the scalars that shapes are made of: from 0.27, TVM has no other type of
// node for these.
func isSize(n node) bool { return n.Has("ty") && n.At("ty").Name() == "PrimType" }

// valueType returns the type of a value; nil if the file does not say it.
func (r *reader) valueType(n node) Type {
	for _, field := range []string{"ty", "struct_info_"} {
		if t, ok := n.Maybe(field); ok {
			return r.typeOf(t)
		}
	}
	return nil
}

func (r *reader) exprs(list []node) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = r.expr(e)
	}
	return out
}

func (r *reader) expr(n node) Expr {
	switch n.Name() {
	case "Var", "DataflowVar":
		if r.vars[n.Index()] == nil && isSize(n) {
			return &Prim{r.sizes.Expr(n)}
		}
		return r.variable(n)
	case "Call":
		c := &Call{Callee: r.expr(n.At("op")), Args: r.exprs(n.At("args").List()), Type: r.valueType(n)}
		if a, ok := n.Maybe("attrs"); ok {
			c.Attrs = Attrs{a, r.sizes}
		}
		for _, field := range []string{"ty_args", "sinfo_args"} {
			if list, ok := n.Maybe(field); ok {
				for _, t := range list.List() {
					c.TypeArgs = append(c.TypeArgs, r.typeOf(t))
				}
			}
		}
		return c
	case "Op":
		return &Op{n.Text()}
	case "GlobalVar":
		return &Global{n.TextAt("name_hint")}
	case "ExternFunc":
		return &Extern{n.TextAt("global_symbol")}
	case "Tuple":
		return &Tuple{r.exprs(n.At("fields").List())}
	case "TupleGetItem":
		i := n.Int("index")
		if i < 0 || i > 1<<20 {
			n.Fail("index %d", i)
		}
		return &Item{r.expr(n.At("tuple_value")), int(i)}
	case "Constant", "GenericConst":
		return r.constant(n)
	case "ShapeExpr":
		return &Shape{r.dims(n.At("values"))}
	case "PrimValue":
		return &Prim{r.sizes.Expr(n.At("value"))}
	case "StringImm":
		v, _ := n.Value()
		s, _ := v.(string)
		return &Text{s}
	case "DataTypeImm":
		return &DataType{elementType(n, "value")}
	case "If":
		return &If{r.expr(n.At("cond")), r.expr(n.At("true_branch")), r.expr(n.At("false_branch"))}
	case "SeqExpr":
		return r.sequence(n)
	case "Function":
		return r.function(n)
	case "IntImm", "FloatImm", "Add", "Sub", "Mul", "FloorDiv", "FloorMod", "Div", "Mod", "Min", "Max", "Cast":
		return &Prim{r.sizes.Expr(n)} // from 0.26, scalars are values without a wrapper
	}
	n.Unsupported("node %s", n.Key())
	return &Tuple{}
}

func (r *reader) sequence(n node) Expr {
	s := &Seq{}
	for _, b := range n.At("blocks").List() {
		block := Block{Dataflow: b.Name() == "DataflowBlock"}
		if !block.Dataflow && b.Name() != "BindingBlock" {
			b.Fail("want a block of bindings")
		}
		for _, x := range b.At("bindings").List() {
			bind := Binding{Value: r.expr(x.At("value"))}
			switch x.Name() {
			case "VarBinding":
			case "MatchCast":
				field := "struct_info"
				if x.Has("ty") {
					field = "ty"
				}
				bind.Match = r.typeOf(x.At(field))
			default:
				x.Unsupported("binding %s", x.Key())
			}
			bind.Var = r.variable(x.At("var"))
			block.Bindings = append(block.Bindings, bind)
		}
		s.Blocks = append(s.Blocks, block)
	}
	s.Body = r.expr(n.At("body"))
	return s
}

// constant reads a tensor. One that is used in several places is read once.
func (r *reader) constant(n node) Expr {
	if c := r.constants[n.Index()]; c != nil {
		return c
	}
	var data []byte
	switch {
	case n.Old():
		data = n.Tensor(n.Int("data"))
	case n.Has("value"):
		if t := n.At("value"); t.Name() != "Tensor" {
			v, _ := t.Value()
			if text, ok := v.(string); ok {
				return &Text{text}
			}
			t.Unsupported("a constant of type %s", t.Key())
			return &Tuple{}
		}
		data = n.At("value").Bytes()
	default:
		data = n.At("data").Bytes()
	}
	c := &Constant{}
	reader := blob.NewReader(data)
	c.Value = reader.Tensor("a constant")
	if err := reader.Err(); err != nil {
		n.Fail("%v", err)
	}
	r.constants[n.Index()] = c
	return c
}

func (r *reader) dims(n node) []tir.Expr {
	out := []tir.Expr{}
	for _, d := range n.List() {
		if d.Name() == "PrimValue" {
			d = d.At("value")
		}
		out = append(out, r.sizes.Expr(d))
	}
	return out
}

func (r *reader) typeOf(n node) Type {
	switch n.Name() {
	case "TensorType", "TensorStructInfo", "DynTensorType":
		t := &TensorType{NDim: int(n.Int("ndim")), DType: elementType(n, "dtype")}
		if s, ok := n.Maybe("shape"); ok && s.Name() == "ShapeExpr" {
			t.Dims = r.dims(s.At("values"))
		}
		return t
	case "ShapeType", "ShapeStructInfo":
		t := &ShapeType{NDim: int(n.Int("ndim"))}
		if v, ok := n.Maybe("values"); ok {
			t.Dims = r.dims(v)
		}
		return t
	case "TupleType", "TupleStructInfo":
		t := &TupleType{}
		for _, f := range n.At("fields").List() {
			t.Fields = append(t.Fields, r.typeOf(f))
		}
		return t
	case "PrimType", "PrimStructInfo":
		t := &PrimType{DType: elementType(n, "dtype")}
		if v, ok := n.Maybe("value"); ok {
			t.Value = r.sizes.Expr(v)
		}
		return t
	case "FuncType", "FuncStructInfo":
		t := &FuncType{}
		if p, ok := n.Maybe("params"); ok {
			for _, x := range p.List() {
				t.Params = append(t.Params, r.typeOf(x))
			}
		}
		if x, ok := n.Maybe("ret"); ok {
			t.Result = r.typeOf(x)
		}
		return t
	}
	return &ObjectType{}
}
