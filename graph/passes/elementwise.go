package passes

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/tir"
)

// moved are the rules of transposes that meet: with elementwise operators between them, they become one, which stands
// before these operators, or none.
var moved = []rewrite{lifted, transposes}

// mostLifted limits the nodes between two transposes.
const mostLifted = 16

// lifted moves a transpose to the operands of the elementwise operators that compute its operand, if a transpose is
// there.
func lifted(e *edit) *graph.Value {
	if !e.is("transpose") {
		return nil
	}
	l := lifting{edit: e, perm: permutation(e.n), new: map[*graph.Value]*graph.Value{}}
	if x := e.in(0); !l.can(x) || l.met == 0 || l.nodes == 0 {
		return nil
	}
	return l.value(e.in(0))
}

// lifting is the move of a transpose.
type lifting struct {
	*edit
	perm       []int64
	met, nodes int
	new        map[*graph.Value]*graph.Value // what a value is after the move
}

// can reports whether a value can be transposed without a new transpose of data: it is computed from transposes,
// constants and single elements by elementwise operators, which nothing else reads.
func (l *lifting) can(v *graph.Value) bool {
	if isSingle(v) || l.constant(v) && len(v.Shape) <= len(l.perm) {
		return true
	}
	if len(v.Shape) != len(l.perm) || !l.once(v) {
		return false
	}
	n := v.Node
	if n == nil || n.Function() != l.f || n.Op.Control != graph.Formula || len(n.Outputs) != 1 {
		return false
	}
	if n.Op.Name == "transpose" {
		l.met++
		return true
	}
	if l.nodes++; l.nodes > mostLifted || n.Op.View || !elementwise(n) {
		return false
	}
	for _, in := range n.Inputs {
		if in != nil && !l.can(in) {
			return false
		}
	}
	return true
}

// value adds the nodes of a transposed value; nil if one of them does not fit.
func (l *lifting) value(v *graph.Value) *graph.Value {
	if out := l.new[v]; out != nil {
		return out
	}
	var out *graph.Value
	switch n := v.Node; {
	case isSingle(v) && len(v.Shape) != len(l.perm):
		out = v
	case n != nil && n.Op.Name == "transpose" && !l.constant(v):
		first := permutation(n)
		perm := make([]int64, len(l.perm))
		for d, p := range l.perm {
			perm[d] = first[p]
		}
		out = l.permuted(n.Inputs[0], perm)
	case isSingle(v), l.constant(v):
		shape, _ := v.StaticShape()
		for len(shape) < len(l.perm) {
			shape = append([]int64{1}, shape...)
		}
		out = l.add("transpose", graph.Attrs{"perm": l.perm}, l.reshaped(v, shape...))
	default:
		in := make([]*graph.Value, len(n.Inputs))
		for k, x := range n.Inputs {
			if x == nil {
				continue
			}
			if in[k] = l.value(x); in[k] == nil {
				return nil
			}
		}
		out = l.add(n.Op.Name, n.Attrs, in...)
	}
	l.new[v] = out
	return out
}

// elementwise reports whether each element of a node's result is a formula of the elements of its operands at the same
// indices, which is the same formula everywhere, so that the order of dimensions has no meaning.
func elementwise(n *graph.Node) bool {
	ins := make([]*te.Tensor, len(n.Inputs))
	seen := map[*te.Tensor]bool{}
	for i, v := range n.Inputs {
		if v != nil {
			ins[i] = te.Placeholder(v.Shape, v.DType, "p")
			seen[ins[i]] = true
		}
	}
	outs, err := n.Tensors(ins)
	return err == nil && len(outs) == 1 && pointwise(outs[0], seen)
}

// pointwise is elementwise for a tensor. Tensors in seen are.
func pointwise(t *te.Tensor, seen map[*te.Tensor]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	if len(t.Bodies()) != 1 || len(t.ReduceAxes()) > 0 || len(t.Inputs()) > 0 {
		return false
	}
	axes := map[*tir.Var]int{}
	for d, a := range t.Axes() {
		axes[a.Var] = d
	}
	ok := true
	tir.Walk(t.Bodies()[0], func(n any) bool {
		switch n := n.(type) {
		case *tir.ProducerLoad:
			from, isTensor := n.Producer.(*te.Tensor)
			ok = ok && isTensor && sameIndices(n.Indices, axes, from) && pointwise(from, seen)
			return false // indices may name the axes
		case *tir.Var:
			if _, isAxis := axes[n]; isAxis {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// sameIndices reports whether an element is read at the indices of the result, counted from the last dimension, or at 0
// where the tensor has one element.
func sameIndices(indices []tir.Expr, axes map[*tir.Var]int, of *te.Tensor) bool {
	for k, i := range indices {
		if c, ok := tir.IntValue(i); ok && c == 0 {
			if n, fixed := tir.IntValue(of.ProducerShape()[k]); fixed && n == 1 {
				continue
			}
			return false
		}
		v, ok := i.(*tir.Var)
		if !ok {
			return false
		}
		if d, isAxis := axes[v]; !isAxis || d != len(axes)-len(indices)+k {
			return false
		}
	}
	return true
}
