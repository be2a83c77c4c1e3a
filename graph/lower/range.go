package lower

import (
	"fmt"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/tir"
)

// outside is a size that has a range, and where a parameter has it as a dimension.
type outside struct {
	param, dim int
	sizes      graph.Range
	is         tir.Expr // 1 if it is not in the range
}

// checkRanges emits the checks of sizes that have a range. Virtual machines have no instruction for it: where a size is
// outside, the check of a shape against the greatest size fails, and its error tells the size.
func (f *function) checkRanges(params []*graph.Value, contexts []string) error {
	var checks []outside
	var exprs []tir.Expr
	for _, v := range f.graph.Ranged() {
		r, _ := f.graph.Range(v)
		at, d := dimension(params, v)
		if at < 0 {
			return fmt.Errorf("size %s has the range %s, and no parameter has it as a dimension: remove the range", v.Name, r)
		}
		is := tir.NewSelect(tir.And(tir.GE(v, tir.I32(int32(r.Min))), tir.LE(v, tir.I32(int32(r.Max)))), tir.I32(0),
			tir.I32(1))
		checks, exprs = append(checks, outside{at, d, r, is}), append(exprs, is)
	}
	if err := f.need(exprs); err != nil {
		return err
	}
	for i, c := range checks {
		inside := f.branch(vmcode.Instruction{Op: vmcode.If, Source: f.emit("vm.builtin.make_prim_value",
			append([]vmcode.Operand{register(f.heap)}, f.pairs(exprs[i:i+1])...)...)})
		x := params[c.param]
		args := []vmcode.Operand{register(f.regs[x]), register(f.heap), number(int64(len(x.Shape)))}
		for d := range x.Shape {
			if d == c.dim {
				args = append(args, number(0), number(c.sizes.Max))
			} else {
				args = append(args, number(2), number(0))
			}
		}
		text := fmt.Sprintf("%sthe model is compiled for sizes %s of dimension %d ", contexts[c.param], c.sizes, c.dim)
		f.emitTo(vmcode.Void, f.callee("vm.builtin.match_shape"), append(args, f.text(text))...)
		f.land(inside)
	}
	return nil
}

// dimension returns the first parameter that has a variable as a dimension, and the dimension; -1 if there is none.
func dimension(params []*graph.Value, v *tir.Var) (param, dim int) {
	for i, p := range params {
		for d, e := range p.Shape {
			if e == v {
				return i, d
			}
		}
	}
	return -1, -1
}
