package te

import (
	"fmt"

	"tvmgo/tir"
)

// Compute makes a tensor whose element at indices i is what body gives for them: a formula of other tensors' elements, or one reduction.
func Compute(shape []tir.Expr, name string, body func(i ...tir.Expr) tir.Expr) *Tensor {
	op := newCompute(shape, name, func(i ...tir.Expr) []tir.Expr {
		if body == nil {
			return nil
		}
		return []tir.Expr{body(i...)}
	})
	return op.tensors[0]
}

// ComputeMulti makes several tensors of one shape, which are computed together: all by formulas, or all by one reduction.
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
		op.fail("compute", fmt.Errorf("the body gives no value"))
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

// dataAxes makes one axis for each dimension.
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

// checkBodies says why values are no bodies, and finds the axes of the reduction.
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
			return fmt.Errorf("%s is not of the reduction that value 0 is of: want all values of one reduction, or none of any", which)
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

// checkParts says what of an expression a tensor cannot be computed of.
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
				err = fmt.Errorf("a reduction is within a formula: compute it as a tensor of its own, and read that")
			}
		case *tir.BufferLoad:
			err = fmt.Errorf("the formula reads buffer %s: want tensors", n.Buffer.Name)
		case *tir.ProducerLoad:
			t, ok := n.Producer.(*Tensor)
			if !ok {
				err = fmt.Errorf("the formula reads %s, which is no tensor of package te", n.Producer.ProducerName())
			} else if t.op.err != nil {
				err = t.op.err
			}
		}
		return err == nil
	})
	return err
}

// checkReads says which index is sure to leave the tensor that is read. What conditions guard is not looked at.
func (op *operation) checkReads() (err error) {
	a := newAnalyzer()
	ends := map[*tir.Var]span{}
	for _, x := range append(append([]*tir.IterVar{}, op.axes...), op.reduce...) {
		noteSizes(a, x.Extent)
		lo := a.poly(x.Min)
		hi := lo.plus(a.poly(x.Extent), 1).plusConst(-1)
		ends[x.Var] = span{&lo, &hi}
	}
	env := func(v *tir.Var) (span, bool) { s, ok := ends[v]; return s, ok }
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
					if e := checkIndex(a, n.Producer, d, x, env); err == nil {
						err = e
					}
				}
			}
			return err == nil
		})
	}
	return err
}

func checkIndex(a *analyzer, p tir.Producer, d int, index tir.Expr, env spans) error {
	if !isIndex(index.DType()) {
		return nil
	}
	noteSizes(a, p.ProducerShape()[d])
	x := a.poly(index)
	s := a.spanOf(x, env)
	if !s.known() || !attained(x, env) {
		return nil
	}
	beyond := s.hi.plus(a.poly(widen(p.ProducerShape()[d], index.DType())), -1)
	if s.lo.isConst() && s.lo.c < 0 || beyond.isConst() && beyond.c >= 0 {
		return fmt.Errorf("dimension %d of tensor %s is read from %s to %s, and has %s elements: mend the shapes, or guard the element by "+
			"if_then_else", d, p.ProducerName(), tir.Print(s.lo.expr()), tir.Print(s.hi.expr()), tir.Print(p.ProducerShape()[d]))
	}
	return nil
}

// attained says whether a value comes to both ends of its span: where it is a sum of axes, each one once.
func attained(p poly, env spans) bool {
	for _, t := range p.terms {
		for _, f := range t.factors {
			v, isVar := f.expr.(*tir.Var)
			moves := mentions(f.expr, func(v *tir.Var) bool { _, ok := env(v); return ok })
			if moves && (!isVar || v == nil || len(t.factors) > 1) {
				return false
			}
		}
	}
	return true
}

// noteSizes tells an analyzer that the variables that are sizes are not negative.
func noteSizes(a *analyzer, sizes ...tir.Expr) {
	for _, n := range sizes {
		if v, ok := n.(*tir.Var); ok {
			a.sizes[v] = true
		}
	}
}
