package lower

import (
	"fmt"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/tir"
)

// loop is a loop whose code is being made.
type loop struct {
	*step
	body    *graph.Function
	carried int               // the number of carried values
	outs    []vmcode.Register // of the results: carried values, then collected ones
	going   vmcode.Register   // the condition, if the node has one
	done    *tir.Var          // the number of iterations that have ended
	trips   *tir.Var          // the limit; nil if there is none
	more    *tir.Var          // 1 if the limit allows another iteration, else 0
}

func (f *function) loop(s *step) error {
	n := &loop{step: s, body: s.node.Bodies[0], carried: len(s.node.Inputs) - 2, outs: f.reserve(s.node.Outputs),
		done: f.counter("done")}
	trips, cond := s.node.Inputs[0], s.node.Inputs[1]
	if trips != nil {
		n.trips = tir.NewVar(fmt.Sprintf("trips.%d", f.numSlots), tir.Int32)
		if err := f.readInteger(trips, n.trips); err != nil {
			return err
		}
	}
	n.more = f.counter("more")
	f.count(n, tir.I32(0))
	first, err := f.operands(s.node.Inputs[2:])
	if err != nil {
		return err
	}
	f.move(n.outs[:n.carried], first)
	for k := n.carried; k < len(n.outs); k++ { // what is returned if there is no iteration
		if err := f.empty(s.node.Outputs[k], n.outs[k]); err != nil {
			return err
		}
	}
	rank := 0
	if cond != nil {
		x, err := f.operand(cond)
		if err != nil {
			return err
		}
		rank = len(cond.Shape)
		n.going = f.newRegister()
		f.emitTo(n.going, f.callee("vm.builtin.copy"), x)
	}
	start := f.at()
	exits := []int{f.branch(vmcode.Instruction{Op: vmcode.If, Source: f.read(n.more)})}
	if cond != nil {
		exits = append(exits, f.condition(register(n.going), rank))
	}
	plan := f.plan // a storage of the code around the loop would be the same in each iteration
	f.plan = nil
	err = f.inside(func() error { return f.iteration(n) })
	f.plan = plan
	if err != nil {
		return err
	}
	back := f.branch(vmcode.Instruction{Op: vmcode.Goto})
	f.code.Code[back].Jump = start - back
	for _, e := range exits {
		f.land(e)
	}
	return f.matchResults(s.node.Outputs)
}

// counter reserves a slot of the heap for a variable of a loop.
func (f *function) counter(name string) *tir.Var {
	v := tir.NewVar(fmt.Sprintf("%s.%d", name, f.numSlots), tir.Int32)
	f.newSlot(v)
	return v
}

// read emits the read of a slot of the heap.
func (f *function) read(v *tir.Var) vmcode.Register {
	slot, _ := f.block.slot(v.Name)
	return f.emit("vm.builtin.make_prim_value", register(f.heap), number(1), number(int64(slot)))
}

// readInteger emits the read of an integer tensor of one element into a variable.
func (f *function) readInteger(v *graph.Value, to *tir.Var) error {
	x, err := f.integers(v)
	if err != nil {
		return err
	}
	return f.match(register(f.emit("vm.builtin.tensor_to_shape", x)), []tir.Expr{to}, "")
}

// count sets the number of iterations that have ended, and whether there may be another one.
func (f *function) count(n *loop, done tir.Expr) {
	more := tir.Expr(tir.I32(1))
	if n.trips != nil {
		more = tir.NewSelect(tir.LT(done, n.trips), tir.I32(1), tir.I32(0))
	}
	done1, _ := f.block.slot(n.done.Name)
	more1, _ := f.block.slot(n.more.Name)
	f.store([]int{more1, done1}, []tir.Expr{more, done}) // in this order: more reads the old number
}

// empty makes a tensor with no element for a collected value.
func (f *function) empty(v *graph.Value, to vmcode.Register) error {
	none := &graph.Value{DType: v.DType}
	for d, e := range v.Shape {
		if d == 0 || !isConstant(e) {
			e = tir.I32(0)
		}
		none.Shape = append(none.Shape, e)
	}
	t, err := f.allocate(none)
	if err != nil {
		return err
	}
	f.emitTo(to, f.callee("vm.builtin.copy"), register(t))
	f.emitTo(t, f.callee("vm.builtin.null_value"))
	return nil
}

// iteration emits the body.
func (f *function) iteration(n *loop) error {
	params, results := n.body.Params, n.body.Results
	for i, p := range params[2:] {
		f.regs[p] = n.outs[i]
		if err := f.match(register(n.outs[i]), p.Shape, ""); err != nil {
			return err
		}
	}
	if n.going != 0 {
		f.regs[params[1]] = n.going
	}
	index := te.Compute(nil, "iteration", func(...tir.Expr) tir.Expr { return tir.NewCast(tir.Int64, n.done) })
	if err := f.call(nil, nil, []*te.Tensor{index}, params[:1], "iteration"); err != nil {
		return err
	}
	kept := results[1:]
	if n.going != 0 {
		kept = results
	}
	if err := f.run(n.bodies[0], kept); err != nil {
		return err
	}
	for k, row := range results[1+n.carried:] {
		if err := f.collect(n, row, n.outs[n.carried+k]); err != nil {
			return err
		}
	}
	next, err := f.operands(results[1 : 1+n.carried])
	if err != nil {
		return err
	}
	to := append([]vmcode.Register{}, n.outs[:n.carried]...)
	if n.going != 0 && results[0] != nil {
		x, err := f.operand(results[0])
		if err != nil {
			return err
		}
		to, next = append(to, n.going), append(next, x)
	}
	f.move(to, next)
	f.clear(n.bodies[0], kept)
	f.emitTo(f.regs[params[0]], f.callee("vm.builtin.null_value"))
	f.count(n, tir.Add(n.done, tir.I32(1)))
	return nil
}

// collect emits the copy of collected rows with one more.
func (f *function) collect(n *loop, row *graph.Value, rows vmcode.Register) error {
	before := &graph.Value{DType: row.DType, Shape: append([]tir.Expr{n.done}, row.Shape...)}
	after := &graph.Value{DType: row.DType, Shape: append([]tir.Expr{tir.Add(n.done, tir.I32(1))}, row.Shape...)}
	if !constantShape(row.Shape) { // the rows have their size from the first one
		started := f.branch(vmcode.Instruction{Op: vmcode.If, Source: f.read(n.done)})
		skip := f.branch(vmcode.Instruction{Op: vmcode.Goto})
		f.land(started)
		err := f.inside(func() error {
			t, err := f.allocate(&graph.Value{DType: row.DType, Shape: append([]tir.Expr{tir.I32(0)}, row.Shape...)})
			if err == nil {
				f.emitTo(rows, f.callee("vm.builtin.copy"), register(t))
			}
			return err
		})
		if err != nil {
			return err
		}
		f.land(skip)
	}
	x, err := f.operand(row)
	if err != nil {
		return err
	}
	a := te.Placeholder(before.Shape, row.DType, "p0")
	b := te.Placeholder(row.Shape, row.DType, "p1")
	out := te.Compute(after.Shape, "collect", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("if_then_else", tir.LT(i[0], n.done), a.At(i...), b.At(i[1:]...))
	})
	if err := f.call([]*te.Tensor{a, b}, []vmcode.Operand{register(rows), x}, []*te.Tensor{out}, []*graph.Value{after},
		"collect"); err != nil {
		return err
	}
	f.emitTo(rows, f.callee("vm.builtin.copy"), register(f.regs[after]))
	f.emitTo(f.regs[after], f.callee("vm.builtin.null_value"))
	return nil
}

func constantShape(shape []tir.Expr) bool {
	for _, e := range shape {
		if !isConstant(e) {
			return false
		}
	}
	return true
}
