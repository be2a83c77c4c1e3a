package onnx

import (
	"errors"
	"fmt"

	"tvmgo/graph"
	"tvmgo/graph/onnx/file"
	"tvmgo/tir"
)

func init() {
	add("If", conditional)
	add("Loop", loop)
}

// body adds the nodes of a body to a function. values are its inputs.
func (c *conv) body(g *file.Graph, fn *graph.Function, values []*graph.Value) ([]*graph.Value, error) {
	if c.depth++; c.depth > maxDepth {
		return nil, fmt.Errorf("%s: bodies are more than %d levels deep", c.source, maxDepth)
	}
	defer func() { c.depth-- }()
	s := &scope{outer: c.scope, fn: fn, opsets: c.scope.opsets, attrs: c.scope.attrs, prefix: c.source + " / ",
		values: map[string]*graph.Value{}}
	if len(g.Inputs) != len(values) {
		return nil, c.fail("the body has %d inputs: want %d", len(g.Inputs), len(values))
	}
	for k, in := range g.Inputs {
		s.values[in.Name] = values[k]
	}
	if err := c.initializers(s, g); err != nil {
		return nil, err
	}
	if err := c.nodes(s, g.Nodes); err != nil {
		return nil, err
	}
	return outputs(s, g)
}

func conditional(c *conv) error {
	if e := c.in[0].Elements(); len(e) == 1 { // the condition is constant: only one body is left
		if v, ok := tir.IntValue(e[0]); ok {
			name := "else_branch"
			if v != 0 {
				name = "then_branch"
			}
			a := c.attrs[name]
			if a == nil || a.Graph == nil {
				return c.fail("attribute %q is missing", name)
			}
			results, err := c.body(a.Graph, c.scope.fn, nil)
			if err != nil {
				return err
			}
			c.bind(results)
			return nil
		}
	}
	var bodies []*graph.Function
	for _, name := range []string{"then_branch", "else_branch"} {
		a := c.attrs[name]
		if a == nil || a.Graph == nil {
			return c.fail("attribute %q is missing", name)
		}
		fn := c.scope.fn.Body(name)
		results, err := c.body(a.Graph, fn, nil)
		if err != nil {
			return c.unlessKnown(err)
		}
		fn.Return(results...)
		bodies = append(bodies, fn)
	}
	outs, err := c.scope.fn.AddIf(&graph.Node{Source: c.source, Outputs: c.wanted()}, c.in[0], bodies[0], bodies[1])
	if err != nil {
		return c.unlessKnown(err)
	}
	c.bind(outs)
	return nil
}

// unlessKnown returns the error of a conditional that needs only one of its bodies if the condition is known.
func (c *conv) unlessKnown(err error) error {
	var e *graph.ElementsError
	if known := (&graph.ElementsError{Value: c.in[0], Cause: err}); !errors.As(err, &e) && len(known.Params()) > 0 {
		return known
	}
	return err
}

func loop(c *conv) error {
	a := c.attrs["body"]
	if a == nil || a.Graph == nil {
		return c.fail(`attribute "body" is missing`)
	}
	var carried []*graph.Value
	for k := 2; k < len(c.in); k++ {
		if c.in[k] == nil {
			return c.fail("carried value %d is left out", k-2)
		}
		carried = append(carried, c.in[k])
	}
	n := &graph.Node{Source: c.source, Outputs: c.wanted()}
	outs, err := c.scope.fn.AddLoop(n, c.operand(0), c.operand(1), carried,
		func(body *graph.Function, iteration, cond *graph.Value, now []*graph.Value) (more *graph.Value, next,
			collected []*graph.Value, err error) {
			results, err := c.body(a.Graph, body, append([]*graph.Value{iteration, cond}, now...))
			if err != nil {
				return nil, nil, nil, err
			}
			if len(results) < 1+len(now) {
				return nil, nil, nil, c.fail("the body has %d outputs: want at least %d", len(results), 1+len(now))
			}
			return results[0], results[1 : 1+len(now)], results[1+len(now):], nil
		})
	if err != nil {
		return err
	}
	c.bind(outs)
	return nil
}
