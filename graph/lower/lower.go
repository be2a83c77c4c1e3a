package lower

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// Program is a lowered model.
type Program struct {
	// Kernels has the functions for each target, in the order of the targets, with the same names.
	Kernels []*tir.IRModule
	// Shapes has functions for the host that compute sizes. It is nil for a single target: they are in Kernels then.
	Shapes *tir.IRModule
	Code   *vmcode.Executable // calls the functions by their names
}

// Options say how models are lowered. The zero value has no reports, and kernels read constants as they are.
type Options struct {
	// Report is called after each new kernel is scheduled, with its name and the time that it took; it may be nil.
	Report func(kernel string, took time.Duration)
	// Member returns the target of a kernel that is one operator, with its loops as they are defined, and with the name
	// of the operator in attribute "op". If it is that of the program, the kernel gets its schedule. nil: all kernels are
	// for the targets of the program. Matrix products and reductions are not combined with the formulas behind them then.
	Member func(f *tir.PrimFunc) (*target.Target, error)
	// Evaluate runs a function without parameters, and returns the data of its results, as graph.Const describes it. It
	// prepares constants in the form that kernels read, such as the panels of a matrix product. If it is nil, or there
	// are several targets, kernels read constants as they are.
	Evaluate func(ctx context.Context, f *graph.Function) ([][]byte, error)
}

// Model lowers the functions of a model for one or several targets. The data of constants is shared with the graph.
func Model(targets []*target.Target, functions ...*graph.Function) (*Program, error) {
	return Options{}.Model(context.Background(), targets, functions...)
}

// Model is the function Model with options. If ctx ends, it stops with the context's error.
func (o Options) Model(ctx context.Context, targets []*target.Target, functions ...*graph.Function) (*Program, error) {
	if len(targets) == 0 {
		return nil, errors.New("lower: there is no target: give one, such as target.New(\"c\")")
	}
	host, err := hostOf(targets)
	if err != nil {
		return nil, fmt.Errorf("lower: %w", err)
	}
	l := &lowering{ctx: ctx, options: o, targets: targets, host: host,
		code: &vmcode.Executable{Form: vmcode.Form{Version: 1}}, callees: map[string]int{}, constants: map[string]int{},
		tensors: map[*graph.Const]int{}, kernels: map[string]string{}, names: map[string]bool{},
		prepares: o.Evaluate != nil && len(targets) == 1, prepared: map[string]int{},
		preparations: graph.NewFunction("prepared"), consts: map[*te.Tensor]*graph.Value{}}
	l.inPlace = !slices.ContainsFunc(targets, func(t *target.Target) bool { return t.DeviceType() != dlpack.CPU })
	for range targets {
		l.modules = append(l.modules, &tir.IRModule{})
	}
	l.shapes = l.modules[0]
	if len(targets) > 1 {
		l.shapes = &tir.IRModule{}
	}
	for _, f := range functions { // a program finds its functions by these names
		if l.names[f.Name] {
			return nil, fmt.Errorf("lower: two functions have the name %q: rename one", f.Name)
		}
		l.names[f.Name] = true
	}
	for _, f := range functions {
		if err := l.function(f); err != nil {
			return nil, err
		}
	}
	if err := l.prepare(); err != nil {
		return nil, fmt.Errorf("lower: prepare constants: %w", err)
	}
	if err := l.code.Check(); err != nil {
		return nil, fmt.Errorf("lower: %w", err)
	}
	p := &Program{Kernels: l.modules, Code: l.code}
	if len(targets) > 1 && len(l.shapes.Funcs) > 0 {
		p.Shapes = l.shapes
	}
	return p, nil
}

// lowering is the state of Model.
type lowering struct {
	ctx       context.Context
	options   Options
	targets   []*target.Target
	host      *target.Target  // of shape functions
	modules   []*tir.IRModule // the kernels for each target
	shapes    *tir.IRModule   // the shape functions
	code      *vmcode.Executable
	callees   map[string]int // index of a packed function
	constants map[string]int // index of a constant that is no tensor, by its text
	tensors   map[*graph.Const]int
	kernels   map[string]string // name of a kernel by its structure
	names     map[string]bool   // of functions

	inPlace      bool            // whether a kernel may write its result over an operand
	prepares     bool            // whether kernels may read constants in another form
	prepared     map[string]int  // index of a prepared constant by what computes it
	preparations *graph.Function // computes the prepared constants
	places       []int           // of its results
	consts       map[*te.Tensor]*graph.Value
}

// callee returns the index of a packed function.
func (l *lowering) callee(name string) int {
	at, ok := l.callees[name]
	if !ok {
		at = len(l.code.Functions)
		l.callees[name] = at
		l.code.Functions = append(l.code.Functions, vmcode.Function{Kind: vmcode.Packed, Name: name})
	}
	return at
}

// constant returns an operand for a constant that is no tensor.
func (l *lowering) constant(c vmcode.Constant) vmcode.Operand {
	key := fmt.Sprint(c.Kind, c.DType, c.Shape, c.Text, c.Int, c.Float)
	at, ok := l.constants[key]
	if !ok {
		at = len(l.code.Constants)
		l.constants[key] = at
		l.code.Constants = append(l.code.Constants, c)
	}
	return vmcode.Operand{Kind: vmcode.InConstant, Value: int64(at)}
}

func (l *lowering) shape(dims ...int64) vmcode.Operand {
	return l.constant(vmcode.Constant{Kind: vmcode.ShapeConstant, Shape: dims})
}

func (l *lowering) dtype(t tir.Type) vmcode.Operand {
	return l.constant(vmcode.Constant{Kind: vmcode.DTypeConstant, DType: t})
}

func (l *lowering) text(s string) vmcode.Operand {
	return l.constant(vmcode.Constant{Kind: vmcode.StringConstant, Text: s})
}

// tensor returns an operand for a constant tensor.
func (l *lowering) tensor(v *graph.Value, of *graph.Const) vmcode.Operand {
	at, ok := l.tensors[of]
	if !ok {
		shape, _ := v.StaticShape()
		at = len(l.code.Constants)
		l.tensors[of] = at
		c := vmcode.Constant{Kind: vmcode.TensorConstant}
		c.Tensor.DType, c.Tensor.Shape, c.Tensor.Data = v.DType, shape, of.Data
		// Elements that share a byte have one each in the size that files state: zeros follow them.
		if n, err := dlpack.SerializedDataSize(shape, v.DType); err == nil && n > int64(len(of.Data)) {
			c.Tensor.Data = append(append(make([]byte, 0, n), of.Data...), make([]byte, n-int64(len(of.Data)))...)
		}
		l.code.Constants = append(l.code.Constants, c)
	}
	return vmcode.Operand{Kind: vmcode.InConstant, Value: int64(at)}
}

func number(n int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.Immediate, Value: n} }

func register(r vmcode.Register) vmcode.Operand {
	return vmcode.Operand{Kind: vmcode.InRegister, Value: int64(r)}
}
