package onnx

import (
	"fmt"
	"slices"

	"tvmgo/graph"
	"tvmgo/graph/onnx/file"
	"tvmgo/tir"
)

// conv is a node that is converted. Rules read it and add nodes of package graph.
type conv struct {
	*importer
	scope  *scope
	node   *file.Node
	source string
	opset  int64
	in     []*graph.Value // nil: left out
	attrs  map[string]*file.Attribute
}

// node converts a node.
func (i *importer) node(s *scope, n *file.Node, at int) (err error) {
	c := &conv{importer: i, scope: s, node: n, opset: s.opsets[domainOf(n.Domain)], attrs: map[string]*file.Attribute{}}
	c.source = fmt.Sprintf("%s%s (%s)", s.prefix, nodeName(n, at), n.OpType)
	defer func() { // a rule reads operands and attributes that another node of the operator would have
		if p := recover(); p != nil {
			err = c.fail("the node cannot be read: %v: check the numbers and types of its operands and attributes", p)
		}
	}()
	for k, name := range n.Outputs {
		if name != "" && (s.values[name] != nil || slices.Contains(n.Outputs[:k], name)) {
			return c.fail("its output %q is the name of another value: give every value a name of its own", name)
		}
	}
	for _, name := range n.Inputs {
		c.in = append(c.in, s.find(name))
	}
	for _, a := range n.Attributes {
		if a.Ref != "" {
			of := s.attrs[a.Ref]
			if of == nil {
				continue // the function has no such attribute, or the call leaves it out
			}
			renamed := *of
			renamed.Name = a.Name
			a = &renamed
		}
		c.attrs[a.Name] = a
	}
	if f := i.functions[functionKey(n.Domain, n.OpType)]; f != nil {
		return c.inline(f)
	}
	rule := rules[functionKey(n.Domain, n.OpType)]
	if rule == nil {
		return &UnsupportedError{[]UnsupportedNode{{s.prefix + nodeName(n, at), n.OpType, domainOf(n.Domain),
			c.opset}}}
	}
	return rule(c)
}

// inline adds the nodes of a function.
func (c *conv) inline(f *file.Function) error {
	if c.depth++; c.depth > maxDepth {
		return fmt.Errorf("%s: functions call each other more than %d levels deep", c.source, maxDepth)
	}
	defer func() { c.depth-- }()
	if c.calls++; c.calls > maxCalls {
		return fmt.Errorf("%s: the model has more than %d calls of functions, with those in functions", c.source, maxCalls)
	}
	inner := &scope{fn: c.scope.fn, opsets: opsetsOf(f.OpsetImports), values: map[string]*graph.Value{},
		prefix: c.source + " / ", attrs: map[string]*file.Attribute{}}
	for _, a := range f.Attributes {
		inner.attrs[a.Name] = a
	}
	for name, a := range c.attrs {
		inner.attrs[name] = a
	}
	for k, name := range f.Inputs {
		if k < len(c.in) && c.in[k] != nil {
			inner.values[name] = c.in[k]
		}
	}
	if err := c.nodes(inner, f.Nodes); err != nil {
		return err
	}
	for k, name := range c.node.Outputs {
		if name == "" {
			continue
		}
		if k >= len(f.Outputs) || inner.values[f.Outputs[k]] == nil {
			return fmt.Errorf("%s: the function has no result %d", c.source, k)
		}
		c.scope.values[name] = inner.values[f.Outputs[k]]
	}
	return nil
}

// fail returns an error that names the node.
func (c *conv) fail(format string, args ...any) error {
	return fmt.Errorf("%s: %w", c.source, fmt.Errorf(format, args...))
}

// add adds a node without names for its results.
func (c *conv) add(op string, attrs graph.Attrs, in ...*graph.Value) (*graph.Value, error) {
	out, err := c.scope.fn.AddNode(&graph.Node{Op: graph.LookupOp(op), Attrs: attrs, Inputs: in, Source: c.source}, op)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// result adds the node whose results are those of the ONNX node.
func (c *conv) result(op string, attrs graph.Attrs, in ...*graph.Value) error {
	n := &graph.Node{Op: graph.LookupOp(op), Attrs: attrs, Inputs: in, Source: c.source, Outputs: c.wanted()}
	outs, err := c.scope.fn.AddNode(n, op)
	if err != nil {
		return err
	}
	c.bind(outs)
	return nil
}

// wanted returns the values for the outputs of the node.
func (c *conv) wanted() []*graph.Value {
	outs := make([]*graph.Value, len(c.node.Outputs))
	for k, name := range c.node.Outputs {
		if name != "" {
			outs[k] = &graph.Value{Name: name}
		}
	}
	for len(outs) > 1 && outs[len(outs)-1] == nil {
		outs = outs[:len(outs)-1]
	}
	return outs
}

func (c *conv) bind(values []*graph.Value) {
	for k, name := range c.node.Outputs {
		if name != "" && k < len(values) && values[k] != nil {
			c.scope.values[name] = values[k]
		}
	}
}

// has reports whether an operand is given.
func (c *conv) has(k int) bool { return k < len(c.in) && c.in[k] != nil }

func (c *conv) operand(k int) *graph.Value {
	if c.has(k) {
		return c.in[k]
	}
	return nil
}

// operands returns n operands, of which those that are left out are nil.
func (c *conv) operands(n int) []*graph.Value {
	out := make([]*graph.Value, n)
	copy(out, c.in)
	return out
}

// integer returns an attribute, or a default.
func (c *conv) integer(name string, otherwise int64) int64 {
	if a := c.attrs[name]; a != nil {
		return a.Int
	}
	return otherwise
}

// real returns an attribute, or a default.
func (c *conv) real(name string, otherwise float32) float32 {
	if a := c.attrs[name]; a != nil {
		return a.Float
	}
	return otherwise
}

// text returns an attribute, or a default.
func (c *conv) text(name, otherwise string) string {
	if a := c.attrs[name]; a != nil {
		return a.String
	}
	return otherwise
}

// graphAttrs converts the attributes that the operator declares. Attributes in skip have been used by the rule.
func (c *conv) graphAttrs(op *graph.Op, skip ...string) (graph.Attrs, error) {
	out := graph.Attrs{}
next:
	for name, a := range c.attrs {
		for _, s := range skip {
			if s == name {
				continue next
			}
		}
		for _, d := range op.Attrs {
			if d.Name != name {
				continue
			}
			v, err := attribute(a, d.Default)
			if err != nil {
				return nil, c.fail("attribute %q: %w", name, err)
			}
			out[name] = v
			continue next
		}
		if !ignored[name] {
			return nil, c.fail("attribute %q is not supported", name)
		}
	}
	return out, nil
}

// ignored are attributes of old operator sets, and of training, that have no effect.
var ignored = map[string]bool{"consumed_inputs": true, "spatial": true, "seed": true, "training_mode": true,
	"storage_order": false, "is_test": true}

// attribute converts the value of an attribute to the type of a default.
func attribute(a *file.Attribute, like any) (any, error) {
	switch like.(type) {
	case int64:
		return a.Int, nil
	case float64:
		return float64(a.Float), nil
	case string:
		return string(a.String), nil
	case bool:
		return a.Int != 0, nil
	case []int64:
		return append([]int64{}, a.Ints...), nil
	case []float64:
		out := []float64{}
		for _, x := range a.Floats {
			out = append(out, float64(x))
		}
		return out, nil
	case []string:
		out := []string{}
		for _, x := range a.Strings {
			out = append(out, string(x))
		}
		return out, nil
	case tir.Type:
		if a.Int == 0 { // not given
			return tir.Type{}, nil
		}
		return dtypeOf(file.DataType(a.Int))
	}
	return nil, fmt.Errorf("no attribute has the type %T", like)
}
