package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// Compute makes a tensor whose element at indices i is body(i): a formula that reads elements of other tensors, or one
// reduction. If that is not possible, the tensor carries the error (Tensor.Err).
func Compute(shape []tir.Expr, name string, body func(i ...tir.Expr) tir.Expr) *Tensor {
	op := newCompute(shape, name, func(i ...tir.Expr) []tir.Expr {
		if body == nil {
			return nil
		}
		return []tir.Expr{body(i...)}
	})
	return op.tensors[0]
}

// ComputeMulti makes several tensors of one shape that are computed together: all by formulas, or all by one reduction.
// They are named name.v0, name.v1, ….
func ComputeMulti(shape []tir.Expr, name string, body func(i ...tir.Expr) []tir.Expr) []*Tensor {
	if body == nil {
		body = func(...tir.Expr) []tir.Expr { return nil }
	}
	return newCompute(shape, name, body).tensors
}

func newCompute(shape []tir.Expr, name string, body func(i ...tir.Expr) []tir.Expr) *operation {
	op := &operation{kind: opCompute, name: name}
	op.fail("compute", checkShape(shape))
	if name == "" {
		op.fail("compute", fmt.Errorf("a tensor has no name: give it one"))
	}
	if op.err == nil {
		op.axes = dataAxes(shape)
		op.bodies = body(axisVars(op.axes)...)
		op.fail("compute", op.checkBodies())
	}
	switch {
	case len(op.bodies) == 0:
		op.fail("compute", fmt.Errorf("the body returns no value"))
		op.addTensor(name, shape, tir.Void)
	case len(op.bodies) == 1:
		op.addTensor(name, shape, dtypeOf(op.bodies[0]))
	default:
		for i, b := range op.bodies {
			op.addTensor(fmt.Sprintf("%s.v%d", name, i), shape, dtypeOf(b))
		}
	}
	if op.err == nil {
		op.fail("compute", op.checkReads())
	}
	return op
}

func dtypeOf(e tir.Expr) tir.Type {
	if e == nil {
		return tir.Void
	}
	return e.DType()
}

// dataAxes makes one axis per dimension.
func dataAxes(shape []tir.Expr) []*tir.IterVar {
	axes := make([]*tir.IterVar, len(shape))
	for i, n := range shape {
		v := tir.NewVar(fmt.Sprintf("i%d", i), n.DType())
		axes[i] = &tir.IterVar{Var: v, Min: tir.IntConst(v.Type, 0), Extent: n, Kind: tir.IterData}
	}
	return axes
}

func axisVars(axes []*tir.IterVar) []tir.Expr {
	vars := make([]tir.Expr, len(axes))
	for i, a := range axes {
		vars[i] = a.Var
	}
	return vars
}

// checkBodies checks the formulas, and sets op.reduce to the axes of the reduction.
func (op *operation) checkBodies() error {
	var first *tir.Reduce
	for i, b := range op.bodies {
		which := "the body"
		if len(op.bodies) > 1 {
			which = fmt.Sprintf("value %d", i)
		}
		if b == nil {
			return fmt.Errorf("%s is nil", which)
		}
		if x, ok := b.(*tir.Bad); ok {
			return x.Err
		}
		if err := checkTensor(op.name, nil, b.DType()); err != nil {
			return fmt.Errorf("%s: %w", which, err)
		}
		r, isReduce := b.(*tir.Reduce)
		switch {
		case i == 0:
			first = r
		case isReduce != (first != nil), isReduce && (r.Combiner != first.Combiner || !sameAxes(r.Axes, first.Axes)):
			return fmt.Errorf("%s and value 0 are not results of one reduction: want results of one "+
				"reduction, or formulas only", which)
		}
		if err := checkParts(b); err != nil {
			return fmt.Errorf("%s: %w", which, err)
		}
	}
	if first != nil {
		op.reduce = first.Axes
	}
	return nil
}

func sameAxes(a, b []*tir.IterVar) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// checkParts returns an error if body contains an expression that a tensor cannot be computed from.
func checkParts(body tir.Expr) (err error) {
	tir.Walk(body, func(n any) bool {
		if err != nil {
			return false
		}
		switch n := n.(type) {
		case *tir.Bad:
			err = n.Err
		case *tir.Reduce:
			if n != body {
				err = fmt.Errorf("a reduction is inside a formula: compute it as a separate tensor, and read that")
			}
		case *tir.BufferLoad:
			err = fmt.Errorf("the formula reads buffer %s: want tensors", n.Buffer.Name)
		case *tir.ProducerLoad:
			t, ok := n.Producer.(*Tensor)
			if !ok {
				err = fmt.Errorf("the formula reads %s, which is not a tensor of package te", n.Producer.ProducerName())
			} else if t.op.err != nil {
				err = t.op.err
			}
		default:
			if tir.Opaque(n) {
				err = fmt.Errorf("the formula has a %s, which may have effects: want a value of its operands alone",
					tir.NodeName(n))
			}
		}
		return err == nil
	})
	return err
}

// checkReads returns an error if an index is certainly out of bounds. It ignores reads that a condition guards.
func (op *operation) checkReads() (err error) {
	a := newAnalyzer()
	ends := map[*tir.Var]span{}
	for _, x := range append(append([]*tir.IterVar{}, op.axes...), op.reduce...) {
		a.noteSizes(x.Extent)
		lo := a.Simplify(widen(x.Min, x.Var.Type))
		ends[x.Var] = a.shift(a.iterations(widen(x.Extent, x.Var.Type)), point(lo))
	}
	steps := func(*tir.Var) bool { return false } // whether a variable is the time of a scan, which starts later
	if slices.ContainsFunc(readsOf(op.bodies), func(t *Tensor) bool { return t.op.state }) && len(op.axes) > 0 {
		steps = func(v *tir.Var) bool { return v == op.axes[0].Var }
	}
	for _, b := range op.bodies {
		tir.Walk(b, func(n any) bool {
			switch n := n.(type) {
			case *tir.Select:
				return false
			case *tir.Call:
				return n.Name != "if_then_else"
			case *tir.Reduce:
				return n.Cond == nil
			case *tir.ProducerLoad:
				for d, x := range n.Indices {
					if mentions(x, steps) {
						continue
					}
					if e := checkIndex(a, n.Producer, d, x, ends); err == nil {
						err = e
					}
				}
			}
			return err == nil
		})
	}
	return err
}

func checkIndex(a *analyzer, p tir.Producer, d int, index tir.Expr, ends map[*tir.Var]span) error {
	if !isIndex(index.DType()) {
		return nil
	}
	a.noteSizes(p.ProducerShape()[d])
	index = a.Simplify(index)
	s := a.spanOf(index, ends)
	if !s.known() || !attained(index, ends) {
		return nil
	}
	least, known := constant(s.lo)
	beyond, sure := constant(a.sum(s.hi, widen(p.ProducerShape()[d], index.DType()), -1))
	if known && least < 0 || sure && beyond >= 0 {
		return fmt.Errorf("dimension %d of tensor %s is read from %s to %s, and has %s elements: correct the shapes, "+
			"or guard the element by if_then_else", d, p.ProducerName(), text.Print(s.lo), text.Print(s.hi), text.Print(
			p.ProducerShape()[d]))
	}
	return nil
}

// attained reports whether e certainly reaches both ends of its span: whether it is a sum of axes times constants in
// which no axis occurs twice.
func attained(e tir.Expr, ends map[*tir.Var]span) bool {
	seen := map[*tir.Var]bool{}
	var linear func(tir.Expr) bool
	linear = func(e tir.Expr) bool {
		switch e := e.(type) {
		case *tir.Var:
			_, axis := ends[e]
			if axis && seen[e] {
				return false
			}
			seen[e] = true
			return true
		case *tir.Binary:
			switch _, scaled := constant(e.B); {
			case e.Op == tir.OpAdd, e.Op == tir.OpSub:
				return linear(e.A) && linear(e.B)
			case e.Op == tir.OpMul && scaled:
				return linear(e.A)
			}
		}
		return !mentions(e, func(v *tir.Var) bool { _, axis := ends[v]; return axis })
	}
	return linear(e)
}
