package tir

import (
	"encoding/json"
	"slices"
)

// sortField finds which of the known fields says what an object is.
func (o *object) sortField(of string, known []string) string {
	found := ""
	for _, k := range known {
		if _, ok := o.fields[k]; ok {
			if found != "" {
				failJSON(o.at, "is both %q and %q", found, k)
			}
			found = k
		}
	}
	if found == "" {
		failJSON(o.at, "is no %s: want one of the fields %q", of, known)
	}
	return found
}

var (
	exprSorts = []string{"var", "int", "float", "text", "op", "not", "select", "cast", "load", "ramp", "broadcast", "shuffle", "let", "call"}
	stmtSorts = []string{"store", "for", "while", "if", "let", "assert", "alloc", "attr", "eval"}
)

func (r *jsonReader) exprs(o *object, name string, depth int) []Expr {
	list, at := o.list(name)
	all := make([]Expr, len(list))
	for i, v := range list {
		all[i] = r.exprOf(v, &place{up: at, index: i}, depth)
	}
	return all
}

func (r *jsonReader) expr(o *object, name string, depth int) Expr {
	v, at := o.get(name)
	return r.exprOf(v, at, depth)
}

// exprOf reads an expression that is within so many, itself counted.
func (r *jsonReader) exprOf(v any, at *place, depth int) Expr {
	if depth > maxExprDepth {
		failJSON(at, "more than %d expressions are within one another", maxExprDepth)
	}
	o := r.object(at, v)
	e, err := r.exprNode(o, depth+1)
	if err == nil {
		e, err = made(e)
	}
	if err != nil {
		failJSON(at, "%v", err)
	}
	o.done()
	return e
}

func (r *jsonReader) exprNode(o *object, depth int) (Expr, error) {
	switch o.sortField("expression", exprSorts) {
	case "var":
		return r.varField(o, "var"), nil
	case "int":
		v, at := o.get("int")
		n, ok := v.(json.Number)
		if !ok {
			failJSON(at, "found %s, want a whole number", sortOf(v))
		}
		t := o.typ("type")
		if !IsInt(t) && !IsBool(t) || t.Lanes != 1 {
			failJSON(at, "type %s has no such constants", typeText(t))
		}
		return makeConst(t, n.String())
	case "float":
		t := o.typ("type")
		if !IsFloat(t) || t.Lanes != 1 {
			failJSON(o.at, "type %s has no such constants", typeText(t))
		}
		return makeFloat(t, o.float("float"))
	case "text":
		return &StringImm{o.text("text")}, nil
	case "op":
		op := slices.Index(binaryNames[:], o.text("op"))
		if op < 0 {
			failJSON(&place{up: o.at, key: "op"}, "%q is no operation: known are %q", clip(o.text("op")), binaryNames)
		}
		a, b := r.expr(o, "a", depth), r.expr(o, "b", depth)
		e := NewBinary(BinaryOp(op), a, b)
		if x, ok := e.(*Binary); ok && (x.A != a || x.B != b) {
			failJSON(o.at, "operands of types %s and %s: cast one", a.DType(), b.DType())
		}
		return e, nil
	case "not":
		return NewNot(r.expr(o, "not", depth)), nil
	case "select":
		parts := r.exprs(o, "select", depth)
		if len(parts) != 3 {
			failJSON(o.at, "select of %d expressions: want a condition and two values", len(parts))
		}
		e := NewSelect(parts[0], parts[1], parts[2])
		if x, ok := e.(*Select); ok && (x.Cond != parts[0] || x.Then != parts[1] || x.Else != parts[2]) {
			failJSON(o.at, "select by %s of types %s and %s: cast one", parts[0].DType(), parts[1].DType(), parts[2].DType())
		}
		return e, nil
	case "cast":
		return makeCast(o.typ("type"), r.expr(o, "cast", depth))
	case "load":
		return BufferAt(r.bufferField(o, "load"), r.exprs(o, "indices", depth)...), nil
	case "ramp":
		return makeRamp(r.expr(o, "ramp", depth), r.expr(o, "stride", depth), o.whole("lanes", 1, MaxLanes))
	case "broadcast":
		return makeBroadcast(r.expr(o, "broadcast", depth), o.whole("lanes", 1, MaxLanes))
	case "shuffle":
		vectors := r.exprs(o, "shuffle", depth)
		list, at := o.list("indices")
		indices := make([]int, len(list))
		for i, v := range list {
			indices[i] = wholeOf(v, &place{up: at, index: i}, 0, 1<<30)
		}
		return makeShuffle(vectors, indices)
	case "let":
		v, value := r.varField(o, "let"), r.expr(o, "value", depth)
		r.sameType(o, v, value)
		return &Let{Var: v, Value: value, Body: r.expr(o, "in", depth)}, nil
	}
	kind := slices.Index(callKindNames[:], o.text("kind"))
	if kind < 0 {
		failJSON(&place{up: o.at, key: "kind"}, "%q is no kind of call: known are %q", clip(o.text("kind")), callKindNames)
	}
	return NewCall(CallKind(kind), o.typ("type"), o.text("call"), r.exprs(o, "args", depth)...), nil
}

func (r *jsonReader) sameType(o *object, v *Var, value Expr) {
	if t := value.DType(); t != v.Type {
		failJSON(o.at, "variable %s is of type %s, and its value of type %s", v.Name, typeText(v.Type), typeText(t))
	}
}

func (r *jsonReader) stmt(o *object, name string, depth int) Stmt {
	v, at := o.get(name)
	return r.stmtOf(v, at, depth)
}

// stmtOf reads a statement that is within so many, itself counted; sequences do not count.
func (r *jsonReader) stmtOf(v any, at *place, depth int) Stmt {
	if depth > maxStmtDepth {
		failJSON(at, "more than %d statements are within one another", maxStmtDepth)
	}
	if list, ok := v.([]any); ok {
		s := &Seq{}
		for i, x := range list {
			s.Stmts = append(s.Stmts, r.stmtOf(x, &place{up: at, index: i}, depth))
		}
		return s
	}
	o := r.object(at, v)
	s := r.stmtNode(o, depth+1)
	o.done()
	return s
}

func (r *jsonReader) stmtNode(o *object, depth int) Stmt {
	switch o.sortField("statement", stmtSorts) {
	case "store":
		b := r.bufferField(o, "store")
		indices := r.exprs(o, "indices", 1)
		load := BufferAt(b, indices...)
		if bad, isBad := load.(*Bad); isBad {
			failJSON(o.at, "%v", trimmed(bad.Err))
		}
		s := &BufferStore{b, r.expr(o, "value", 1), indices}
		if t := s.Value.DType(); t != load.DType() {
			failJSON(o.at, "a value of type %s is stored in buffer %s as %s", typeText(t), b.Name, typeText(load.DType()))
		}
		return s
	case "for":
		s := &For{Var: r.varField(o, "for"), Thread: o.optional("thread"), Annotations: r.attrs(o)}
		if len(s.Annotations) == 0 {
			s.Annotations = nil
		}
		kind := slices.Index(forKindNames[:], o.text("kind"))
		if kind < 0 {
			failJSON(&place{up: o.at, key: "kind"}, "%q is no kind of loop: known are %q", clip(o.text("kind")), forKindNames)
		}
		s.Kind = ForKind(kind)
		s.Min, s.Extent = r.span(o, s.Var)
		s.Body = r.stmt(o, "body", depth)
		return s
	case "while":
		return &While{r.cond(o, "while"), r.stmt(o, "body", depth)}
	case "if":
		s := &If{Cond: r.cond(o, "if"), Then: r.stmt(o, "then", depth)}
		if o.has("else") {
			s.Else = r.stmt(o, "else", depth)
		}
		return s
	case "let":
		v, value := r.varField(o, "let"), r.expr(o, "value", 1)
		r.sameType(o, v, value)
		return &LetStmt{v, value, r.stmt(o, "body", depth)}
	case "assert":
		return &Assert{r.cond(o, "assert"), o.text("kind"), o.text("message")}
	case "alloc":
		return &Alloc{r.bufferField(o, "alloc"), r.stmt(o, "body", depth)}
	case "attr":
		s := &AttrStmt{Key: o.text("attr")}
		if o.has("node") {
			v, at := o.get("node")
			s.Node = r.node(r.object(at, v))
		}
		if o.has("value") {
			s.Value = r.expr(o, "value", 1)
		}
		s.Body = r.stmt(o, "body", depth)
		return s
	}
	return &Evaluate{r.expr(o, "eval", 1)}
}

func (r *jsonReader) cond(o *object, name string) Expr {
	e := r.expr(o, name, 1)
	if t := e.DType(); t != Bool {
		failJSON(&place{up: o.at, key: name}, "type %s: want bool", typeText(t))
	}
	return e
}

// span reads a range of a variable.
func (r *jsonReader) span(o *object, v *Var) (low, n Expr) {
	low, n = r.expr(o, "min", 1), r.expr(o, "extent", 1)
	if !IsInt(v.Type) || v.Type.Lanes != 1 || low.DType() != v.Type || n.DType() != v.Type {
		failJSON(o.at, "variable %s of type %s in a range of types %s and %s: want one of whole numbers, of one lane", v.Name, typeText(v.Type),
			typeText(low.DType()), typeText(n.DType()))
	}
	return low, n
}

// node reads what an attribute speaks of.
func (r *jsonReader) node(o *object) (node any) {
	switch o.sortField("variable, buffer or axis", []string{"var", "buffer", "iter"}) {
	case "var":
		node = r.varField(o, "var")
	case "buffer":
		node = r.bufferField(o, "buffer")
	default:
		x := &IterVar{Var: r.varField(o, "iter"), Thread: o.optional("thread")}
		kind := slices.Index(iterKindNames[:], o.text("kind"))
		if kind < 0 {
			failJSON(&place{up: o.at, key: "kind"}, "%q is no kind of axis: known are %q", clip(o.text("kind")), iterKindNames)
		}
		x.Kind = IterKind(kind)
		if o.has("min") || o.has("extent") {
			x.Min, x.Extent = r.span(o, x.Var)
		}
		node = x
	}
	o.done()
	return node
}
