package graph

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Call is the application of an operator that Op.Compute makes tensors for. Its methods stop the function with an error
// if what they return is not there.
type Call struct {
	Name string // for the results

	node *Node
	in   []*te.Tensor
}

// failure is the panic by which a Call ends Op.Compute.
type failure struct{ err error }

// unknown says that the elements of an operand have to be known.
type unknown struct{ operand int }

func (u unknown) Error() string {
	return fmt.Sprintf("the elements of operand %d are not known when the model is compiled", u.operand)
}

// open says that the elements of an operand have to be constants.
type open struct{ operand int }

func (o open) Error() string {
	return fmt.Sprintf("the elements of operand %d are no constants", o.operand)
}

// Read reports whether an expression depends on elements that are read when the model runs, so that it may be negative;
// others depend on sizes.
func (c *Call) Read(e tir.Expr) bool {
	return tir.Contains(e, func(n any) bool {
		v, ok := n.(*tir.Var)
		return ok && c.node.fn.root().read[v]
	})
}

// Fail ends Compute with an error.
func (c *Call) Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Check is a condition on sizes that the code of a node checks when the model runs: two of type int32 are equal.
type Check struct {
	Have, Want tir.Expr
	Rule       string // for the error, such as "dimension 0 of operand 1 has to be 1 or 4"
}

// Require makes sure that two sizes are equal. If that is not known when the model is compiled, the code checks it. The
// format describes the rule for the error.
func (c *Call) Require(have, want tir.Expr, format string, args ...any) {
	if arith.ProveEqual(have, want) {
		return
	}
	m, ok1 := tir.IntValue(have)
	n, ok2 := tir.IntValue(want)
	if ok1 && ok2 {
		c.Fail("%s: it is %d, and not %d", fmt.Sprintf(format, args...), m, n)
	}
	c.node.checks = append(c.node.checks, Check{have, want, fmt.Sprintf(format, args...)})
}

// Len returns the number of operands, including those that are left out before the last one.
func (c *Call) Len() int { return len(c.in) }

// Results returns the number of results that are wanted.
func (c *Call) Results() int { return len(c.node.Outputs) }

// Wants reports whether a result is used by the model.
func (c *Call) Wants(i int) bool { return i < len(c.node.Outputs) && c.node.Outputs[i] != nil }

// Has reports whether an operand is given.
func (c *Call) Has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// In returns an operand; nil if it is left out.
func (c *Call) In(i int) *te.Tensor {
	if !c.Has(i) {
		return nil
	}
	return c.in[i]
}

// All returns all operands.
func (c *Call) All() []*te.Tensor { return c.in }

// Rank returns the number of dimensions of an operand.
func (c *Call) Rank(i int) int { return len(c.node.Inputs[i].Shape) }

// Shape returns the dimensions of an operand.
func (c *Call) Shape(i int) []tir.Expr { return c.node.Inputs[i].Shape }

// DType returns the element type of an operand.
func (c *Call) DType(i int) tir.Type { return c.node.Inputs[i].DType }

// Elems returns the elements of an operand, in row-major order.
func (c *Call) Elems(i int) []tir.Expr {
	elems := c.node.Inputs[i].Elements()
	if elems == nil {
		panic(failure{unknown{i}})
	}
	return elems
}

// Known reports whether the elements of an operand are known.
func (c *Call) Known(i int) bool { return c.Has(i) && c.node.Inputs[i].Elements() != nil }

// Sizes returns the elements of an operand of integers as sizes.
func (c *Call) Sizes(i int) []tir.Expr {
	elems := c.Elems(i)
	out := make([]tir.Expr, len(elems))
	for k, e := range elems {
		out[k] = Size(e)
	}
	return out
}

// IntsOf returns the elements of an operand of integers, which must be constants.
func (c *Call) IntsOf(i int) []int {
	elems := c.Elems(i)
	out := make([]int, len(elems))
	for k, e := range elems {
		n, ok := tir.IntValue(e)
		if !ok {
			panic(failure{open{i}})
		}
		out[k] = int(n)
	}
	return out
}

// FloatsOf returns the elements of an operand of numbers, which must be constants.
func (c *Call) FloatsOf(i int) []float64 {
	elems := c.Elems(i)
	out := make([]float64, len(elems))
	for k, e := range elems {
		switch e := e.(type) {
		case *tir.FloatImm:
			out[k] = e.Value
		case *tir.IntImm:
			out[k] = float64(e.Value)
		default:
			panic(failure{open{i}})
		}
	}
	return out
}

// IntOf returns the element of an operand with one element.
func (c *Call) IntOf(i int) int {
	all := c.IntsOf(i)
	if len(all) != 1 {
		c.Fail("operand %d has %d elements: want 1", i, len(all))
	}
	return all[0]
}

// FloatOf returns the element of an operand with one element.
func (c *Call) FloatOf(i int) float64 {
	all := c.FloatsOf(i)
	if len(all) != 1 {
		c.Fail("operand %d has %d elements: want 1", i, len(all))
	}
	return all[0]
}
