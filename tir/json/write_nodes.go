package json

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"tvmgo/tir"
)

func (w *writer) exprs(all []tir.Expr) {
	w.raw("[")
	for i, e := range all {
		w.comma(i)
		w.expr(e)
	}
	w.raw("]")
}

func (w *writer) expr(e tir.Expr) {
	t := tir.TypeOf(e)
	switch {
	case tir.IsNil(e):
		w.fail("an expression is nil")
	case t == badNode:
		w.fail("an expression could not be made: %w", e.(*tir.Bad).Err)
	case t == nil || t.Key == "":
		w.fail("a finished module contains no %T: lower it first", e)
	default:
		w.object(t, e)
	}
}

var badNode = tir.TypeOf((*tir.Bad)(nil))

func (w *writer) stmt(s tir.Stmt) {
	t := tir.TypeOf(s)
	switch q, isSeq := s.(*tir.Seq); {
	case tir.IsNil(s):
		w.fail("a statement is nil")
	case isSeq:
		w.raw("[")
		for i, x := range q.Stmts {
			w.comma(i)
			w.stmt(x)
		}
		w.raw("]")
	case t == nil:
		w.fail("a %T is not a statement", s)
	default:
		w.object(t, s)
	}
}

// object writes a node as an object of its fields; the field with the node's key comes first. A node type whose key is
// not one of its fields has its fields under the key: a list if all of them are expressions, otherwise an object.
func (w *writer) object(t *tir.NodeType, node any) {
	w.raw(`{"` + t.Key + `":`)
	if v, ok := node.(*tir.Var); ok {
		w.variable(v)
		w.raw("}")
		return
	}
	key := keyField(t)
	switch {
	case key != nil:
		w.value(key, node)
	case !allExprs(t, node):
		w.raw("{")
		start := len(w.out)
		w.fields(t, node, nil)
		if len(w.out) > start { // the first field follows nothing
			w.out = slices.Delete(w.out, start, start+1)
		}
		w.raw("}}")
		return
	default:
		w.raw("[")
		for i := range t.Fields {
			w.comma(i)
			w.value(&t.Fields[i], node)
		}
		w.raw("]}")
		return
	}
	w.fields(t, node, key)
	w.raw("}")
}

// fields writes the fields of a node but for one.
func (w *writer) fields(t *tir.NodeType, node any, but *tir.Field) {
	for i := range t.Fields {
		f := &t.Fields[i]
		if attrs, ok := f.In(node).(*map[string]any); ok {
			w.attrs(*attrs)
		} else if f != but && !(f.Optional && reflect.ValueOf(f.In(node)).Elem().IsZero()) {
			w.field(f.Key)
			w.value(f, node)
		}
	}
}

// keyField returns the field that identifies a type of nodes in JSON, nil if there is none.
func keyField(t *tir.NodeType) *tir.Field {
	for i := range t.Fields {
		if t.Fields[i].Key == t.Key {
			return &t.Fields[i]
		}
	}
	return nil
}

// allExprs reports whether all fields of a node are expressions.
func allExprs(t *tir.NodeType, node any) bool {
	for i := range t.Fields {
		if _, ok := t.Fields[i].In(node).(*tir.Expr); !ok {
			return false
		}
	}
	return true
}

// value writes the value of a field.
func (w *writer) value(f *tir.Field, node any) {
	switch x := f.In(node).(type) {
	case *tir.Expr:
		w.expr(*x)
	case *[]tir.Expr:
		w.exprs(*x)
	case *tir.Stmt:
		w.stmt(*x)
	case *[]tir.Stmt:
		w.stmt(&tir.Seq{Stmts: *x})
	case **tir.Var:
		w.variable(*x)
	case **tir.Buffer:
		w.bufferRef(*x)
	case *any:
		w.reference(*x)
	case *tir.Type:
		w.typ(*x)
	case *string:
		w.text(*x)
	case *int:
		w.number(int64(*x))
	case *[]int:
		w.raw("[")
		for i, n := range *x {
			w.comma(i)
			w.number(int64(n))
		}
		w.raw("]")
	case *int64:
		if k, ok := node.(*tir.IntImm); ok && k.Type == tir.UInt64 {
			w.raw(strconv.FormatUint(uint64(*x), 10))
		} else {
			w.number(*x)
		}
	case *float64:
		w.float(*x)
	default: // the name of an operation or a kind
		name, ok := reflect.ValueOf(x).Elem().Interface().(fmt.Stringer)
		if !ok {
			w.fail("field %s of a %s has no JSON form", f.Name, tir.NodeName(node))
			return
		}
		w.word(name)
	}
}

// reference writes the node that an attribute refers to.
func (w *writer) reference(node any) {
	switch n := node.(type) {
	case *tir.Var:
		w.raw(`{"var":`)
		w.variable(n)
	case *tir.Buffer:
		w.raw(`{"buffer":`)
		w.bufferRef(n)
	case *tir.IterVar:
		if n == nil {
			w.fail("an axis is nil")
			return
		}
		w.raw(`{"iter":`)
		w.variable(n.Var)
		if !tir.IsNil(n.Min) || !tir.IsNil(n.Extent) {
			w.field("min")
			w.expr(n.Min)
			w.field("extent")
			w.expr(n.Extent)
		}
		w.field("kind")
		w.word(n.Kind)
		if n.Thread != "" {
			w.field("thread")
			w.text(n.Thread)
		}
	default:
		w.fail("an attribute refers to a %T: want *Var, *Buffer or *IterVar", n)
		return
	}
	w.raw("}")
}
