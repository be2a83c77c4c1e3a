package lower

import (
	"fmt"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// handleType is the type of a parameter that is a tensor.
var handleType = tir.Handle

// function lowers one function.
type function struct {
	*lowering
	name     string
	graph    *graph.Function
	begin    int             // of its instructions
	next     vmcode.Register // not used yet
	heap     vmcode.Register
	numSlots int
	block    *block
	plan     *plan // of the memory of the block
	regs     map[*graph.Value]vmcode.Register
	over     *graph.Value // the operand over which the next kernel may write its result
	overRead *te.Tensor   // by which the kernel reads it
}

// hostIndex and deviceIndex number the devices of a model as alloc_storage counts them.
const (
	hostIndex   = -1
	deviceIndex = 0
)

func (l *lowering) function(g *graph.Function) error {
	f := &function{lowering: l, name: g.Name, graph: g, begin: len(l.code.Code), block: &block{slots: map[string]int{}},
		regs: map[*graph.Value]vmcode.Register{}}
	if err := f.lower(g); err != nil {
		return fmt.Errorf("lower function %q: %w", g.Name, err)
	}
	return nil
}

func (f *function) lower(g *graph.Function) error {
	var names []string
	for i, v := range g.Params {
		f.regs[v] = vmcode.Register(i)
		names = append(names, v.Name)
	}
	f.next = vmcode.Register(len(g.Params))
	f.heap = f.newRegister()
	at := len(f.code.Code) // the number of slots is set at the end
	f.emitTo(f.heap, f.callee("vm.builtin.alloc_shape_heap"), register(vmcode.Context), number(0))
	if err := f.checkParams(g.Params); err != nil {
		return err
	}
	if err := f.nodes(g); err != nil {
		return err
	}
	results, err := f.operands(g.Results)
	if err != nil {
		return err
	}
	f.note(g)
	var result vmcode.Register
	if len(results) == 1 && results[0].Kind == vmcode.InRegister {
		result = vmcode.Register(results[0].Value)
	} else if len(results) == 1 {
		result = f.emit("vm.builtin.copy", results[0])
	} else {
		result = f.emit("vm.builtin.make_tuple", results...)
	}
	f.code.Code = append(f.code.Code, vmcode.Instruction{Op: vmcode.Ret, Source: result})
	if f.numSlots == 0 { // no size varies
		f.code.Code[at] = vmcode.Instruction{Op: vmcode.Call, Dst: f.heap, Callee: f.callee("vm.builtin.null_value")}
	} else {
		f.code.Code[at].Args[1] = number(int64(f.numSlots))
	}
	f.code.Functions = append(f.code.Functions, vmcode.Function{Kind: vmcode.Bytecode, Name: g.Name, Begin: f.begin,
		End: len(f.code.Code), Arity: len(g.Params), Registers: int(f.next), Parameters: names})
	return nil
}

// note records the type and the names of the results for those who load the model.
func (f *function) note(g *graph.Function) {
	types := ""
	for i, v := range g.Results {
		if i > 0 {
			types += ", "
		}
		types += annotation(v)
	}
	if len(g.Results) != 1 {
		types = "R.Tuple(" + types + ")"
	}
	f.text(fmt.Sprintf("ErrorContext(fn=%s, loc=return, annotation=%s) ", f.name, types))
	if len(g.ResultNames) > 0 {
		f.text(vmcode.ResultNames(f.name, g.ResultNames))
	}
}

// checkParams checks the arguments, and stores the sizes that they define.
func (f *function) checkParams(params []*graph.Value) error {
	contexts := make([]string, len(params))
	for i, v := range params {
		contexts[i] = fmt.Sprintf("ErrorContext(fn=%s, loc=param[%d], param=%s, annotation=%s) ", f.name, i, v.Name,
			annotation(v))
		f.emitTo(vmcode.Void, f.callee("vm.builtin.check_tensor_info"), register(f.regs[v]), number(int64(len(v.Shape))),
			f.dtype(v.DType), f.text(contexts[i]))
	}
	for _, formulas := range []bool{false, true} { // formulas last: other parameters may define their variables
		for i, v := range params {
			if hasFormula(v.Shape) != formulas {
				continue
			}
			if err := f.match(register(f.regs[v]), v.Shape, contexts[i]); err != nil {
				return fmt.Errorf("parameter %s: %w", v, err)
			}
		}
	}
	return f.checkRanges(params, contexts)
}

func hasFormula(shape []tir.Expr) bool {
	for _, e := range shape {
		_, isVar := e.(*tir.Var)
		if !isVar && !isConstant(e) {
			return true
		}
	}
	return false
}

func (f *function) newRegister() vmcode.Register {
	f.next++
	return f.next - 1
}

// emit adds a call of a builtin, and returns the register of its result.
func (f *function) emit(name string, args ...vmcode.Operand) vmcode.Register {
	r := f.newRegister()
	f.emitTo(r, f.callee(name), args...)
	return r
}

func (f *function) emitTo(dst vmcode.Register, callee int, args ...vmcode.Operand) {
	f.code.Code = append(f.code.Code, vmcode.Instruction{Op: vmcode.Call, Dst: dst, Callee: callee, Args: args})
}

// operand returns an operand for a value that has been computed.
func (f *function) operand(v *graph.Value) (vmcode.Operand, error) {
	if c := v.AsConst(); c != nil && len(c.Data) == 0 { // Apache TVM cannot load a constant without elements
		r, err := f.allocate(&graph.Value{DType: v.DType, Shape: v.Shape})
		return register(r), err
	} else if c != nil {
		return f.tensor(v, c), nil
	}
	r, ok := f.regs[v]
	if !ok {
		return vmcode.Operand{}, fmt.Errorf("value %s is not computed before it is used", v)
	}
	return register(r), nil
}

func (f *function) operands(values []*graph.Value) ([]vmcode.Operand, error) {
	out := make([]vmcode.Operand, len(values))
	for i, v := range values {
		var err error
		if out[i], err = f.operand(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// addKernel adds a function, which may differ between the targets, to the program, unless an equal one is there. It
// returns its name, and whether an equal one was there.
func (l *lowering) addKernel(fns []*tir.PrimFunc) (name string, known bool) {
	name, known = l.name(fns)
	if !known {
		for i, fn := range fns {
			l.modules[i].Funcs = append(l.modules[i].Funcs, fn)
		}
	}
	return name, known
}

// addShapeFunction adds a function that runs on the host, and returns its name.
func (l *lowering) addShapeFunction(fn *tir.PrimFunc) string {
	fn.Attrs = map[string]any{"target": l.host}
	name, known := l.name([]*tir.PrimFunc{fn})
	if !known {
		l.shapes.Funcs = append(l.shapes.Funcs, fn)
	}
	return name
}

// name names a function, with a number if another one has its name. It is known if an equal function was named before.
func (l *lowering) name(fns []*tir.PrimFunc) (name string, known bool) {
	name = fns[0].Name
	key := ""
	for _, fn := range fns {
		fn.Name = "kernel"
		key += text.Print(fn)
	}
	if name, ok := l.kernels[key]; ok {
		return name, true
	}
	base := name
	for n := 1; l.names[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	for _, fn := range fns {
		fn.Name = name
	}
	l.names[name] = true
	l.kernels[key] = name
	return name, false
}

// hostOf returns the target of code that runs on the host.
func hostOf(targets []*target.Target) (*target.Target, error) {
	for _, t := range targets {
		if t.DeviceType() == dlpack.CPU {
			return t, nil
		}
	}
	for _, t := range targets {
		if h := t.Host(); h != nil {
			return h, nil
		}
	}
	return target.New("c")
}
