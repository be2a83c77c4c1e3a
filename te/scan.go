package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// scanParts are the tensors that a scan consists of. The i-th state, initial value and update have one type, and the
// same shape except for the first dimension of the initial value.
type scanParts struct {
	inits, updates, states []*Tensor
	free                   []bool // per dimension of the update: a step reads only elements with its own index there
}

// Scan computes tensors step by step along their first dimension, which is the time: the first steps are those of
// inits, and each later step t is element t of updates, which read earlier steps of states. states, made by [State],
// stand for the results. updates are the results of one Compute or ComputeMulti. They may read states through other
// tensors, which then have to be computed inside the loop over time ([Stage.ComputeAt]), or inline.
//
//	s := te.State(te.Dims(m, n), tir.Float32, "s")
//	first := te.Compute(te.Dims(1, n), "first", func(i ...tir.Expr) tir.Expr { return x.At(i...) })
//	next := te.Compute(te.Dims(m, n), "next", func(i ...tir.Expr) tir.Expr {
//		return tir.Add(s.At(tir.Sub(i[0], tir.I32(1)), i[1]), x.At(i...))
//	})
//	sums := te.Scan([]*te.Tensor{first}, []*te.Tensor{next}, []*te.Tensor{s}, "sums")[0] // cumulative sums of x
//
// An update must read a state at its own time minus 1, or minus any constant up to the number of initial steps. The
// schedule of a scan is that of its updates: their loop over time is serial. A loop may be outside of it, and threads
// may execute it, if each of its iterations reads only elements of the state with its own index. The results are named
// name, or name.v0, name.v1, ….
func Scan(inits, updates, states []*Tensor, name string) []*Tensor {
	op := &operation{kind: opScan, name: name, scan: &scanParts{slices.Clone(inits), slices.Clone(updates),
		slices.Clone(states), nil}}
	err := op.scan.check(name)
	for i, t := range states {
		n := name
		if len(states) > 1 {
			n = fmt.Sprintf("%s.v%d", name, i)
		}
		if t == nil {
			t = &Tensor{typ: tir.Void}
		}
		op.addTensor(n, t.shape, t.typ)
	}
	if len(states) == 0 {
		op.addTensor(name, nil, tir.Void)
	}
	op.fail("scan", err)
	op.inputs = append(slices.Clone(op.scan.inits), op.scan.updates...)
	return op.tensors
}

// State makes a tensor that stands for the result of a [Scan] in the formulas of its steps. Its first dimension is the
// time. It is no argument of the function.
func State(shape []tir.Expr, t tir.Type, name string) *Tensor {
	state := Placeholder(shape, t, name)
	state.op.state = true
	return state
}

func (p *scanParts) check(name string) error {
	if name == "" {
		return fmt.Errorf("a tensor has no name: give it one")
	}
	if len(p.states) == 0 || len(p.inits) != len(p.states) || len(p.updates) != len(p.states) {
		return fmt.Errorf("there are %d initial values, %d updates and %d states: want one of each for each result",
			len(p.inits), len(p.updates), len(p.states))
	}
	for what, list := range map[string][]*Tensor{"initial value": p.inits, "update": p.updates, "state": p.states} {
		for i, t := range list {
			switch {
			case t == nil:
				return fmt.Errorf("%s %d is nil", what, i)
			case t.op.err != nil:
				return t.op.err
			case slices.Index(list, t) != i && what != "initial value":
				return fmt.Errorf("%s %s is given twice", what, t.name)
			}
		}
	}
	a := newAnalyzer()
	for i := range p.states {
		if err := p.checkState(a, i); err != nil {
			return err
		}
	}
	given := slices.Clone(p.inits)
	for i, init := range given {
		if twice := slices.Contains(given[:i], init) || slices.Contains(given[i+1:], init); twice ||
			init.op.kind != opCompute || len(init.op.tensors) > 1 { // it has memory of its own
			p.inits[i] = Compute(init.shape, p.states[i].name+".init", func(at ...tir.Expr) tir.Expr { return init.At(at...) })
		}
	}
	if n := len(p.updates[0].op.tensors); n != len(p.updates) {
		return fmt.Errorf("update %s is computed together with others, %d in all, and %d are given: make one scan of all",
			p.updates[0].name, n, len(p.updates))
	}
	return p.checkReads(a)
}

// checkState checks the tensors of one result.
func (p *scanParts) checkState(a *analyzer, i int) error {
	init, update, state := p.inits[i], p.updates[i], p.states[i]
	switch {
	case !state.op.state:
		return fmt.Errorf("tensor %s is no state: make it by State", state.name)
	case len(state.shape) == 0:
		return fmt.Errorf("state %s has no dimensions: want the time as the first one", state.name)
	case update.op.kind != opCompute || update.op != p.updates[0].op:
		return fmt.Errorf("update %s: want results of one Compute or ComputeMulti for all states", update.name)
	case update.typ != state.typ || init.typ != state.typ:
		return fmt.Errorf("state %s has type %s, its initial value %s, and its update %s: want one type", state.name,
			state.typ, init.typ, update.typ)
	case len(update.shape) != len(state.shape) || len(init.shape) != len(state.shape):
		return fmt.Errorf("state %s has %d dimensions, its initial value %d, and its update %d: want equal numbers",
			state.name, len(state.shape), len(init.shape), len(update.shape))
	}
	for d, n := range state.shape {
		if !a.same(n, widen(update.shape[d], n.DType())) || d > 0 && !a.same(n, widen(init.shape[d], n.DType())) {
			return fmt.Errorf("dimension %d of state %s, its initial value and its update: want equal sizes", d, state.name)
		}
	}
	first := p.inits[0].shape[0]
	steps, known := constant(init.shape[0])
	total, sure := constant(state.shape[0])
	switch {
	case !known || steps < 1:
		return fmt.Errorf("initial value %s: want a constant number of steps, 1 or more, as its first dimension", init.name)
	case sure && total < steps:
		return fmt.Errorf("initial value %s has %d steps, and state %s has %d", init.name, steps, state.name, total)
	case !a.same(init.shape[0], widen(first, init.shape[0].DType())):
		return fmt.Errorf("initial values %s and %s have different numbers of steps", p.inits[0].name, init.name)
	}
	return nil
}

// lag says how much earlier than the step that reads it a state is read, and in which dimensions with another index.
type lag struct {
	least, most int64
	free        []bool
}

// checkReads finds the steps that the updates read, and sets p.free.
func (p *scanParts) checkReads(a *analyzer) error {
	update := p.updates[0].op
	p.free = make([]bool, len(update.axes))
	for d := range p.free {
		p.free[d] = d > 0
	}
	l, err := p.lagOf(a, update, map[*operation]*lag{})
	if err != nil || l == nil {
		return err
	}
	steps, _ := constant(p.inits[0].shape[0])
	if l.least < 1 || l.most > steps {
		return fmt.Errorf("update %s reads steps t-%d to t-%d: want steps from t-1 to t-%d, because %d come from the "+
			"initial values", p.updates[0].name, l.least, l.most, steps, steps)
	}
	for d := range p.free {
		p.free[d] = p.free[d] && l.free[d]
	}
	return nil
}

// lagOf returns the lag of an operation; nil if it does not read a state.
func (p *scanParts) lagOf(a *analyzer, op *operation, known map[*operation]*lag) (*lag, error) {
	if l, ok := known[op]; ok {
		return l, nil
	}
	var all *lag
	for _, t := range append(readsOf(op.bodies), op.inputs...) {
		own := &lag{}
		if !slices.Contains(p.states, t) {
			var err error
			if own, err = p.lagOf(a, t.op, known); err != nil {
				return nil, err
			}
			if own == nil {
				continue
			}
		} else {
			for range t.shape {
				own.free = append(own.free, true)
			}
		}
		if op.kind != opCompute {
			return nil, fmt.Errorf("operation %s reads state %s: want a Compute", op.name, t.name)
		}
		read, err := p.readLag(a, op, t, own)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = read
			continue
		}
		all.least, all.most = min(all.least, read.least), max(all.most, read.most)
		for d := range all.free {
			all.free[d] = all.free[d] && read.free[d]
		}
	}
	known[op] = all
	return all, nil
}

// readLag returns the lag of an operation's reads of t, which is a state or has a lag itself.
func (p *scanParts) readLag(a *analyzer, op *operation, t *Tensor, of *lag) (*lag, error) {
	if len(op.axes) == 0 {
		return nil, fmt.Errorf("tensor %s reads state %s, and has no dimensions: want the time as the first one", op.name,
			t.name)
	}
	out := &lag{least: 1 << 31, most: -1 << 31, free: make([]bool, len(op.axes))}
	for d := range out.free {
		out.free[d] = d > 0 && d < len(of.free) && of.free[d]
	}
	ends := map[*tir.Var]span{}
	for _, x := range op.reduce {
		ends[x.Var] = a.shift(a.iterations(widen(x.Extent, x.Var.Type)), point(a.Simplify(widen(x.Min, x.Var.Type))))
	}
	var err error
	for _, b := range op.bodies {
		tir.Walk(b, func(n any) bool {
			load, ok := n.(*tir.ProducerLoad)
			if !ok || load.Producer != tir.Producer(t) {
				return err == nil
			}
			time := op.axes[0].Var
			var lo, hi int64
			known := false
			if isIndex(load.Indices[0].DType()) && !hasLoad(load.Indices[0]) {
				s := a.spanOf(a.Simplify(tir.Sub(time, widen(load.Indices[0], time.Type))), ends)
				var sure bool
				if s.known() {
					lo, known = constant(a.Simplify(s.lo))
					hi, sure = constant(a.Simplify(s.hi))
					known = known && sure
				}
			}
			if !known {
				err = fmt.Errorf("tensor %s reads %s at a time that is not its own first index minus a constant", op.name, t.name)
				return false
			}
			out.least, out.most = min(out.least, lo+of.least), max(out.most, hi+of.most)
			for d := range out.free {
				out.free[d] = out.free[d] && d < len(load.Indices) && load.Indices[d] == tir.Expr(op.axes[d].Var)
			}
			return true
		})
	}
	return out, err
}

// scanOf returns the scan that a stage updates, or nil.
func (st *Stage) scanOf() *Stage {
	for _, o := range st.s.stages {
		if o.op.kind == opScan && o.op.scan.updates[0].op == st.op {
			return o
		}
	}
	return nil
}

// ScanTime returns the axis over time if the stage is the update of a scan, else nil, and the axes whose iterations do
// not depend on each other over time, so that their loops may be outside of it.
func (st *Stage) ScanTime() (time *tir.IterVar, independent []*tir.IterVar) {
	scan := st.scanOf()
	if scan == nil {
		return nil, nil
	}
	for d, free := range scan.op.scan.free {
		if free {
			independent = append(independent, st.axes[d])
		}
	}
	return st.axes[0], independent
}

// ScanUpdate returns the update of the scan whose steps compute the stage's tensor, or nil. It is the stage itself, or
// one that reads it: then the tensor depends on earlier steps, and has to be computed inside the loop over time.
func (st *Stage) ScanUpdate() *Stage {
	for _, o := range st.s.stages {
		if o.op.kind != opScan {
			continue
		}
		if update := st.s.of[o.op.scan.updates[0].op]; update == st || update.needs(st) && st.readsState(o) {
			return update
		}
	}
	return nil
}

// readsState reports whether a stage reads a state of a scan, directly or through other stages.
func (st *Stage) readsState(scan *Stage) bool {
	return slices.ContainsFunc(scan.op.scan.states, func(t *Tensor) bool {
		state := st.s.of[t.op]
		return state != nil && state != st && st.needs(state)
	})
}
