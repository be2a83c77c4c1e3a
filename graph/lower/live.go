package lower

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/tir"
)

// step is a node that has to be executed.
type step struct {
	node  *graph.Node
	reads []*graph.Value // the operands that it reads, without those whose elements are part of the code
	wants []*graph.Value // the results that are used
	vars  []*tir.Var     // the sizes that its code depends on
	check []graph.Check  // conditions on sizes
	kind  stepKind
	size  int                   // the number of nodes of its formulas
	loads map[*graph.Value]int  // how often its formulas read each operand
	same  map[*graph.Value]bool // operands of which each element of the result reads only the one at its own indices

	bodies [][]*step // of control flow
}

// needs is what the steps after a point use.
type needs struct {
	values map[*graph.Value]bool
	vars   map[*tir.Var]bool
}

func (n *needs) value(v *graph.Value) {
	n.values[v] = true
	n.sizes(variables(v.Shape...)...)
}

func (n *needs) sizes(vars ...*tir.Var) {
	for _, v := range vars {
		n.vars[v] = true
	}
}

// steps returns the nodes of a function that have to be executed for its results.
func (l *lowering) steps(g *graph.Function, n *needs) ([]*step, error) {
	for _, v := range g.Results {
		n.value(v)
	}
	var list []*step
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		s, err := l.step(g.Nodes[i], n)
		if err != nil {
			return nil, err
		}
		if s != nil {
			list = append(list, s)
		}
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, nil
}

// step returns the step for a node, or nil if nothing needs it.
func (l *lowering) step(node *graph.Node, n *needs) (*step, error) {
	s := &step{node: node}
	for _, v := range node.Outputs {
		if v != nil && n.values[v] && v.AsConst() == nil {
			s.wants = append(s.wants, v)
		}
	}
	switch node.Op.Control {
	case graph.Elements:
		out := node.Outputs[0]
		for _, e := range out.Elements() {
			for _, v := range variables(e) {
				if n.vars[v] || len(s.wants) > 0 {
					s.reads = node.Inputs
				}
			}
		}
		if s.reads == nil {
			return nil, nil
		}
	case graph.Formula:
		if len(s.wants) == 0 {
			return nil, nil
		}
		if err := s.examine(); err != nil {
			return nil, err
		}
	case graph.Loops:
		if len(s.wants) == 0 {
			return nil, nil
		}
		s.wants, s.vars = node.Outputs, node.Kernel.Symbols()
		for _, v := range node.Inputs {
			if !contains(s.reads, v) {
				s.reads = append(s.reads, v)
			}
		}
	default:
		return l.control(s, n)
	}
	for _, v := range s.reads {
		n.value(v)
	}
	n.sizes(s.vars...)
	return s, nil
}

// examine finds what the formulas of a node read.
func (s *step) examine() error {
	ins := make([]*te.Tensor, len(s.node.Inputs))
	from := map[*te.Tensor]*graph.Value{}
	for i, v := range s.node.Inputs {
		if v != nil {
			ins[i] = te.Placeholder(v.Shape, v.DType, "p")
			from[ins[i]] = v
		}
	}
	outs, err := s.node.Tensors(ins)
	if err != nil {
		return err
	}
	d := dag{seen: map[*te.Tensor]bool{}}
	for i, v := range s.node.Outputs {
		if v != nil && contains(s.wants, v) {
			d.visit(outs[i])
		}
	}
	for _, t := range ins {
		if t != nil && d.seen[t] && !contains(s.reads, from[t]) {
			s.reads = append(s.reads, from[t])
		}
	}
	s.vars, s.check = d.vars(), s.node.Checks()
	for _, c := range s.check {
		s.vars = append(s.vars, variables(c.Have, c.Want)...)
	}
	s.classify(&d, from)
	return nil
}

func contains[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

// dag collects the tensors that results are computed from.
type dag struct {
	seen    map[*te.Tensor]bool
	tensors []*te.Tensor // each after those that it reads
}

func (d *dag) visit(t *te.Tensor) {
	if d.seen[t] {
		return
	}
	d.seen[t] = true
	for _, in := range t.Inputs() {
		d.visit(in)
	}
	for _, b := range t.Bodies() {
		tir.Walk(b, func(n any) bool {
			if p, ok := n.(*tir.ProducerLoad); ok {
				if in, ok := p.Producer.(*te.Tensor); ok {
					d.visit(in)
				}
			}
			return true
		})
	}
	d.tensors = append(d.tensors, t)
}

// vars returns the sizes that the formulas and shapes mention.
func (d *dag) vars() []*tir.Var {
	var exprs []tir.Expr
	bound := map[*tir.Var]bool{}
	for _, t := range d.tensors {
		exprs = append(exprs, t.ProducerShape()...)
		exprs = append(exprs, t.Bodies()...)
		for _, a := range append(t.Axes(), t.ReduceAxes()...) {
			bound[a.Var] = true
			exprs = append(exprs, a.Extent)
		}
	}
	var list []*tir.Var
	for _, v := range variables(exprs...) {
		if !bound[v] && !d.boundInside(v) {
			list = append(list, v)
		}
	}
	return list
}

// boundInside reports whether a variable is bound by an expression: a combiner of a reduction or a let.
func (d *dag) boundInside(v *tir.Var) bool {
	for _, t := range d.tensors {
		for _, b := range t.Bodies() {
			if tir.Contains(b, func(n any) bool {
				vars, _ := tir.Bound(n)
				return contains(vars, v)
			}) {
				return true
			}
		}
	}
	return false
}
