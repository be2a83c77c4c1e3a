package relaxjson

import (
	"tvmgo/dlpack"
	"tvmgo/internal/tvmnodes"
	"tvmgo/tir"
	"tvmgo/tir/tvmjson"
)

// Attrs is the attributes of a call. Their types are not in the file: the methods read an attribute as the type that
// the operator's attribute has. They panic if it is something else: see tvmnodes.Catch.
type Attrs struct {
	n     tvmnodes.Node
	sizes *tvmjson.Sizes // of the function
}

// IsNil reports whether the call has no attributes.
func (a Attrs) IsNil() bool { return a.n.IsZero() || a.n.IsNull() }

// Kind returns the type of the attributes, such as "relax.attrs.SoftmaxAttrs"; "" if there are none.
func (a Attrs) Kind() string {
	if a.IsNil() {
		return ""
	}
	return a.n.Key()
}

// Has reports whether there is an attribute, which may be null.
func (a Attrs) Has(name string) bool { return !a.IsNil() && a.n.Has(name) }

// Int returns an integer.
func (a Attrs) Int(name string) int64 { return a.n.Int(name) }

// Integer returns an integer that versions of TVM up to v0.21 write as an object.
func (a Attrs) Integer(name string) int64 {
	if !a.n.Old() {
		return a.Int(name)
	}
	v, ok := a.Value(name).(int64)
	if !ok {
		a.n.Fail("attribute %q is no integer", name)
	}
	return v
}

// Exprs returns an attribute that is a list of sizes, which may have variables; nil if it is null.
func (a Attrs) Exprs(name string) []tir.Expr {
	n := a.n.Ref(name)
	if n.IsNull() {
		return nil
	}
	out := []tir.Expr{}
	for _, e := range n.List() {
		out = append(out, a.sizes.Expr(e))
	}
	return out
}

// Bool returns a truth value.
func (a Attrs) Bool(name string) bool { return a.n.Int(name) != 0 }

// Set reports whether an attribute is true, which may be null, or an object.
func (a Attrs) Set(name string) bool {
	if v, direct := a.n.IfBool(name); direct {
		return v
	}
	switch v := a.Value(name).(type) {
	case bool:
		return v
	case int64:
		return v != 0
	}
	return false
}

// Float returns a number.
func (a Attrs) Float(name string) float64 { return a.n.Float(name) }

// Value returns an attribute that is an object: nil, int64, float64, bool, string, or a []any of them.
func (a Attrs) Value(name string) any {
	n := a.n.Ref(name)
	if n.IsNull() {
		return nil
	}
	return valueOf(n)
}

func valueOf(n tvmnodes.Node) any {
	if name := n.Name(); name == "Array" || name == "List" {
		list := []any{}
		for _, e := range n.List() {
			list = append(list, valueOf(e))
		}
		return list
	}
	if n.Name() == "PrimValue" {
		return valueOf(n.At("value"))
	}
	v, ok := n.Value()
	if !ok {
		n.Fail("want a number, a truth value, text, or a list of these")
	}
	return v
}

// Text returns an attribute that is text.
func (a Attrs) Text(name string) string { return a.n.TextAt(name) }

// Ints returns an attribute that is a list of integers, or one integer as an object; nil if it is null.
func (a Attrs) Ints(name string) []int64 {
	var list []int64
	add := func(v any) {
		i, ok := v.(int64)
		if !ok {
			a.n.Fail("attribute %q is not made of integers", name)
		}
		list = append(list, i)
	}
	switch v := a.Value(name).(type) {
	case nil:
	case []any:
		list = []int64{}
		for _, e := range v {
			add(e)
		}
	default:
		add(v)
	}
	return list
}

// DType returns an attribute that is the type of elements; Void if it is not set.
func (a Attrs) DType(name string) tir.Type { return elementType(a.n, name) }

// elementType reads a field that is the name of a type, or in newer files a type.
func elementType(n tvmnodes.Node, field string) tir.Type {
	name, direct := n.IfDirect(field)
	if !direct {
		t, ok := n.Maybe(field)
		if !ok {
			return tir.Void
		}
		if name, direct = t.IfDirect("dtype"); !direct {
			name = t.Text()
		}
	}
	if name == "" || name == "void" {
		return tir.Void
	}
	if name == "uint1" {
		name = "bool"
	}
	t, err := dlpack.ParseDataType(name)
	if err != nil {
		n.Fail("field %q: %v", field, err)
	}
	return t
}
