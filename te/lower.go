package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// lowering is the state of Lower.
type lowering struct {
	s       *Schedule
	a       *analyzer
	args    map[*Tensor]bool
	bodies  map[*Stage][]tir.Expr // after inlining
	order   []*Stage              // stages that are computed, each after those that it reads
	nests   map[*Stage]*nest
	widths  map[threadKey]int64
	buffers map[*Tensor]*tir.Buffer
	scanned map[*Stage]*Stage        // the scan whose memory a stage writes
	ofScan  map[*Stage][]*tir.Buffer // the memory of scans, by the first stage that writes it
}

// Lower makes a module with one function from a schedule, and leaves the schedule unchanged. The function's arguments
// are tensors (*Tensor): all outputs, all placeholders that are read, and possibly others that are computed as a whole;
// and variables (*tir.Var). Argument tensors are compact, except those wrapped by Strided. It returns the first error
// of the schedule, or an error that names the argument that is wrong or missing.
func Lower(s *Schedule, args []any, name string) (*tir.IRModule, error) {
	if s == nil {
		return nil, fmt.Errorf("te: lower %s: the schedule is nil", name)
	}
	if s.err != nil {
		return nil, s.err
	}
	l := &lowering{s: s, a: newAnalyzer(), args: map[*Tensor]bool{}, buffers: map[*Tensor]*tir.Buffer{}}
	f, err := l.function(args, name)
	if err != nil {
		return nil, fmt.Errorf("te: lower %s: %w", name, err)
	}
	return tir.NewModule(f)
}

func (l *lowering) function(args []any, name string) (*tir.PrimFunc, error) {
	f := &tir.PrimFunc{Name: name, Buffers: map[*tir.Var]*tir.Buffer{}, Result: tir.Void, Attrs: map[string]any{}}
	if err := l.parameters(f, args); err != nil {
		return nil, err
	}
	var err error
	if l.bodies, err = l.s.inline(); err != nil {
		return nil, err
	}
	for _, st := range l.s.stages {
		for _, t := range st.op.tensors {
			l.a.noteSizes(t.shape...)
		}
		for _, x := range st.reduce {
			l.a.noteSizes(x.Extent)
		}
		if st.op.kind != opPlaceholder && !st.inlined {
			l.order = append(l.order, st)
		}
	}
	if err := l.scans(); err != nil {
		return nil, err
	}
	if err := l.checkArguments(f); err != nil {
		return nil, err
	}
	if err := l.infer(); err != nil {
		return nil, err
	}
	if err := l.checkScans(); err != nil {
		return nil, err
	}
	if f.Body, err = l.body(); err != nil {
		return nil, err
	}
	return f, nil
}

// parameters makes the parameters from the arguments.
func (l *lowering) parameters(f *tir.PrimFunc, args []any) error {
	for i, arg := range args {
		view, strided := arg.(*stridedArg)
		if strided {
			arg = view.t
		}
		scope := ""
		if other, ok := arg.(*scopedArg); ok {
			if scope = other.scope; scope == "" {
				return fmt.Errorf("argument %d: the scope is empty: want \"global.texture\" or another of the device", i)
			}
			arg = other.t
		}
		switch x := arg.(type) {
		case *tir.Var:
			if x == nil {
				return fmt.Errorf("argument %d is nil", i)
			}
			if slices.Contains(f.Params, x) {
				return fmt.Errorf("argument %d: variable %s is given twice", i, x.Name)
			}
			f.Params = append(f.Params, x)
		case *Tensor:
			if x == nil {
				return fmt.Errorf("argument %d is nil", i)
			}
			if l.args[x] {
				return fmt.Errorf("argument %d: tensor %s is given twice", i, x.name)
			}
			st := l.s.of[x.op]
			switch {
			case x.op.state:
				return fmt.Errorf("argument %d: tensor %s is the state of a scan: pass the scan's result", i, x.name)
			case x.op.err != nil:
				return x.op.err
			case st == nil && x.op.kind != opPlaceholder:
				return fmt.Errorf("argument %d: tensor %s is not of this schedule", i, x.name)
			case st != nil && (st.inlined || st.at != nil):
				return fmt.Errorf("argument %d: tensor %s is not computed as a whole: use compute_root, or leave it out", i, x.name)
			case st != nil && (st.scope != "" && st.scope != "global" || st.arranged() || st.stages > 0):
				return fmt.Errorf("argument %d: the memory of tensor %s is the caller's: leave out set_scope, storage_align, "+
					"storage_swizzle and double_buffer", i, x.name)
			}
			l.args[x] = true
			b := tir.NewBuffer(x.name, x.typ, x.shape...)
			b.Scope = scope
			if strided {
				asView(b)
			}
			v := tir.NewVar(x.name+"_handle", tir.Handle)
			l.buffers[x] = b
			f.Params, f.Buffers[v] = append(f.Params, v), b
		default:
			return fmt.Errorf("argument %d is a %T: want a *te.Tensor or a *tir.Var", i, arg)
		}
	}
	return nil
}

// checkArguments returns an error if an argument is missing.
func (l *lowering) checkArguments(f *tir.PrimFunc) error {
	bound := map[*tir.Var]bool{}
	for _, p := range f.Params {
		bound[p] = true
		if b := f.Buffers[p]; b != nil {
			for _, n := range b.Shape {
				if v, ok := n.(*tir.Var); ok {
					bound[v] = true
				}
			}
		}
	}
	for _, st := range l.s.stages {
		for _, t := range st.op.tensors {
			switch {
			case l.args[t]:
			case st.output:
				return fmt.Errorf("output %s is not among the arguments", t.name)
			case st.op.state && l.buffers[t] == nil:
				return fmt.Errorf("state %s is read, and no scan that the outputs depend on has it", t.name)
			case st.op.kind == opPlaceholder && !st.op.state:
				return fmt.Errorf("tensor %s is read, and is not among the arguments", t.name)
			}
		}
		own := map[*tir.Var]bool{}
		for _, x := range append(slices.Clone(st.axes), st.reduce...) {
			own[x.Var] = true
		}
		var parts []tir.Expr
		for _, t := range st.op.tensors {
			parts = append(parts, t.shape...)
		}
		for _, x := range st.reduce {
			parts = append(parts, x.Min, x.Extent)
		}
		for _, v := range freeVars(parts, nil) {
			if !bound[v] {
				return fmt.Errorf("no argument defines variable %s, a size of tensor %s: add it to the arguments, or "+
					"a tensor with it as a dimension", v.Name, st.op.name)
			}
		}
		for _, v := range freeVars(st.bodies, own) {
			if !bound[v] {
				return fmt.Errorf("tensor %s: no argument defines variable %s, and it is none of the tensor's axes "+
					"%v and the reduction's %v", st.op.name, v.Name, axisNames(st.axes), axisNames(st.reduce))
			}
		}
	}
	for t := range l.args {
		for _, v := range freeVars(t.shape, nil) {
			if !bound[v] {
				return fmt.Errorf("no argument defines variable %s, a size of tensor %s: add it to the arguments",
					v.Name, t.name)
			}
		}
	}
	return nil
}

// freeVars returns the variables of expressions that neither the expressions nor own bind.
func freeVars(exprs []tir.Expr, own map[*tir.Var]bool) []*tir.Var {
	var free []*tir.Var
	lets := map[*tir.Var]bool{}
	for _, e := range exprs {
		tir.Walk(e, func(n any) bool {
			switch n := n.(type) {
			case *tir.Let:
				lets[n.Var] = true
			case *tir.Var:
				if !own[n] && !lets[n] && !slices.Contains(free, n) {
					free = append(free, n)
				}
			}
			return true
		})
	}
	return free
}

// reads returns the tensors that a stage reads after inlining.
func (l *lowering) reads(st *Stage) []*Tensor {
	if st.op.kind == opExtern || st.op.kind == opScan {
		return st.op.inputs
	}
	return readsOf(l.bodies[st])
}

// body computes the stages at the root, one after another.
func (l *lowering) body() (tir.Stmt, error) {
	kernels := false
	for _, st := range l.order {
		n := l.nests[st]
		if err := l.allocate(n); err != nil {
			return nil, err
		}
		kernels = kernels || slices.ContainsFunc(n.loops, bound)
	}
	var body tir.Stmt = &tir.Seq{}
	for _, st := range slices.Backward(l.order) {
		n := l.nests[st]
		switch {
		case st.at != nil:
			continue
		case st.stages > 0:
			return nil, fmt.Errorf("%s of tensor %s: it is not inside a loop whose next iteration could "+
				"be prepared: use compute_at", st.overlap(), st.op.name)
		case kernels && n.scope != "global":
			return nil, fmt.Errorf("tensor %s in scope %s: kernels can only exchange global memory: compute it at "+
				"an axis of its reader", st.op.name, n.scope)
		}
		var err error
		if body, err = l.around(n, body); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// allocate makes the buffers of a nest's tensors, unless they are arguments.
func (l *lowering) allocate(n *nest) error {
	if err := l.checkSpread(n); err != nil {
		return err
	}
	for _, t := range n.st.op.tensors {
		if l.buffers[t] != nil {
			continue
		}
		shape, err := n.memory()
		if err != nil {
			return err
		}
		if n.st.op.kind == opExtern {
			shape = t.shape
		}
		if loops, spread := n.own(); spread {
			shape = nil
			for _, lp := range loops {
				shape = append(shape, lp.extent)
			}
		}
		b := tir.NewBuffer(t.name, t.typ, shape...)
		if n.scope != "global" {
			b.Scope = n.scope
		}
		if len(n.st.aligns) > 0 {
			b.Strides = l.strides(n, shape)
		}
		l.buffers[t] = b
	}
	return nil
}

// strides returns the strides of compact memory, with the padding of storage_align.
func (l *lowering) strides(n *nest, shape []tir.Expr) []tir.Expr {
	out := make([]tir.Expr, len(shape))
	var stride tir.Expr = tir.IntConst(shape[len(shape)-1].DType(), 1)
	for d := len(shape) - 1; d >= 0; d-- {
		if al := n.st.aligns[n.st.axes[d]]; al.factor > 0 {
			t := stride.DType()
			gap := tir.FloorMod(tir.Sub(tir.IntConst(t, al.factor+al.offset), tir.FloorMod(stride, tir.IntConst(t, al.factor))),
				tir.IntConst(t, al.factor))
			stride = l.a.Simplify(tir.Add(stride, gap))
		}
		out[d] = stride
		stride = l.a.Simplify(tir.Mul(stride, shape[d]))
	}
	return out
}

// around wraps rest, which reads the nest's tensors, in their allocation, after the computation of the nest.
func (l *lowering) around(n *nest, rest tir.Stmt) (tir.Stmt, error) {
	made, err := l.produce(n)
	if err != nil {
		return nil, err
	}
	overlaps, err := l.overlaps(n)
	if err != nil {
		return nil, err
	}
	body := tir.Sequence(made, rest)
	for _, b := range l.ofScan[n.st] {
		body = &tir.Alloc{Buffer: b, Body: body}
	}
	for _, t := range slices.Backward(n.st.op.tensors) {
		if l.args[t] || l.scanned[n.st] != nil {
			continue
		}
		b := l.buffers[t]
		if overlaps {
			body = n.st.marked(b, body)
		}
		body = &tir.Alloc{Buffer: b, Body: body}
	}
	return body, nil
}
