package compile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tvmgo/codegen"
	"tvmgo/graph"
	"tvmgo/graph/lower"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	"tvmgo/graph/passes"
	"tvmgo/graph/relax"
	"tvmgo/internal/cc"
	"tvmgo/runtime"
	"tvmgo/runtime/vm"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/weights"
)

// Options say how a model is compiled. The zero value compiles for the CPU.
type Options struct {
	// Targets are what the kernels are for; none: kind c. With several, the library has variants of each kernel, and runs
	// on the devices of any of them.
	Targets []*target.Target
	// Import has the shapes of inputs, the sizes of symbolic dimensions, and values for inputs: of models in any format.
	Import onnx.Options
	// Direct says that no convolution uses Winograd's algorithm, which is faster, makes the weights of convolutions of 3×3
	// four times as large, and has greater errors.
	Direct bool
	// Progress is called before each stage of the work, with its name; it may be nil.
	Progress func(stage string)
	// Detail is called after each part of a stage, such as a pass or a kernel, with the time that it took; it may be nil.
	Detail func(part string, took time.Duration)
}

// details returns a function that reports parts of a kind; nil if nothing is reported.
func (o *Options) details(kind string) func(string, time.Duration) {
	if o.Detail == nil {
		return nil
	}
	return func(part string, took time.Duration) { o.Detail(kind+" "+part, took) }
}

func (o *Options) begin(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

func (o *Options) targets() ([]*target.Target, error) {
	if len(o.Targets) > 0 {
		return o.Targets, nil
	}
	t, err := target.New("c")
	return []*target.Target{t}, err
}

// Model reads a model in ONNX's format, or a Relax module in Apache TVM's JSON, and compiles it, as ModelFile does.
// External data is not read.
func Model(ctx context.Context, r io.Reader, o Options) (*Compiled, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("compile model: %w", err)
	}
	if relax.IsModule(data) {
		return compileModule(ctx, data, o)
	}
	m, err := file.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("compile model: %w", err)
	}
	return compileModel(ctx, m, nil, o)
}

// ModelFile compiles a model in ONNX's format, a Relax module in Apache TVM's JSON (package graph/relax), or the text
// of functions of package graph if the name of the file ends in TextSuffix; the options Import are not for the latter.
// The data of ONNX's weights is shared with the file, which is mapped until the result is closed.
//
// The error lists all operators that are not supported (onnx.UnsupportedError, relax.UnsupportedError), or names the
// node that is wrong.
func ModelFile(ctx context.Context, path string, o Options) (*Compiled, error) {
	o.begin("read %s", path)
	if strings.HasSuffix(path, TextSuffix) {
		list, err := readText(path)
		if err != nil {
			return nil, err
		}
		return Functions(ctx, list, o)
	}
	if text, err := readModule(path); err != nil {
		return nil, err
	} else if text != nil {
		return compileModule(ctx, text, o)
	}
	f, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	c, err := compileModel(ctx, f.Model, f.External, o)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	c.source = f
	return c, nil
}

// TextSuffix ends the names of files with the text of a function, as graph.Parse reads it.
const TextSuffix = ".graph"

func readText(path string) ([]*graph.Function, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	functions, err := graph.Parse(string(data), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(functions) == 0 {
		return nil, fmt.Errorf("%s has no functions: want at least one", path)
	}
	return functions, nil
}

// Compiled is a compiled model.
type Compiled struct {
	Functions []*graph.Function // what was compiled; a model in ONNX's format is one function
	Program   *lower.Program    // kernels as loops, and the code that calls them
	Module    *runtime.Module   // an executable of the virtual machine, which imports the kernels
	Weights   []weights.Array   // of the option Import.Parameters: the parameters behind the inputs

	source io.Closer
}

// Close releases the module and the files of the model.
func (c *Compiled) Close() error {
	err := c.Module.Close()
	if c.source != nil {
		err = errors.Join(err, c.source.Close())
	}
	return err
}

func compileModel(ctx context.Context, m *file.Model, external *file.External, o Options) (*Compiled, error) {
	o.begin("read the graph: %d nodes", len(m.Graph.Nodes))
	f, parameters, err := onnx.ImportWeights(m, external, o.Import)
	if err != nil {
		return nil, err
	}
	return withWeights(ctx, []*graph.Function{f}, parameters, o)
}

// withWeights compiles functions, of which some parameters are weights.
func withWeights(ctx context.Context, fs []*graph.Function, parameters []*graph.Value, o Options) (*Compiled, error) {
	c, err := Functions(ctx, fs, o)
	if err != nil {
		return nil, err
	}
	for _, v := range parameters {
		shape, _ := v.StaticShape()
		c.Weights = append(c.Weights, weights.Array{Name: v.Name, DType: v.DType, Shape: shape, Data: v.Const.Data})
	}
	return c, nil
}

// Function compiles the function of a model, as Functions does.
func Function(ctx context.Context, f *graph.Function, o Options) (*Compiled, error) {
	return Functions(ctx, []*graph.Function{f}, o)
}

// Functions compiles the functions of a model, which are not changed: the passes of package passes run on copies. The
// data of constants is shared with the graph, and must not be changed or unmapped before the result is closed. The
// program must import the code generator of the target (tvmgo/codegen/all).
func Functions(ctx context.Context, list []*graph.Function, o Options) (*Compiled, error) {
	targets, err := o.targets()
	if err != nil {
		return nil, err
	}
	whole := targets[0]
	if slices.ContainsFunc(targets, func(t *target.Target) bool { return t.Kind().IsComposite() }) {
		if len(targets) > 1 {
			return nil, fmt.Errorf("compile: a composite target and %d others: give one composite target, or several others",
				len(targets)-1)
		}
		base, err := baseOf(whole)
		if err != nil {
			return nil, fmt.Errorf("compile: %w", err)
		}
		targets = []*target.Target{base}
	}
	composite := whole != targets[0]
	simplify := passes.Options{Portable: len(targets) > 1 || composite, Direct: o.Direct, Report: o.details("pass")}
	if _, err := cc.Find(cc.C, ""); err == nil {
		simplify.Evaluate = evaluate
	}
	fs, nodes := make([]*graph.Function, len(list)), 0
	for i, f := range list {
		fs[i] = f.Clone()
		o.begin("simplify %d nodes", len(f.Nodes))
		if err := passes.Run(ctx, fs[i], targets[0], simplify); err != nil {
			return nil, err
		}
		nodes += len(fs[i].Nodes)
	}
	o.begin("schedule %d nodes", nodes)
	lowering := lower.Options{Report: o.details("kernel"), Evaluate: simplify.Evaluate}
	if composite {
		lowering.Member = func(f *tir.PrimFunc) (*target.Target, error) { return codegen.Member(f, whole) }
	}
	p, err := lowering.Model(ctx, targets, fs...)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.begin("generate code of %d kernels for %s", len(p.Kernels[0].Funcs), kinds(targets))
	m, err := link(p, targets)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return &Compiled{Functions: fs, Program: p, Module: m}, nil
}

// baseOf returns the member of a composite target for the kernels that no other member takes: the last one that is a
// kind of CPU code. Kernels of a model share memory, so all members must run in that of the host.
func baseOf(t *target.Target) (base *target.Target, err error) {
	for _, m := range t.Members() {
		switch kind := m.Kind(); {
		case kind.Name() == "c" || kind.Name() == "llvm":
			base = m
		case kind.BuiltIn():
			return nil, fmt.Errorf("member %q of target %q has memory of its own, and the kernels of a model share theirs: "+
				"give each kind as a target, which makes a library with variants", kind, t.Kind())
		}
	}
	if base == nil {
		return nil, fmt.Errorf("target %q has no member of kind c or llvm, for the operators that no other member takes: "+
			"add one", t.Kind())
	}
	return base, nil
}

// kinds lists the kinds of targets.
func kinds(targets []*target.Target) string {
	var names []string
	for _, t := range targets {
		names = append(names, t.Kind().Name())
	}
	return strings.Join(names, ", ")
}

// link makes the module of a program.
func link(p *lower.Program, targets []*target.Target) (_ *runtime.Module, err error) {
	m, err := vm.New(p.Code)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	add := func(part *runtime.Module, err error) error {
		if err != nil {
			return err
		}
		defer part.Close()
		return m.Import(part)
	}
	if len(p.Kernels[0].Funcs) > 0 {
		variants := make([]codegen.Variant, len(targets))
		for i, t := range targets {
			variants[i] = codegen.Variant{Target: t, Program: p.Kernels[i]}
		}
		if len(variants) == 1 {
			err = add(codegen.Build(p.Kernels[0], targets[0]))
		} else {
			err = add(codegen.BuildVariants(variants))
		}
		if err != nil {
			return nil, err
		}
	}
	if p.Shapes != nil {
		host, _ := p.Shapes.Funcs[0].Attrs[codegen.AttrTarget].(*target.Target)
		if err = add(codegen.Build(p.Shapes, host)); err != nil {
			return nil, err
		}
	}
	return m, nil
}
