package te

import (
	"fmt"

	"tvmgo/tir"
)

// ExternResult is the shape and type of a result of Extern.
type ExternResult struct {
	Shape []tir.Expr
	Type  tir.Type
}

// Extern makes tensors that a statement computes. body returns the statement for the buffers of inputs and results when
// the schedule is lowered. It must read only the inputs, and write all elements of all results. The buffers have the
// tensors' shapes. A single tensor is named name, several name.v0, name.v1, ….
//
// Schedules for a target may change the statement ([Stage.Rewrite]). The iterations of a loop of kind tir.Parallel are
// independent of each other: package te/schedule runs them by threads of the device.
func Extern(results []ExternResult, inputs []*Tensor, name string,
	body func(ins, outs []*tir.Buffer) tir.Stmt) []*Tensor {
	op := &operation{kind: opExtern, name: name, inputs: append([]*Tensor{}, inputs...), extern: body}
	for i, r := range results {
		n := name
		if len(results) > 1 {
			n = fmt.Sprintf("%s.v%d", name, i)
		}
		op.addTensor(n, r.Shape, r.Type)
		op.fail("extern", checkTensor(name, r.Shape, r.Type))
	}
	if len(results) == 0 {
		op.addTensor(name, nil, tir.Void)
		op.fail("extern", fmt.Errorf("there are no results"))
	}
	for i, t := range inputs {
		if t == nil {
			op.fail("extern", fmt.Errorf("input %d is nil", i))
		} else if t.op.err != nil {
			op.fail("extern", t.op.err)
		}
	}
	if body == nil {
		op.fail("extern", fmt.Errorf("the body is nil"))
	}
	return op.tensors
}

// IsExtern reports whether the stage is an extern operation, whose loops are those of its statement.
func (st *Stage) IsExtern() bool { return st.op.kind == opExtern }

// Rewrite changes the statement of an extern operation for a target: f gets the statement when the schedule is lowered,
// and returns one with the same effect. Several functions are called in order.
func (st *Stage) Rewrite(f func(tir.Stmt) (tir.Stmt, error)) {
	const primitive = "rewrite"
	switch {
	case st.s.err != nil:
	case !st.IsExtern():
		st.fail(primitive, "it is no extern operation: change its loops by other primitives")
	case f == nil:
		st.fail(primitive, "the function is nil")
	default:
		st.rewrites = append(st.rewrites, f)
	}
}
