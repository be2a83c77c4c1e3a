//go:build cgo && !runtimeonly

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/graph"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	_ "tvmgo/graph/operators"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/weights"
)

// compileFlags holds the flags of compile.
type compileFlags struct {
	linkFlags
	emit                    string
	targets                 []string
	inputs, dims, constants []string
	params                  string
	verbose, direct         bool
	parsed                  onnx.Options
}

// compileEmits are the formats of --emit: those of build, and the graph, without and with all elements of constants.
var compileEmits = append([]string{"graph", "graph-full"}, emits...)

func newCompileCommand() *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:   "compile MODEL -o OUTPUT",
		Short: "Compile a whole model into a library",
		Long: `Compile a model in ONNX's format, or a Relax module of Apache TVM in the JSON of
tvm.ir.save_json(mod), into a library. OUTPUT is a shared library (.so) with the
kernels, the weights and the code that calls the kernels; C, C++, Go, tvmgo run
and Apache TVM's relax.VirtualMachine load it. The function main has the inputs
of the model, in their order, and returns its outputs; of a module, the library
has all functions that the module exports.

Dimensions that the model names, such as a batch, stay open: the library accepts
any size. --dim gives them a size, which makes faster code, or a range of sizes:
the library then reports others as errors, and allocates memory for the greatest
one, so that tensors share it. --input gives an input a type and a shape, for
models that do not say them. A size in a shape may be a name. --constant
compiles the values of an input, a file of NumPy, into the library; inputs on
which the form of the code depends, such as the axes of a reduction, have to be
constants.

With several --target, OUTPUT has variants of the kernels, and runs on the
devices of any of them: tvmgo run --device selects one.

--params writes the weights to a file of their own, in place of the library:
.safetensors, .npz or .params. They are then inputs of the function main behind
those of the model; tvmgo run and runtime.OpenModel bind such a file.

All operators that are not supported are reported at once, with their nodes.

--emit writes text: the graph with its types and shapes (graph; graph-full has
the elements of all constants), the loops of the kernels (tir), or the generated
code as for tvmgo build. The text goes to OUTPUT, or to standard output without
-o. A MODEL whose name ends in .graph is such a text, of graph-full or written
by hand.

The objects that the C compiler makes are cached, so that a second compilation
of the same model is fast. OUTPUT replaces an existing file only when it is
complete. On a terminal, and everywhere with -v, the command reports its
progress.`,
		Example: `  tvmgo compile model.onnx -o model.so
  tvmgo compile model.onnx -o model.so --target "c -march=x86-64-v3" --dim batch=1
  tvmgo compile model.onnx -o model.so --input "image=float32[batch,3,224,224]"
  tvmgo compile model.onnx --emit graph
  tvmgo compile module.json -o module.so`,
		Annotations: map[string]string{writesAtTheEnd: "yes"},
		Args: func(_ *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return fmt.Errorf("compile: %w", err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.define(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.targets, "target", []string{"c"},
		"target: a kind, a tag, a command line such as 'c -march=native', or JSON; may be repeated")
	flags.StringArrayVar(&f.inputs, "input", nil,
		"type and shape of an input, such as x=float32[batch,3,224,224]; may be repeated")
	flags.StringArrayVar(&f.dims, "dim", nil,
		"size of a dimension, such as batch=4, or its range, such as batch=1..64; may be repeated")
	flags.StringArrayVar(&f.constants, "constant", nil,
		"value of an input, such as axes=axes.npy; may be repeated")
	flags.StringVar(&f.params, "params", "", "file for the weights, such as w.safetensors, in place of the library")
	flags.BoolVar(&f.direct, "direct-convolutions", false,
		"no convolution by Winograd's algorithm: slower, with smaller weights and errors")
	flags.StringVar(&f.emit, "emit", "", "write text: "+strings.Join(compileEmits, ", "))
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "report steps, passes, kernels and their times on standard error")
	completeFlag(cmd, "target", targetFlag)
	completeFlag(cmd, "emit", func([]string) []string { return compileEmits })
	return cmd
}

// check rejects invalid command lines.
func (f *compileFlags) check(args []string) error {
	switch {
	case len(args) != 1:
		return errors.New("name one file with a model")
	case f.output == "" && f.emit == "":
		return errors.New("say with -o which file to write")
	case f.emit != "" && !slices.Contains(compileEmits, f.emit):
		return fmt.Errorf("--emit %s: want one of %s", f.emit, strings.Join(compileEmits, ", "))
	case f.emit == "" && !f.isLibrary():
		return fmt.Errorf("-o %s: want a name that ends in .so, .a, .tar or .o; --emit writes text", f.output)
	}
	if imports := len(f.inputs) + len(f.dims) + len(f.constants); strings.HasSuffix(args[0], compile.TextSuffix) &&
		(imports > 0 || f.params != "") {
		return errors.New("--input, --dim, --constant and --params are for models in ONNX's format: edit the text instead")
	}
	if f.params != "" {
		if _, err := weights.FormatOf(f.params); err != nil {
			return fmt.Errorf("--params: %w", err)
		}
		if !f.isLibrary() {
			return errors.New("--params: say with -o which library to write")
		}
	}
	f.parsed = onnx.Options{Parameters: f.params != "", Dims: map[string]graph.Range{}, Inputs: map[string]onnx.Input{}}
	for _, text := range f.dims {
		at := strings.LastIndex(text, "=")
		if at <= 0 {
			return fmt.Errorf("--dim %s: want NAME=SIZE, such as batch=4 or batch=1..64", text)
		}
		r, err := graph.ParseRange(text[at+1:])
		if err != nil {
			return fmt.Errorf("--dim %s: %w", text, err)
		}
		f.parsed.Dims[text[:at]] = r
	}
	for _, text := range f.inputs {
		name, in, err := parseInput(text)
		if err != nil {
			return fmt.Errorf("--input %s: %w", text, err)
		}
		f.parsed.Inputs[name] = in
	}
	for _, text := range f.constants {
		if name, path, ok := strings.Cut(text, "="); !ok || name == "" || path == "" {
			return fmt.Errorf("--constant %s: want NAME=FILE.npy", text)
		}
	}
	return nil
}

// parseInput parses x=float32[batch,3]; the type may be left out.
func parseInput(text string) (string, onnx.Input, error) {
	var in onnx.Input
	form := errors.New("want NAME=TYPE[SIZES], such as x=float32[batch,3,224,224]")
	at := strings.LastIndex(text, "=")
	if at <= 0 || !strings.HasSuffix(text, "]") {
		return "", in, form
	}
	name, rest := text[:at], text[at+1:]
	kind, sizes, ok := strings.Cut(strings.TrimSuffix(rest, "]"), "[")
	if !ok {
		return "", in, form
	}
	if kind != "" {
		dt, err := dlpack.ParseDataType(kind)
		if err != nil {
			return "", in, err
		}
		in.DType = dt
	}
	in.Dims = []onnx.Dim{}
	for _, s := range strings.Split(sizes, ",") {
		s = strings.TrimSpace(s)
		switch n, err := strconv.ParseInt(s, 10, 32); {
		case s == "" && strings.TrimSpace(sizes) == "": // no dimensions
		case s == "":
			return "", in, form
		case err != nil:
			in.Dims = append(in.Dims, onnx.Dim{Name: s})
		case n < 0:
			return "", in, fmt.Errorf("size %d is negative: name a dimension whose size stays open", n)
		default:
			in.Dims = append(in.Dims, onnx.Dim{Size: n})
		}
	}
	return name, in, nil
}

// readConstants reads the values of inputs.
func (f *compileFlags) readConstants() error {
	f.parsed.Constants = map[string]*file.Tensor{}
	for _, text := range f.constants {
		name, path, _ := strings.Cut(text, "=")
		t, err := readConstant(name, path)
		if err != nil {
			return fmt.Errorf("--constant %s: %w", text, err)
		}
		f.parsed.Constants[name] = t
	}
	return nil
}

// readConstant reads a file with one tensor.
func readConstant(name, path string) (*file.Tensor, error) {
	set, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if n := len(set.Tensors()); n != 1 {
		return nil, fmt.Errorf("the file has %s: want one", count(n, "tensor"))
	}
	a, err := set.Tensors()[0].Array()
	if err != nil {
		return nil, err
	}
	dt, err := file.DataTypeOf(a.DType)
	if err != nil {
		return nil, err
	}
	return &file.Tensor{Name: name, DataType: dt, Dims: a.Shape, RawData: bytes.Clone(a.Data)}, nil
}

func (f *compileFlags) run(cmd *cobra.Command, path string) error {
	var targets []*target.Target
	for _, text := range f.targets {
		t, err := target.New(text)
		if err != nil {
			return wrong(fmt.Errorf("--target: %w", err))
		}
		targets = append(targets, t)
	}
	if err := f.readConstants(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), f.verbose)
	defer p.end()
	var c *compile.Compiled
	err := foreign(cmd.Context(), func() (err error) {
		c, err = compile.ModelFile(cmd.Context(), path, compile.Options{Targets: targets, Import: f.parsed, Direct: f.direct,
			Progress: p.begin, Detail: p.detail})
		return err
	})
	if err != nil {
		return err
	}
	defer c.Close()
	text := ""
	switch f.emit {
	case "":
	case "graph":
		text = graphText(c.Functions, (*graph.Function).String)
	case "graph-full":
		text = graphText(c.Functions, (*graph.Function).Text)
	case "tir":
		for _, m := range c.Program.Kernels {
			text += m.String()
		}
	default:
		if text, err = sourceOf(c.Module, f.emit); errors.Is(err, runtime.ErrNotSupported) {
			return fmt.Errorf("--emit %s: the code for %s has no such text", f.emit, strings.Join(f.targets, ", "))
		} else if err != nil {
			return fmt.Errorf("--emit %s: %w", f.emit, err)
		}
	}
	b := buildFlags{linkFlags: f.linkFlags}
	if !f.isLibrary() {
		p.end()
		return b.write(cmd.Context(), cmd.OutOrStdout(), text)
	}
	if err := f.link(cmd.Context(), c, p); err != nil {
		return err
	}
	if f.emit != "" {
		_, err = fmt.Fprint(cmd.OutOrStdout(), text)
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", f.output)
	return err
}

// link writes the library and the file of the weights.
func (f *compileFlags) link(ctx context.Context, c *compile.Compiled, p *progress) error {
	p.begin("compile and link " + f.output)
	var compiled, cached atomic.Int32
	report := export.Report(func(file string, took time.Duration, fromCache bool) {
		if fromCache {
			cached.Add(1)
			file += " (cached)"
		} else {
			compiled.Add(1)
		}
		p.detail(file, took)
	})
	if err := export.Library(ctx, c.Module, f.output, append(f.linkFlags.options(), report)...); err != nil {
		return err
	}
	if err := f.writeParams(c); err != nil {
		return err
	}
	p.total(fmt.Sprintf("%s, %s made, %d from the cache", count(len(c.Program.Kernels[0].Funcs), "kernel"),
		count(int(compiled.Load()), "file"), cached.Load()))
	return nil
}

// graphText returns functions as text.
func graphText(functions []*graph.Function, text func(*graph.Function) string) string {
	var b strings.Builder
	for _, f := range functions {
		b.WriteString(text(f))
	}
	return b.String()
}

// writeParams writes the weights to their file. If that fails, there is no library either.
func (f *compileFlags) writeParams(c *compile.Compiled) error {
	if f.params == "" {
		return nil
	}
	format, err := weights.FormatOf(f.params)
	if err == nil {
		err = weights.Write(f.params, format, c.Weights, nil)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("--params %s: %w", f.params, err), os.Remove(f.output))
	}
	return nil
}
