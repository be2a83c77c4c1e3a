package graph

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// Attrs are the attributes of a node: int64, float64, string, bool, []int64, []float64, []string, tir.Type, and
// []tir.Expr for sizes, which may depend on variables. Attributes that are left out have the default of the operator.
type Attrs map[string]any

// Attr declares an attribute of an operator. The default determines its type; a nil slice or an empty string stands for
// an attribute that is left out.
type Attr struct {
	Name    string
	Default any
}

func (a *Attr) check(value any) error {
	if fmt.Sprintf("%T", value) == fmt.Sprintf("%T", a.Default) {
		return nil
	}
	return fmt.Errorf("attribute %q is a %s: want a %s", a.Name, typeWord(value), typeWord(a.Default))
}

func typeWord(v any) string {
	switch v.(type) {
	case int64:
		return "integer"
	case float64:
		return "float"
	case string:
		return "string"
	case bool:
		return "bool"
	case []int64:
		return "list of integers"
	case []float64:
		return "list of floats"
	case []string:
		return "list of strings"
	case tir.Type:
		return "type"
	case []tir.Expr:
		return "list of sizes"
	}
	return fmt.Sprintf("%T", v)
}

// Attr returns the value of an attribute, or its default; nil if the operator does not declare it.
func (n *Node) Attr(name string) any {
	if v, ok := n.Attrs[name]; ok {
		return v
	}
	for _, a := range n.Op.Attrs {
		if a.Name == name {
			return a.Default
		}
	}
	return nil
}

// get returns the value of an attribute, or its default.
func get[T any](n *Node, name string) T {
	if v := n.Attr(name); v != nil {
		return v.(T) // Op.check compared the types
	}
	panic(failure{fmt.Errorf("operator %s reads attribute %q, which it does not declare", n.Op.Name, name)})
}

// Int returns an attribute of type int64.
func (c *Call) Int(name string) int { return int(get[int64](c.node, name)) }

// Bool returns an attribute of type bool.
func (c *Call) Bool(name string) bool { return get[bool](c.node, name) }

// Flag returns whether an attribute of type int64 is not 0.
func (c *Call) Flag(name string) bool { return get[int64](c.node, name) != 0 }

// Float returns an attribute of type float64.
func (c *Call) Float(name string) float64 { return get[float64](c.node, name) }

// Text returns an attribute of type string.
func (c *Call) Text(name string) string { return get[string](c.node, name) }

// Ints returns an attribute that is a list of integers.
func (c *Call) Ints(name string) []int {
	values := get[[]int64](c.node, name)
	if values == nil {
		return nil
	}
	out := make([]int, len(values))
	for i, v := range values {
		out[i] = int(v)
	}
	return out
}

// Floats returns an attribute that is a list of floats.
func (c *Call) Floats(name string) []float64 { return get[[]float64](c.node, name) }

// Texts returns an attribute that is a list of strings.
func (c *Call) Texts(name string) []string { return get[[]string](c.node, name) }

// Type returns an attribute that is a type; the zero value if it is left out.
func (c *Call) Type(name string) tir.Type { return get[tir.Type](c.node, name) }

// Exprs returns an attribute that is a list of sizes.
func (c *Call) Exprs(name string) []tir.Expr { return get[[]tir.Expr](c.node, name) }

// Declares reports whether the operator has an attribute of this name.
func (c *Call) Declares(name string) bool {
	return slices.ContainsFunc(c.node.Op.Attrs, func(a Attr) bool { return a.Name == name })
}
