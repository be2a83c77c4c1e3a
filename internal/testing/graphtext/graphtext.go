// Package graphtext tests the text form of functions of package graph.
package graphtext

import (
	"fmt"
	"strings"

	"tvmgo/graph"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// RoundTrip prints a function and reads the text, with all elements and with a table of constants. The error says how
// what was read differs from the function.
func RoundTrip(f *graph.Function) error {
	for _, form := range []struct {
		text      string
		again     func(*graph.Function) string
		constants map[string][]byte
	}{{f.Text(), (*graph.Function).Text, nil}, {f.String(), (*graph.Function).String, f.Constants()}} {
		read, err := graph.Parse(form.text, form.constants)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, form.text)
		}
		if len(read) != 1 {
			return fmt.Errorf("%d functions are read: want 1", len(read))
		}
		if again := form.again(read[0]); again != form.text {
			return fmt.Errorf("the text changed from\n%s\nto\n%s", form.text, again)
		}
		c := comparison{values: map[*graph.Value]*graph.Value{}}
		c.function(f, read[0])
		if len(c.differences) > 0 {
			return fmt.Errorf("%s\n%s", strings.Join(c.differences, "\n"), form.text)
		}
	}
	return nil
}

// comparison collects the differences of two functions.
type comparison struct {
	values      map[*graph.Value]*graph.Value
	differences []string
}

// equal adds a difference if two things have different texts.
func (c *comparison) equal(what string, a, b any) {
	if x, y := fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b); x != y {
		c.differences = append(c.differences, fmt.Sprintf("%s: %s, want %s", what, y, x))
	}
}

func (c *comparison) function(a, b *graph.Function) {
	c.equal("name", a.Name, b.Name)
	c.list("parameters", a.Params, b.Params)
	c.equal("nodes", len(a.Nodes), len(b.Nodes))
	for i := range min(len(a.Nodes), len(b.Nodes)) {
		c.node(a.Nodes[i], b.Nodes[i])
	}
	c.list("results", a.Results, b.Results)
}

func (c *comparison) node(a, b *graph.Node) {
	c.equal("operator", a.Op.Name, b.Op.Name)
	c.equal("attributes of "+a.Op.Name, len(a.Attrs), len(b.Attrs))
	for name, value := range a.Attrs {
		if sizes, ok := value.([]tir.Expr); ok {
			again, _ := b.Attrs[name].([]tir.Expr)
			c.equal("attribute "+name, exprs(sizes), exprs(again))
			continue
		}
		c.equal("attribute "+name, value, b.Attrs[name])
	}
	c.list("operands of "+a.Op.Name, a.Inputs, b.Inputs)
	c.equal("bodies", len(a.Bodies), len(b.Bodies))
	for i := range min(len(a.Bodies), len(b.Bodies)) {
		c.function(a.Bodies[i], b.Bodies[i])
	}
	outputs := append([]*graph.Value{}, a.Outputs...)
	for i, v := range outputs {
		if v != nil && v.Node != a { // it became a constant
			outputs[i] = nil
		}
	}
	c.list("results of "+a.Op.Name, outputs, b.Outputs)
}

func (c *comparison) list(what string, a, b []*graph.Value) {
	c.equal("number of "+what, len(a), len(b))
	for i := range min(len(a), len(b)) {
		c.value(fmt.Sprintf("%s %d", what, i), a[i], b[i])
	}
}

func (c *comparison) value(what string, a, b *graph.Value) {
	if a == nil || b == nil {
		c.equal(what+" is left out", a == nil, b == nil)
		return
	}
	if known := c.values[a]; known != nil {
		c.equal(what+" is another value", true, known == b)
		return
	}
	c.values[a] = b
	c.equal("name of "+what, a.Name, b.Name)
	c.equal("type of "+what, a.DType, b.DType)
	c.equal("shape of "+what, exprs(a.Shape), exprs(b.Shape))
	c.equal(what+" is constant", a.Const != nil, b.Const != nil)
	if a.Const != nil && b.Const != nil {
		c.equal("data of "+what, true, string(a.Const.Data) == string(b.Const.Data))
	}
	if a.Elements() != nil { // of others, more may be known now
		c.equal(what+" has elements", true, b.Elements() != nil)
		c.equal("elements of "+what, exprs(a.Elements()), exprs(b.Elements()))
	}
}

func exprs(list []tir.Expr) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = text.Print(e)
	}
	return out
}
