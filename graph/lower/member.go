package lower

import (
	"fmt"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/tir/transform"
)

// attrOp is the attribute of a kernel with the name of its operator.
const attrOp = "op"

// callMember emits the call of a kernel if it is for another target than that of the program: its loops are those of
// the formulas. It reports whether it did.
func (f *function) callMember(reads []*te.Tensor, args []vmcode.Operand, outs []*te.Tensor, values []*graph.Value,
	name string) (bool, error) {
	s, err := te.NewSchedule(outs...)
	if err != nil {
		return false, err
	}
	params, scalars := parameters(reads, outs)
	m, err := te.Lower(s, params, kernelName(name))
	if err != nil {
		return false, err
	}
	if len(m.Funcs) != 1 {
		return false, fmt.Errorf("the kernel has %d functions: want 1", len(m.Funcs))
	}
	fn := m.Funcs[0]
	fn.Attrs[attrOp] = name
	to, err := f.options.Member(fn)
	if err != nil || to.Equal(f.targets[0]) {
		return false, err
	}
	fn.Attrs[transform.AttrTarget] = to
	if f.prepares {
		if reads, args, err = f.constantsOf(s, reads, args); err != nil {
			return false, err
		}
	}
	f.over = nil
	kernel, _ := f.addKernel(m.Funcs)
	return true, f.invoke(kernel, args, values, scalars)
}
