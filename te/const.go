package te

import (
	"fmt"
	"slices"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// Const makes a tensor with elements that are known before the function is called, such as the weights of a model. Like
// a placeholder it is an argument of the function, but schedules may read it in another form, which Prepare makes, and
// then it is no argument any more. data has the elements in row-major order, little-endian; it is not copied, and must
// not change. The shape must be constant.
func Const(shape []tir.Expr, t tir.Type, name string, data []byte) *Tensor {
	out := Placeholder(shape, t, name)
	out.op.constant, out.op.data = true, data
	sizes := make([]int64, len(shape))
	for d, n := range shape {
		size, ok := tir.IntValue(n)
		if !ok {
			out.op.fail("constant", fmt.Errorf("dimension %d is not constant: use a placeholder", d))
			return out
		}
		sizes[d] = size
	}
	want, err := dlpack.DataSize(sizes, t)
	if err == nil && want != int64(len(data)) {
		err = fmt.Errorf("%d bytes are given for shape %v of %s: want %d", len(data), sizes, t, want)
	}
	out.op.fail("constant", err)
	return out
}

// Data returns the elements of a constant; nil for other tensors.
func (t *Tensor) Data() []byte { return t.op.data }

// Prepare returns a tensor that stands for t, which must be computed from constants alone: an argument that the caller
// computes once, and not in each call. Prepared returns t for it. For other tensors Prepare returns t itself.
func Prepare(t *Tensor) *Tensor {
	reads := readsOf(t.op.bodies)
	if len(reads) == 0 || slices.ContainsFunc(reads, func(r *Tensor) bool { return !r.op.constant }) {
		return t
	}
	out := Placeholder(t.shape, t.typ, t.name)
	out.op.constant, out.op.prepares = true, t
	return out
}

// Reads returns the tensors that t reads directly, in the order of their first use. t must be made by Compute.
func (t *Tensor) Reads() []*Tensor { return readsOf(t.op.bodies) }

// Prepared returns the tensor that one made by Prepare stands for; nil for other tensors.
func (t *Tensor) Prepared() *Tensor { return t.op.prepares }

// Reading returns a tensor that is computed as t is, from other tensors: to has those of the same shapes and types that
// replace tensors which t reads directly. t must be made by Compute.
func (t *Tensor) Reading(to map[*Tensor]*Tensor) *Tensor {
	return Compute(t.shape, t.name, func(i ...tir.Expr) tir.Expr {
		at := map[*tir.Var]tir.Expr{}
		for d, a := range t.op.axes {
			at[a.Var] = i[d]
		}
		return tir.Substitute(replaceTensors(t.op.bodies, to)[t.index], at)
	})
}
