package graph

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Clone returns a function with the same nodes, which can be changed without a change of f. It shares the data of
// constants and the variables of sizes with f, and has values and nodes of its own. f must not be a body.
func (f *Function) Clone() *Function {
	c := cloner{values: map[*Value]*Value{}}
	return c.function(f, nil)
}

// cloner maps values to their copies.
type cloner struct{ values map[*Value]*Value }

func (c *cloner) function(f, outer *Function) *Function {
	out := &Function{Name: f.Name, ResultNames: slices.Clone(f.ResultNames), outer: outer, fresh: f.fresh,
		consts: map[*Value]*Value{}}
	if outer == nil {
		out.symbols, out.read, out.varying = copied(f.symbols), copied(f.read), copied(f.varying)
		out.ranges = copied(f.ranges)
	}
	out.Params = c.list(f.Params)
	for _, n := range f.Nodes {
		out.Nodes = append(out.Nodes, c.node(n, out))
	}
	out.Results = c.list(f.Results)
	for v, read := range f.consts {
		out.consts[c.value(v)] = c.value(read)
	}
	return out
}

func copied[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (c *cloner) list(values []*Value) []*Value {
	if values == nil {
		return nil
	}
	out := make([]*Value, len(values))
	for i, v := range values {
		out[i] = c.value(v)
	}
	return out
}

// value returns the copy of a value. Its node is set when that is copied.
func (c *cloner) value(v *Value) *Value {
	if v == nil {
		return nil
	}
	out := c.values[v]
	if out == nil {
		own := *v
		out = &own
		out.Node = nil
		c.values[v] = out
	}
	return out
}

func (c *cloner) node(n *Node, fn *Function) *Node {
	out := &Node{Op: n.Op, Attrs: n.Attrs, Inputs: c.list(n.Inputs), Source: n.Source, Kernel: n.Kernel, fn: fn}
	for _, b := range n.Bodies {
		out.Bodies = append(out.Bodies, c.function(b, fn))
	}
	out.Outputs = c.list(n.Outputs)
	for _, v := range out.Outputs {
		if v != nil {
			v.Node = out
		}
	}
	return out
}

// Part returns a function without parameters whose results are those of nodes of one or several functions. The nodes
// must be formulas whose operands are constants or results of earlier ones of them. Nodes and values are copies.
func Part(name string, nodes []*Node, results []*Value) *Function {
	c := cloner{values: map[*Value]*Value{}}
	out := NewFunction(name)
	for _, n := range nodes {
		out.Nodes = append(out.Nodes, c.node(n, out))
	}
	out.Results = c.list(results)
	return out
}

// Function returns the function that a node is in, which may be a body.
func (n *Node) Function() *Function { return n.fn }

// SetConst makes a result of a node a constant with the data that Const describes. Its shape must be constant.
func (v *Value) SetConst(data []byte) {
	v.Const, v.Node, v.elems, v.folded = &Const{Data: data}, nil, nil, nil
}

// Replaces reports whether a value can be used in place of another one: it has the same type and shape, and known
// elements where those of the other one are known.
func (v *Value) Replaces(old *Value) bool {
	if v.DType != old.DType || len(v.Shape) != len(old.Shape) || old.Elements() != nil && v.Elements() == nil {
		return false
	}
	for d, n := range v.Shape {
		if n != old.Shape[d] && !arith.ProveEqual(n, old.Shape[d]) {
			return false
		}
	}
	return true
}

// Rule is called for a node of a function. It may add nodes to the function, which are in front of the node. It returns
// values that replace results of the node, by position; nil keeps a result.
type Rule func(f *Function, n *Node) ([]*Value, error)

// Rewrite calls a rule for each node of a function and of the bodies in it, in their order: operands of the node are
// already replaced. A value that does not fit, as Value.Replaces tells, is not used. Nodes stay, also if all their
// results are replaced. It reports whether a value was replaced.
func (f *Function) Rewrite(rule Rule) (bool, error) {
	r := rewriter{rule: rule, to: map[*Value]*Value{}}
	err := r.function(f)
	return r.changed, err
}

type rewriter struct {
	rule    Rule
	to      map[*Value]*Value
	changed bool
}

func (r *rewriter) function(f *Function) error {
	nodes := f.Nodes
	f.Nodes = nil
	kept := map[*Value]bool{} // results keep their names
	for _, v := range f.Results {
		kept[v] = true
	}
	for at, n := range nodes {
		n.Inputs = r.replaced(n.Inputs)
		for _, b := range n.Bodies {
			if err := r.function(b); err != nil {
				f.Nodes = append(f.Nodes, nodes[at:]...)
				return err
			}
		}
		values, err := r.rule(f, n)
		if err != nil {
			f.Nodes = append(f.Nodes, nodes[at:]...)
			return err
		}
		for i, v := range values {
			if i >= len(n.Outputs) {
				break
			}
			if old := n.Outputs[i]; old != nil && v != nil && v != old && v.Replaces(old) && takeName(v, old, kept, f) {
				r.to[old], r.changed = v, true
			}
		}
		f.Nodes = append(f.Nodes, n)
	}
	f.Results = r.replaced(f.Results)
	return nil
}

// takeName gives a value the name of the one that it replaces, if that is a result. It reports whether it could.
func takeName(v, old *Value, kept map[*Value]bool, f *Function) bool {
	if !kept[old] {
		if v.Name == "" && v.Node != nil {
			v.Name = old.Name
		}
		return true
	}
	if v.Node == nil || v.Node.fn != f || kept[v] {
		return false
	}
	v.Name, kept[v] = old.Name, true
	return true
}

// replaced returns a list of operands or results with values replaced. It is a new list: others may share the old one.
func (r *rewriter) replaced(values []*Value) []*Value {
	if values == nil {
		return nil
	}
	out := make([]*Value, len(values))
	for i, v := range values {
		for r.to[v] != nil {
			v = r.to[v]
		}
		out[i] = v
	}
	return out
}

// Symbols returns the variables of sizes that a value depends on: those of its shape and of its known elements.
func (v *Value) Symbols() []*tir.Var {
	var list []*tir.Var
	seen := map[*tir.Var]bool{}
	for _, e := range append(append([]tir.Expr{}, v.Shape...), v.elems...) {
		tir.Walk(e, func(n any) bool {
			if x, ok := n.(*tir.Var); ok && !seen[x] {
				seen[x] = true
				list = append(list, x)
			}
			return true
		})
	}
	return list
}
