package lower

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// run emits the instructions of steps. Registers of values that no later step reads are cleared, and their memory is
// used again.
func (f *function) run(steps []*step, results []*graph.Value) error {
	groups := fuse(steps, results, f.options.Member != nil)
	last := map[*graph.Value]int{}
	for i, g := range groups {
		for _, v := range append(append([]*graph.Value{}, g.reads...), g.wants...) {
			last[v] = i
		}
	}
	for _, v := range results {
		last[v] = len(groups)
	}
	plan := f.newPlan(groups, last)
	here := map[*graph.Value]bool{}
	for i, g := range groups {
		if f.inPlace {
			g.over = f.plan.overwritten(g, func(v *graph.Value) bool { return here[v] && last[v] == i })
		}
		if err := f.group(g); err != nil {
			first := g.steps[0].node
			if first.Source != "" {
				return fmt.Errorf("%s: %w", first.Source, err)
			}
			return fmt.Errorf("operator %s: %w", first.Op.Name, err)
		}
		for _, v := range g.wants {
			here[v] = true
		}
		for _, v := range append(append([]*graph.Value{}, g.reads...), g.wants...) {
			if r, ok := f.regs[v]; ok && here[v] && last[v] == i {
				here[v] = false
				f.emitTo(r, f.callee("vm.builtin.null_value"))
				f.plan.release(v)
			}
		}
	}
	f.endPlan(plan)
	return nil
}

func (f *function) group(g *group) error {
	for _, s := range g.steps {
		if err := f.require(s); err != nil {
			return err
		}
	}
	s := g.steps[0]
	switch s.node.Op.Control {
	case graph.Elements:
		return f.elements(s)
	case graph.If:
		return f.conditional(s)
	case graph.Loop:
		return f.loop(s)
	case graph.Loops:
		return f.loops(s.node)
	}
	if len(g.steps) == 1 && s.node.Op.View && len(s.reads) == 1 && len(s.wants) == 1 {
		return f.view(s.reads[0], s.wants[0])
	}
	return f.kernel(g)
}

// view emits a tensor that shares the memory of another one.
func (f *function) view(of, v *graph.Value) error {
	x, err := f.operand(of)
	if err != nil {
		return err
	}
	shape, err := f.shapeOf(v.Shape)
	if err != nil {
		return err
	}
	f.regs[v] = f.emit("vm.builtin.reshape", x, shape)
	f.plan.share(of, v)
	return nil
}

// elements emits the read of integers on the host.
func (f *function) elements(s *step) error {
	v, out := s.node.Inputs[0], s.node.Outputs[0]
	x, err := f.integers(v)
	if err != nil {
		return err
	}
	var sizes []tir.Expr
	for _, e := range out.Elements() {
		sizes = append(sizes, variables(e)[0])
	}
	if len(s.wants) > 0 { // the tensor itself is read, too
		own, err := f.operand(v)
		if err != nil {
			return err
		}
		f.regs[out] = f.emit("vm.builtin.copy", own)
		f.plan.share(v, out)
	}
	return f.match(register(f.emit("vm.builtin.tensor_to_shape", x)), sizes, "")
}

// integers returns an operand with the elements of a value in the form that tensor_to_shape reads: one dimension of
// int64.
func (f *function) integers(v *graph.Value) (vmcode.Operand, error) {
	x, err := f.operand(v)
	if err != nil || v.DType == tir.Int64 && len(v.Shape) == 1 {
		return x, err
	}
	flat := &graph.Value{DType: tir.Int64, Shape: v.Shape}
	if len(v.Shape) != 1 {
		flat.Shape = []tir.Expr{tir.I32(1)}
	}
	p := te.Placeholder(v.Shape, v.DType, "p0")
	cast := te.Compute(flat.Shape, "integers", func(i ...tir.Expr) tir.Expr {
		at := make([]tir.Expr, len(v.Shape))
		for d := range at {
			at[d] = i[0] // one dimension, or one element
		}
		return tir.NewCast(tir.Int64, p.At(at...))
	})
	err = f.call([]*te.Tensor{p}, []vmcode.Operand{x}, []*te.Tensor{cast}, []*graph.Value{flat}, "integers")
	return register(f.regs[flat]), err
}

// kernel emits the call of a function that computes a group.
func (f *function) kernel(g *group) error {
	tensors := map[*graph.Value]*te.Tensor{}
	var reads []*te.Tensor
	var values []*graph.Value
	for _, v := range g.reads {
		if t := inlined(v); t != nil {
			tensors[v] = t
			continue
		}
		tensors[v] = f.reading(v, fmt.Sprintf("p%d", len(reads)))
		reads, values = append(reads, tensors[v]), append(values, v)
	}
	var name []string
	for _, s := range g.steps {
		ins := make([]*te.Tensor, len(s.node.Inputs))
		for i, v := range s.node.Inputs {
			if v == nil {
				continue
			}
			if ins[i] = tensors[v]; ins[i] == nil { // only its shape is read
				ins[i] = te.Placeholder(v.Shape, v.DType, fmt.Sprintf("shape%d", i))
			}
		}
		outs, err := s.node.Tensors(ins)
		if err != nil {
			return err
		}
		for i, v := range s.node.Outputs {
			if v != nil && contains(s.wants, v) {
				tensors[v] = outs[i]
			}
		}
		name = append(name, s.node.Op.Name)
	}
	var results []*te.Tensor
	for _, v := range g.wants {
		results = append(results, tensors[v])
	}
	args := make([]vmcode.Operand, len(values))
	for i, v := range values {
		if f.consts[reads[i]] != nil {
			continue
		}
		var err error
		if args[i], err = f.operand(v); err != nil {
			return err
		}
	}
	f.over, f.overRead = g.over, tensors[g.over]
	return f.call(reads, args, results, g.wants, strings.Join(name, "_"))
}

// inlined returns a tensor for a constant of one element, which becomes a part of the code; nil for other values.
func inlined(v *graph.Value) *te.Tensor {
	if v.AsConst() == nil {
		return nil
	}
	e := v.Elements()
	if len(e) != 1 {
		return nil
	}
	if x, ok := e[0].(*tir.FloatImm); ok && (math.IsNaN(x.Value) || math.IsInf(x.Value, 0)) {
		return nil
	}
	return te.Compute(v.Shape, "constant", func(...tir.Expr) tir.Expr { return e[0] })
}

// call allocates results and emits the call of a kernel that computes them.
func (f *function) call(reads []*te.Tensor, args []vmcode.Operand, outs []*te.Tensor, values []*graph.Value,
	name string) error {
	// A tensor that is a result twice, or an operand, is copied: every argument is one tensor.
	for i, t := range outs {
		if contains(reads, t) || contains(outs[:i], t) {
			outs[i] = te.Compute(t.ProducerShape(), "copied", func(i ...tir.Expr) tir.Expr { return t.At(i...) })
		}
	}
	if f.options.Member != nil {
		if done, err := f.callMember(reads, args, outs, values, name); done || err != nil {
			return err
		}
	}
	var schedules []*te.Schedule
	for _, t := range f.targets {
		s, err := ops.Schedule(t, outs...)
		if err != nil {
			return err
		}
		schedules = append(schedules, s)
	}
	if f.prepares {
		var err error
		if reads, args, err = f.constantsOf(schedules[0], reads, args); err != nil {
			return err
		}
	}
	params, scalars := parameters(reads, outs)
	if err := f.ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	var fns []*tir.PrimFunc
	for _, s := range schedules {
		m, err := te.Lower(s, params, kernelName(name))
		if err != nil {
			return err
		}
		if len(m.Funcs) != 1 {
			return fmt.Errorf("the kernel has %d functions: want 1", len(m.Funcs))
		}
		fns = append(fns, m.Funcs[0])
	}
	if f.over != nil && !mayOverwrite(fns, slices.Index(reads, f.overRead), len(reads)) {
		f.over = nil
	}
	kernel, known := f.addKernel(fns)
	if f.options.Report != nil && !known {
		f.options.Report(kernel, time.Since(began))
	}
	return f.invoke(kernel, args, values, scalars)
}

// parameters returns the parameters of a kernel, and which of them are sizes: those that are no dimension of a tensor.
func parameters(reads, outs []*te.Tensor) (params []any, scalars []tir.Expr) {
	d := dag{seen: map[*te.Tensor]bool{}}
	for _, t := range outs {
		d.visit(t)
	}
	bare := map[*tir.Var]bool{} // sizes that are dimensions of an argument
	for _, t := range append(append([]*te.Tensor{}, reads...), outs...) {
		params = append(params, t)
		for _, e := range t.ProducerShape() {
			if v, ok := e.(*tir.Var); ok {
				bare[v] = true
			}
		}
	}
	for _, v := range d.vars() {
		if !bare[v] {
			params = append(params, v)
			scalars = append(scalars, v)
		}
	}
	return params, scalars
}

// loops emits the call of a kernel that the model has.
func (f *function) loops(n *graph.Node) error {
	args, err := f.operands(n.Inputs)
	if err != nil {
		return err
	}
	var fns []*tir.PrimFunc
	for range f.targets {
		fn := *n.Kernel.Func
		fn.Name = kernelName(strings.TrimPrefix(fn.Name, kernelPrefix))
		fns = append(fns, &fn)
	}
	kernel, _ := f.addKernel(fns)
	return f.invoke(kernel, args, n.Outputs, n.Kernel.Sizes)
}

// invoke allocates results and emits the call of a kernel. Its arguments are args, the results and scalars.
func (f *function) invoke(kernel string, args []vmcode.Operand, values []*graph.Value, scalars []tir.Expr) error {
	callee := f.callee(kernel)
	args = append([]vmcode.Operand{}, args...)
	for _, v := range values {
		if f.over != nil {
			f.plan.release(f.over) // v takes its storage
			f.over = nil
		}
		r, err := f.allocate(v)
		if err != nil {
			return err
		}
		args = append(args, register(r))
	}
	if len(scalars) == 0 {
		f.emitTo(vmcode.Void, callee, args...)
		return nil
	}
	shape, err := f.shapeOf(scalars)
	if err != nil {
		return err
	}
	args = append([]vmcode.Operand{{Kind: vmcode.OfFunction, Value: int64(callee)}}, args...)
	f.emitTo(vmcode.Void, f.callee("vm.builtin.call_tir_dyn"), append(args, shape)...)
	return nil
}

// longestName is the length at which names of kernels are cut.
const (
	longestName  = 80
	kernelPrefix = "fused_"
)

// kernelName makes a name that all languages of kernels accept: none of them reserves the prefix.
func kernelName(s string) string {
	s = kernelPrefix + s[:min(len(s), longestName)]
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// nodes emits what computes the results of a function.
func (f *function) nodes(g *graph.Function) error {
	steps, err := f.steps(g, &needs{values: map[*graph.Value]bool{}, vars: map[*tir.Var]bool{}})
	if err != nil {
		return err
	}
	return f.run(steps, g.Results)
}
