package json

import (
	"encoding/json"
	"math"
	"sync"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// sortField finds the one field, of those known, that identifies the kind of an object.
func (o *object) sortField(of string, known []string) string {
	found := ""
	for _, k := range known {
		if _, ok := o.fields[k]; ok {
			if found != "" {
				failJSON(o.at, "has both %q and %q: want one of them", found, k)
			}
			found = k
		}
	}
	if found == "" {
		failJSON(o.at, "found none of the fields %q, which identify the kind of %s", known, of)
	}
	return found
}

// nodeKeys are the keys that identify the types of expressions, or those of statements.
type nodeKeys struct {
	keys  []string
	types map[string]*tir.NodeType
}

func keysOf(stmts bool) func() nodeKeys {
	return sync.OnceValue(func() nodeKeys {
		k := nodeKeys{types: map[string]*tir.NodeType{}}
		for _, t := range tir.NodeTypes() {
			if t.IsStmt == stmts && t.Key != "" {
				k.keys = append(k.keys, t.Key)
				k.types[t.Key] = t
			}
		}
		return k
	})
}

var exprKeys, stmtKeys = keysOf(false), keysOf(true)

func (r *reader) exprs(o *object, name string, depth int) []tir.Expr {
	list, at := o.list(name)
	all := make([]tir.Expr, len(list))
	for i, v := range list {
		all[i] = r.exprOf(v, at.element(i), depth)
	}
	return all
}

func (r *reader) expr(o *object, name string, depth int) tir.Expr {
	v, at := o.get(name)
	return r.exprOf(v, at, depth)
}

// exprOf reads an expression at the given depth of nesting.
func (r *reader) exprOf(v any, at *position, depth int) tir.Expr {
	if depth > form.MaxExprDepth {
		failJSON(at, "expressions are nested more than %d deep", form.MaxExprDepth)
	}
	o := r.object(at, v)
	e, err := r.exprNode(o, depth+1)
	if err == nil {
		e, err = form.Made(e)
	}
	if err != nil {
		failJSON(at, "%v", err)
	}
	o.done()
	return e
}

// exprNode reads an expression. Constructors of package tir make it and report what is wrong with it.
func (r *reader) exprNode(o *object, depth int) (tir.Expr, error) {
	key := o.sortField("expression", exprKeys().keys)
	switch key {
	case "var":
		return r.varField(o, "var"), nil
	case "int":
		v, at := o.get("int")
		n, ok := v.(json.Number)
		if !ok {
			failJSON(at, "found %s, want an integer", sortOf(v))
		}
		t := o.typ("type")
		if !tir.IsInt(t) && !tir.IsBool(t) || t.Lanes != 1 {
			failJSON(at, "type %s has no such constants", form.TypeText(t))
		}
		return form.Const(t, n.String())
	case "float":
		t := o.typ("type")
		if !tir.IsFloat(t) || t.Lanes != 1 {
			failJSON(o.at, "type %s has no such constants", form.TypeText(t))
		}
		return form.Float(t, o.float("float"))
	}
	n := r.fields(o, exprKeys().types[key], depth, depth)
	switch n := n.(type) {
	case *tir.Binary:
		e := tir.NewBinary(n.Op, n.A, n.B)
		if x, ok := e.(*tir.Binary); ok && (x.A != n.A || x.B != n.B) {
			failJSON(o.at, "operands of types %s and %s: cast one", n.A.DType(), n.B.DType())
		}
		return e, nil
	case *tir.Not:
		return tir.NewNot(n.A), nil
	case *tir.Select:
		e := tir.NewSelect(n.Cond, n.Then, n.Else)
		if x, ok := e.(*tir.Select); ok && (x.Cond != n.Cond || x.Then != n.Then || x.Else != n.Else) {
			failJSON(o.at, "select by %s of types %s and %s: cast one", n.Cond.DType(), n.Then.DType(), n.Else.DType())
		}
		return e, nil
	case *tir.Cast:
		return tir.NewExplicitCast(n.Type, n.Value), nil
	case *tir.BufferLoad:
		return tir.BufferAt(n.Buffer, n.Indices...), nil
	case *tir.Ramp:
		return tir.NewRamp(n.Base, n.Stride, n.Lanes), nil
	case *tir.Broadcast:
		return tir.NewBroadcast(n.Value, n.Lanes), nil
	case *tir.Shuffle:
		return tir.NewShuffle(n.Vectors, n.Indices), nil
	case *tir.Let:
		sameType(o, n.Var, n.Value)
	case *tir.Call:
		return tir.NewCall(n.Kind, n.Type, n.Name, n.Args...), nil
	}
	return n.(tir.Expr), nil
}

func sameType(o *object, v *tir.Var, value tir.Expr) {
	if t := value.DType(); t != v.Type {
		failJSON(o.at, "variable %s is of type %s, and its value of type %s", v.Name, form.TypeText(v.Type), form.TypeText(t))
	}
}

// fields reads the fields of a node of the given type, at the given depths of nested expressions and statements.
func (r *reader) fields(o *object, t *tir.NodeType, exprs, stmts int) any {
	n := t.New()
	switch {
	case keyField(t) != nil:
	case !allExprs(t, n):
		v, at := o.get(t.Key)
		inner := r.object(at, v)
		r.fieldsOf(inner, t, n, exprs, stmts)
		inner.done()
		return n
	default:
		list := r.exprs(o, t.Key, exprs)
		if len(list) != len(t.Fields) {
			failJSON(o.at, "%s of %d expressions: want %d", t.Key, len(list), len(t.Fields))
		}
		for i, e := range list {
			*t.Fields[i].In(n).(*tir.Expr) = e
		}
		return n
	}
	r.fieldsOf(o, t, n, exprs, stmts)
	return n
}

// fieldsOf reads the fields of an object into those of a node.
func (r *reader) fieldsOf(o *object, t *tir.NodeType, n any, exprs, stmts int) {
	for i := range t.Fields {
		f := &t.Fields[i]
		switch x := f.In(n).(type) {
		case *map[string]any:
			if attrs := r.attrs(o); len(attrs) > 0 {
				*x = attrs
			}
		case *any:
			if o.has(f.Key) {
				v, at := o.get(f.Key)
				*x = r.reference(r.object(at, v))
			}
		default:
			if !f.Optional || o.has(f.Key) {
				r.field(o, f, x, exprs, stmts)
			}
		}
	}
}

// field reads a field and stores the result in to, a pointer to the node's field.
func (r *reader) field(o *object, f *tir.Field, to any, exprs, stmts int) {
	switch x := to.(type) {
	case *tir.Expr:
		*x = r.expr(o, f.Key, exprs)
	case *[]tir.Expr:
		*x = r.exprs(o, f.Key, exprs)
	case *tir.Stmt:
		*x = r.stmt(o, f.Key, stmts)
	case *[]tir.Stmt:
		v, at := o.get(f.Key)
		list, ok := v.([]any)
		if !ok {
			failJSON(at, "found %s, want a list", sortOf(v))
		}
		*x = r.stmtOf(list, at, stmts).(*tir.Seq).Stmts
	case **tir.Var:
		*x = r.varField(o, f.Key)
	case **tir.Buffer:
		*x = r.bufferField(o, f.Key)
	case *tir.Type:
		*x = o.typ(f.Key)
	case *string:
		*x = o.text(f.Key)
	case *int:
		least, greatest := math.MinInt, math.MaxInt
		if f.Key == "lanes" {
			least, greatest = 1, tir.MaxLanes
		}
		*x = o.whole(f.Key, least, greatest)
	case *int64:
		*x = int64(o.whole(f.Key, math.MinInt, math.MaxInt))
	case *float64:
		*x = o.float(f.Key)
	case *[]int:
		list, at := o.list(f.Key)
		*x = make([]int, len(list))
		for i, v := range list {
			least := -1 << 30
			if f.Key == "indices" {
				least = 0
			}
			(*x)[i] = wholeOf(v, at.element(i), least, 1<<30)
		}
	case *tir.BinaryOp:
		*x = enumField[tir.BinaryOp](o, f.Key, "operation")
	case *tir.CallKind:
		*x = enumField[tir.CallKind](o, f.Key, "kind of call")
	case *tir.ForKind:
		*x = enumField[tir.ForKind](o, f.Key, "kind of loop")
	default:
		failJSON(o.at, "field %s has no JSON form", f.Name)
	}
}

func (r *reader) stmt(o *object, name string, depth int) tir.Stmt {
	v, at := o.get(name)
	return r.stmtOf(v, at, depth)
}

// stmtOf reads a statement at the given depth of nesting; sequences do not count as a level.
func (r *reader) stmtOf(v any, at *position, depth int) tir.Stmt {
	if depth > form.MaxStmtDepth {
		failJSON(at, "statements are nested more than %d deep", form.MaxStmtDepth)
	}
	if list, ok := v.([]any); ok {
		s := &tir.Seq{}
		for i, x := range list {
			s.Stmts = append(s.Stmts, r.stmtOf(x, at.element(i), depth))
		}
		return s
	}
	o := r.object(at, v)
	s := r.stmtNode(o, depth+1)
	o.done()
	return s
}

// stmtNode reads a statement. Nested statements do not count as levels of the expressions in them.
func (r *reader) stmtNode(o *object, depth int) tir.Stmt {
	n := r.fields(o, stmtKeys().types[o.sortField("statement", stmtKeys().keys)], 1, depth)
	switch n := n.(type) {
	case *tir.BufferStore:
		load := tir.BufferAt(n.Buffer, n.Indices...)
		if bad, isBad := load.(*tir.Bad); isBad {
			failJSON(o.at, "%v", form.Trimmed(bad.Err))
		}
		if t := n.Value.DType(); t != load.DType() {
			failJSON(o.at, "a value of type %s is stored in buffer %s as %s", form.TypeText(t), n.Buffer.Name,
				form.TypeText(load.DType()))
		}
	case *tir.For:
		checkSpan(o, n.Var, n.Min, n.Extent)
	case *tir.While:
		checkCond(o, "while", n.Cond)
	case *tir.If:
		checkCond(o, "if", n.Cond)
	case *tir.LetStmt:
		sameType(o, n.Var, n.Value)
	case *tir.Assert:
		checkCond(o, "assert", n.Cond)
	}
	return n.(tir.Stmt)
}

func checkCond(o *object, key string, e tir.Expr) {
	if t := e.DType(); t != tir.Bool {
		failJSON(o.at.member(key), "type %s: want bool", form.TypeText(t))
	}
}

// checkSpan checks the range of a variable.
func checkSpan(o *object, v *tir.Var, low, n tir.Expr) {
	if !tir.IsInt(v.Type) || v.Type.Lanes != 1 || low.DType() != v.Type || n.DType() != v.Type {
		failJSON(o.at, "variable %s of type %s in a range of types %s and %s: want integers of one lane and one type",
			v.Name, form.TypeText(v.Type), form.TypeText(low.DType()), form.TypeText(n.DType()))
	}
}

// reference reads the node that an attribute refers to.
func (r *reader) reference(o *object) (node any) {
	switch o.sortField("variable, buffer or axis", []string{"var", "buffer", "iter"}) {
	case "var":
		node = r.varField(o, "var")
	case "buffer":
		node = r.bufferField(o, "buffer")
	default:
		x := &tir.IterVar{Var: r.varField(o, "iter"), Thread: o.optional("thread")}
		x.Kind = enumField[tir.IterKind](o, "kind", "kind of axis")
		if o.has("min") || o.has("extent") {
			x.Min, x.Extent = r.expr(o, "min", 1), r.expr(o, "extent", 1)
			checkSpan(o, x.Var, x.Min, x.Extent)
		}
		node = x
	}
	o.done()
	return node
}

// enumField reads a field with the name of an enumeration's value.
func enumField[E tir.Enum](o *object, name, what string) E {
	e, known := tir.ByName[E](o.text(name))
	if !known {
		failJSON(o.at.member(name), "unknown %s %q: want one of %q", what, form.Clip(o.text(name)),
			tir.Names[E]())
	}
	return e
}
