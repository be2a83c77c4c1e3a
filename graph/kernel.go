package graph

import (
	"fmt"

	"tvmgo/tir"
)

// Kernel is a function of loops that a node calls as it is.
type Kernel struct {
	// Func has a parameter with a buffer for each operand, then for each result, and then one of an integer type for each
	// size.
	Func  *tir.PrimFunc
	Sizes []tir.Expr // of type int32
}

// AddKernel adds a node that calls a kernel. Its results have the types and shapes of outs. n has the fields Inputs,
// Source and Outputs as for AddNode.
func (f *Function) AddKernel(n *Node, k *Kernel, outs []*Value) ([]*Value, error) {
	n.Op, n.Kernel = kernelOp, k
	if err := k.check(n.Inputs, outs); err != nil {
		return nil, fmt.Errorf("%s: call %s: %w", n.What(), k.Func.Name, err)
	}
	return f.addControl(n, outs)
}

// check compares the parameters with the arguments. Sizes that are known at run time are compared then.
func (k *Kernel) check(ins, outs []*Value) error {
	tensors := append(append([]*Value{}, ins...), outs...)
	if have, want := len(k.Func.Params), len(tensors)+len(k.Sizes); have != want {
		return fmt.Errorf("the function has %d parameters, and %d tensors and %d sizes are given: want equal numbers", have,
			len(tensors), len(k.Sizes))
	}
	for i, v := range tensors {
		p := k.Func.Params[i]
		b := k.Func.Buffers[p]
		if b == nil {
			return fmt.Errorf("parameter %s is no tensor, and the argument is %s", p.Name, v)
		}
		fits := b.DType == v.DType && len(b.Shape) == len(v.Shape)
		for d := 0; fits && d < len(b.Shape); d++ {
			x, ok1 := tir.IntValue(b.Shape[d])
			y, ok2 := tir.IntValue(v.Shape[d])
			fits = !ok1 || !ok2 || x == y
		}
		if !fits {
			return fmt.Errorf("parameter %s is %s%s, and the argument is %s", p.Name, tir.TypeName(b.DType), shapeText(b.Shape),
				v)
		}
	}
	for i, e := range k.Sizes {
		p := k.Func.Params[len(tensors)+i]
		if k.Func.Buffers[p] != nil || !tir.IsInt(p.Type) {
			return fmt.Errorf("parameter %s is no integer, and the argument is the size %s", p.Name, printed(e))
		}
	}
	return nil
}

// Symbols returns the variables that the sizes depend on.
func (k *Kernel) Symbols() []*tir.Var { return (&Value{Shape: k.Sizes}).Symbols() }
