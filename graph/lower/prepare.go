package lower

import (
	"fmt"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/tir/text"
)

// reading makes the tensor by which a kernel reads a value.
func (f *function) reading(v *graph.Value, name string) *te.Tensor {
	if c := v.AsConst(); c != nil && f.prepares {
		if t := te.Const(v.Shape, v.DType, name, c.Data); t.Data() != nil {
			f.consts[t] = v
			return t
		}
	}
	return te.Placeholder(v.Shape, v.DType, name)
}

// constantsOf removes the operands of a kernel that its schedule does not read, and adds those that it prepares. The
// operands of constants are set here: those that are not read are not stored.
func (f *function) constantsOf(s *te.Schedule, reads []*te.Tensor, args []vmcode.Operand) ([]*te.Tensor,
	[]vmcode.Operand, error) {
	all := s.Constants()
	var kept []*te.Tensor
	var keptArgs []vmcode.Operand
	for i, t := range reads {
		if t.Data() != nil && !contains(all, t) {
			continue
		}
		arg := args[i]
		if v := f.consts[t]; v != nil {
			var err error
			if arg, err = f.operand(v); err != nil {
				return nil, nil, err
			}
		}
		kept, keptArgs = append(kept, t), append(keptArgs, arg)
	}
	for _, t := range all {
		if t.Prepared() == nil {
			continue
		}
		at, err := f.preparation(t.Prepared())
		if err != nil {
			return nil, nil, err
		}
		kept = append(kept, t)
		keptArgs = append(keptArgs, vmcode.Operand{Kind: vmcode.InConstant, Value: int64(at)})
	}
	return kept, keptArgs, nil
}

// preparation returns the index of the constant for a tensor that is computed from constants.
func (f *function) preparation(t *te.Tensor) (int, error) {
	from := t.Reads()
	in := make([]*graph.Value, len(from))
	names := map[*te.Tensor]*te.Tensor{}
	key := ""
	for i, c := range from {
		in[i] = f.consts[c]
		names[c] = te.Placeholder(c.ProducerShape(), c.ProducerDType(), fmt.Sprintf("p%d", i))
		key += fmt.Sprintf("%p ", in[i].AsConst())
	}
	same := t.Reading(names)
	key += text.Print(same.Bodies()[0])
	for _, n := range same.ProducerShape() {
		key += " " + text.Print(n)
	}
	if at, ok := f.prepared[key]; ok {
		return at, nil
	}
	op := &graph.Op{Name: "prepare", In: [2]int{len(in), len(in)}, Out: [2]int{1, 1},
		Compute: func(c *graph.Call) []*te.Tensor {
			to := map[*te.Tensor]*te.Tensor{}
			for i, x := range from {
				to[x] = c.In(i)
			}
			return []*te.Tensor{t.Reading(to)}
		}}
	outs, err := f.preparations.AddNode(&graph.Node{Op: op, Inputs: in, Outputs: []*graph.Value{{}}}, "prepare")
	if err != nil {
		return 0, err
	}
	shape, ok := outs[0].StaticShape()
	if !ok {
		return 0, fmt.Errorf("constant %s has no constant shape", outs[0])
	}
	at := len(f.code.Constants)
	c := vmcode.Constant{Kind: vmcode.TensorConstant}
	c.Tensor.DType, c.Tensor.Shape = outs[0].DType, shape
	f.code.Constants = append(f.code.Constants, c)
	f.prepared[key] = at
	f.preparations.Results = append(f.preparations.Results, outs[0])
	f.places = append(f.places, at)
	return at, nil
}

// prepare computes the prepared constants.
func (l *lowering) prepare() error {
	if len(l.places) == 0 {
		return nil
	}
	data, err := l.options.Evaluate(l.ctx, l.preparations)
	if err != nil {
		return err
	}
	if len(data) != len(l.places) {
		return fmt.Errorf("%d constants are computed: want %d", len(data), len(l.places))
	}
	for i, at := range l.places {
		l.code.Constants[at].Tensor.Data = data[i]
	}
	return nil
}
