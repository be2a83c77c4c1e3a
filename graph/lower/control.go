package lower

import (
	"cmp"
	"slices"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/tir"
)

// control returns the step for a node with bodies: it reads what the bodies read of the function around them.
func (l *lowering) control(s *step, n *needs) (*step, error) {
	used := len(s.wants) > 0
	for _, v := range s.node.Outputs { // sizes that only the node tells
		for _, e := range variables(v.Shape...) {
			used = used || n.vars[e]
		}
	}
	if !used {
		return nil, nil
	}
	s.wants = s.node.Outputs
	for _, v := range s.node.Inputs {
		if v != nil {
			s.reads = append(s.reads, v)
		}
	}
	for _, body := range s.node.Bodies {
		inner := &needs{values: map[*graph.Value]bool{}, vars: map[*tir.Var]bool{}}
		results := body.Results
		if s.node.Op.Control == graph.Loop && results[0] == nil {
			results = results[1:]
		}
		steps, err := l.steps(&graph.Function{Nodes: body.Nodes, Results: results}, inner)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, steps)
		own := map[*graph.Value]bool{}
		for _, p := range body.Params {
			own[p] = true
		}
		for _, node := range body.Nodes {
			for _, v := range node.Outputs {
				own[v] = true
			}
		}
		for v := range inner.values {
			if !own[v] && v.AsConst() == nil {
				s.reads = append(s.reads, v)
			}
		}
		for v := range inner.vars {
			s.vars = append(s.vars, v)
		}
	}
	slices.SortFunc(s.reads, func(a, b *graph.Value) int { return cmp.Compare(a.Name, b.Name) }) // maps have no order
	for _, v := range s.reads {
		n.value(v)
	}
	n.sizes(s.vars...)
	return s, nil
}

// inside emits instructions whose slots of the heap the code around them does not know.
func (f *function) inside(emit func() error) error {
	f.block = &block{outer: f.block, slots: map[string]int{}}
	err := emit()
	f.block = f.block.outer
	return err
}

// move emits a copy of references, so that values change their registers at the same time.
func (f *function) move(to []vmcode.Register, from []vmcode.Operand) {
	moved := make([]vmcode.Register, len(from))
	for i, v := range from {
		moved[i] = f.emit("vm.builtin.copy", v)
	}
	for i, r := range to {
		f.emitTo(r, f.callee("vm.builtin.copy"), register(moved[i]))
		f.emitTo(moved[i], f.callee("vm.builtin.null_value"))
	}
}

func (f *function) at() int { return len(f.code.Code) }

// branch emits a jump to an instruction that land sets.
func (f *function) branch(in vmcode.Instruction) int {
	f.code.Code = append(f.code.Code, in)
	return f.at() - 1
}

func (f *function) land(jump int) { f.code.Code[jump].Jump = f.at() - jump }

// condition emits the read of a truth value, and a jump if it does not hold.
func (f *function) condition(x vmcode.Operand, rank int) int {
	if rank > 0 {
		x = register(f.emit("vm.builtin.reshape", x, f.shape()))
	}
	c := f.emit("vm.builtin.read_if_cond", x)
	return f.branch(vmcode.Instruction{Op: vmcode.If, Source: c})
}

func (f *function) conditional(s *step) error {
	outs := f.reserve(s.node.Outputs)
	cond, err := f.operand(s.node.Inputs[0])
	if err != nil {
		return err
	}
	otherwise := f.condition(cond, len(s.node.Inputs[0].Shape))
	end := 0
	for i, body := range s.node.Bodies {
		err := f.inside(func() error {
			if err := f.run(s.bodies[i], body.Results); err != nil {
				return err
			}
			results, err := f.operands(body.Results)
			if err == nil {
				f.move(outs, results)
				f.clear(s.bodies[i], body.Results)
			}
			return err
		})
		if err != nil {
			return err
		}
		if i == 0 {
			end = f.branch(vmcode.Instruction{Op: vmcode.Goto})
			f.land(otherwise)
		}
	}
	f.land(end)
	return f.matchResults(s.node.Outputs)
}

// reserve returns new registers for values.
func (f *function) reserve(values []*graph.Value) []vmcode.Register {
	regs := make([]vmcode.Register, len(values))
	for i, v := range values {
		regs[i] = f.newRegister()
		f.regs[v] = regs[i]
	}
	return regs
}

// clear empties the registers of results that steps computed, after they were moved.
func (f *function) clear(steps []*step, results []*graph.Value) {
	made := map[*graph.Value]bool{}
	for _, s := range steps {
		for _, v := range s.wants {
			made[v] = true
		}
	}
	for _, v := range results {
		if v != nil && made[v] {
			made[v] = false
			f.emitTo(f.regs[v], f.callee("vm.builtin.null_value"))
		}
	}
}

// matchResults stores the sizes that only the results of a node with bodies tell.
func (f *function) matchResults(values []*graph.Value) error {
	for _, v := range values {
		for _, e := range v.Shape {
			if isConstant(e) {
				continue
			}
			if err := f.match(register(f.regs[v]), v.Shape, ""); err != nil {
				return err
			}
			break
		}
	}
	return nil
}
