package passes

import (
	"context"

	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/tir"
)

// rewrite is a rule for the first result of a node: it returns the value that replaces it, or nil.
type rewrite func(e *edit) *graph.Value

// edit is a node that rules look at.
type edit struct {
	f    *graph.Function
	n    *graph.Node
	uses map[*graph.Value]int  // of values that were there before the pass
	made map[*graph.Value]bool // whether a value is computed from constants
}

// mostRounds limits how often rules are tried: each round may make new cases for others.
const mostRounds = 8

// rules returns a pass that tries rules on each node, until none applies. Nodes that are not needed then are removed.
func rules(list ...rewrite) func(context.Context, *graph.Function, *target.Target, Options) error {
	return func(ctx context.Context, f *graph.Function, t *target.Target, o Options) error {
		for range mostRounds {
			uses, made := map[*graph.Value]int{}, map[*graph.Value]bool{}
			count(f, uses)
			changed, err := f.Rewrite(func(g *graph.Function, n *graph.Node) ([]*graph.Value, error) {
				if n.Op.Control != graph.Formula || n.Outputs[0] == nil {
					return nil, nil
				}
				e := &edit{g, n, uses, made}
				for _, r := range list {
					if v := r(e); v != nil && v.Replaces(n.Outputs[0]) {
						uses[v] += uses[n.Outputs[0]]
						return []*graph.Value{v}, nil
					}
				}
				return nil, nil
			})
			if err != nil {
				return err
			}
			if err := dead(ctx, f, t, o); err != nil || !changed {
				return err
			}
		}
		return nil
	}
}

// count counts how often values are read.
func count(f *graph.Function, uses map[*graph.Value]int) {
	for _, v := range f.Results {
		uses[v]++
	}
	for _, n := range f.Nodes {
		for _, v := range n.Inputs {
			uses[v]++
		}
		for _, b := range n.Bodies {
			count(b, uses)
		}
	}
}

// is reports whether the node has an operator.
func (e *edit) is(ops ...string) bool { return named(e.n, ops...) }

func named(n *graph.Node, ops ...string) bool {
	for _, op := range ops {
		if n.Op.Name == op {
			return true
		}
	}
	return false
}

// in returns an operand; nil if it is left out.
func (e *edit) in(i int) *graph.Value { return operand(e.n, i) }

func operand(n *graph.Node, i int) *graph.Value {
	if i >= len(n.Inputs) {
		return nil
	}
	return n.Inputs[i]
}

// from returns the node that computes a value in the same function, if it has one of the operators; else nil.
func (e *edit) from(v *graph.Value, ops ...string) *graph.Node {
	if v == nil || v.Node == nil || v.Node.Function() != e.f || v.Node.Outputs[0] != v || v.AsConst() != nil ||
		!named(v.Node, ops...) {
		return nil
	}
	return v.Node
}

// constant reports whether a value is a constant, or computed from constants, so that pass fold makes it one.
func (e *edit) constant(v *graph.Value) bool {
	if v == nil || v.AsConst() != nil {
		return v != nil
	}
	if v.Node == nil || v.Node.Op.Control != graph.Formula {
		return false
	}
	is, ok := e.made[v]
	if !ok {
		is = true
		for _, in := range v.Node.Inputs {
			is = is && (in == nil || e.constant(in))
		}
		e.made[v] = is
	}
	return is
}

// once reports whether only one node reads a value.
func (e *edit) once(v *graph.Value) bool { return e.uses[v] <= 1 }

// add adds a node in front of this one, and returns its first result; nil if the operator does not take the operands:
// the rule does not apply then.
func (e *edit) add(op string, attrs graph.Attrs, in ...*graph.Value) *graph.Value {
	for i, v := range in {
		if v == nil && i < graph.LookupOp(op).In[0] {
			return nil // an earlier node of the rule failed
		}
	}
	n := &graph.Node{Op: graph.LookupOp(op), Attrs: attrs, Inputs: in, Outputs: []*graph.Value{{}}, Source: e.n.Source}
	outs, err := e.f.AddNode(n, op)
	if err != nil {
		return nil
	}
	return outs[0]
}

// number makes a constant without dimensions; nil if the type has none.
func (e *edit) number(t tir.Type, x float64) *graph.Value {
	v, err := e.f.Scalar(t, x)
	if err != nil {
		return nil
	}
	return v
}

// reshaped adds a reshape to a constant shape.
func (e *edit) reshaped(v *graph.Value, shape ...int64) *graph.Value {
	return e.add("reshape", graph.Attrs{"allowzero": int64(1)}, v, e.f.Ints("shape", shape...))
}

// with returns attributes with some of them changed.
func with(n *graph.Node, changed graph.Attrs) graph.Attrs {
	out := graph.Attrs{}
	for k, v := range n.Attrs {
		out[k] = v
	}
	for k, v := range changed {
		out[k] = v
	}
	return out
}
