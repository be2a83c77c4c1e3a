package schedule

import "tvmgo/te"

// Operator describes the operator that made a tensor, for schedulers.
type Operator struct {
	Kind   string       // "matmul", "conv2d", "softmax", …: the function's name in lower case
	Inputs []*te.Tensor // as they were passed to the function
	Parts  []*te.Tensor // intermediate tensors, each after those that it reads
	Attrs  any          // the options: a *MatmulAttrs, a *ConvAttrs, …; nil if there are none

	// InverseDivisor says that the divisor of the result is neither large nor small, so that a schedule may multiply by
	// its inverse instead.
	InverseDivisor bool
}

// Of returns the operator that made a tensor; nil for a placeholder, and for a tensor made by te.Compute.
func Of(t *te.Tensor) *Operator {
	o, _ := t.Annotation("ops.operator").(*Operator)
	return o
}

// By sets the operator that made a tensor, and returns the tensor.
func By(t *te.Tensor, o *Operator) *te.Tensor { return t.Annotate("ops.operator", o) }
