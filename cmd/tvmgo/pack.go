//go:build cgo && !runtimeonly

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/export"
	"tvmgo/export/pack"
	"tvmgo/internal/arguments"
)

// packFlags holds the flags of pack.
type packFlags struct {
	linkFlags
	functions, targets, docs, tests []string
	static                          bool
}

func newPackCommand() *cobra.Command {
	var f packFlags
	cmd := &cobra.Command{
		Use:   "pack FILE... --func SIGNATURE... -o OUTPUT",
		Short: "Make a library from hand-written kernels",
		Long: `Make a library from hand-written kernels, which this runtime and Apache TVM load.
For each --func the library has a function that checks its arguments and calls
the kernel of that name. Files are C (.c), objects (.o), OpenCL (.cl), SPIR-V
(.spv) and CUDA (.ptx, .cubin, .fatbin, .cu). Files for different devices are
variants of the same functions; the device of the tensors selects one. OUTPUT is
a shared library (.so), or a file to link: .a, .tar or .o.

A signature is
  name[=kernel](param, ...) [launch tag[=expr], ...]
with params
  [name:] handle               a tensor of any type and shape
  [name:] float32[n, 64, _]    a tensor; n has one value, _ is any size
  [name:] int32                a scalar: bool, int8 to int64, uint8 to uint64,
                               float32, float64
Before a type may stand const, out and inout (which tensors are written),
strided (need not be contiguous) and aligned (to 64 bytes). Tags are blockIdx.x,
.y, .z, threadIdx.x, .y, .z and, as the last one, shared: the bytes of dynamic
shared memory. A tag without an expression is another integer argument of the
function. An expression has integers, names of dimensions and integer params,
+ - * / % and ceildiv(a, b), min(a, b), max(a, b).

A test is [name:]inputs=outputs, both separated by commas: .npy files, i:3 (an
integer) and f:0.5 (a number), in the order of the params. Outputs are the
params with out or inout, or otherwise the last ones. Inputs are all others, the
inout params, and the tags without an expression. tvmgo verify runs the tests.`,
		Example: `  tvmgo pack k.c --func "add(float32[n], float32[n], float32[n], n: int32)" -o k.so
  tvmgo pack k.c k.cl --func "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32) \
      launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64" --test a.npy,b.npy,i:1000=c.npy -o k.so`,
		Annotations: map[string]string{writesAtTheEnd: "yes"},
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return errors.New("pack: name at least one file with kernels")
			case f.output == "":
				return errors.New("pack: say with -o which file to write")
			case len(f.functions) == 0:
				return errors.New("pack: give the signature of a function, as in --func 'add(handle, handle, int32)'")
			case !f.isLibrary():
				return fmt.Errorf("pack: -o %s: want a name that ends in .so, .a, .tar or .o", f.output)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			kernels, err := f.kernels(args)
			if err != nil {
				return err
			}
			if err := pack.Library(cmd.Context(), kernels, f.output, f.options()...); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", f.output)
			return err
		},
	}
	f.define(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.functions, "func", nil, "signature of a function; may be repeated")
	flags.StringArrayVar(&f.targets, "target", nil,
		"[FILE=]TARGET: target of a file, for the metadata: cuda -arch=sm_90, or JSON")
	flags.StringArrayVar(&f.docs, "doc", nil, "[NAME:]TEXT: documentation of a function")
	flags.StringArrayVar(&f.tests, "test", nil, "[NAME:]IN,...=OUT,...: test vector for the library; may be repeated")
	flags.BoolVar(&f.static, "no-load", false, "do not load the library to check it")
	completeFlag(cmd, "target", targetFlag)
	return cmd
}

func (f *packFlags) options() []export.Option {
	options := f.linkFlags.options()
	if f.static {
		options = append(options, export.StaticCheck())
	}
	return options
}

// kernels reads the command line, and the arrays that it names.
func (f *packFlags) kernels(files []string) (pack.Kernels, error) {
	k := pack.Kernels{}
	for _, path := range files {
		k.Inputs = append(k.Inputs, pack.Input{Path: path})
	}
	var names []string
	for _, text := range f.functions {
		sig, err := pack.ParseSignature(text)
		if err != nil {
			return k, wrongf("--func: %w", err)
		}
		names = append(names, sig.Name)
		k.Functions = append(k.Functions, pack.Function{Signature: text})
	}
	for _, text := range f.targets {
		at, target, err := addressed("--target", text, "=", files)
		if err != nil {
			return k, wrong(err)
		}
		if k.Inputs[at].Target != "" {
			return k, wrongf("--target %s: %s already has a target", text, files[at])
		}
		k.Inputs[at].Target = target
	}
	for _, text := range f.docs {
		at, doc, err := addressed("--doc", text, ":", names)
		if err != nil {
			return k, wrong(err)
		}
		if k.Functions[at].Doc != "" {
			return k, wrongf("--doc %s: %s already has documentation", text, names[at])
		}
		k.Functions[at].Doc = doc
	}
	for _, text := range f.tests {
		at, test, err := addressed("--test", text, ":", names)
		if err != nil {
			return k, wrong(err)
		}
		v, err := parseTest(test)
		if err != nil {
			return k, fmt.Errorf("--test %s: %w", text, err)
		}
		k.Functions[at].Vectors = append(k.Functions[at].Vectors, *v)
	}
	return k, nil
}

// addressed returns the index of the input or function to which a flag belongs: that of the name before the separator.
// If there is only one, the name may be missing.
func addressed(flag, text, separator string, names []string) (int, string, error) {
	for i, name := range names {
		if rest, ok := strings.CutPrefix(text, name+separator); ok {
			return i, rest, nil
		}
	}
	if len(names) == 1 {
		return 0, text, nil
	}
	if len(names) == 0 {
		return 0, "", fmt.Errorf("%s %s: there is no --func", flag, text)
	}
	return 0, "", fmt.Errorf("%s %s: put one of these names and %q before it: %s", flag, text, separator,
		strings.Join(names, ", "))
}

// parseTest reads "in0.npy,i:3=out.npy".
func parseTest(text string) (*pack.Vector, error) {
	ins, outs, found := strings.Cut(text, "=")
	if !found || outs == "" {
		return nil, wrongf("write inputs, =, and outputs, for example in0.npy,in1.npy=out.npy")
	}
	v := &pack.Vector{}
	for _, item := range split(ins) {
		value, err := arguments.Parse(item)
		if err != nil {
			return nil, wrong(err)
		}
		switch value := value.(type) {
		case arguments.File:
			a, err := arguments.ReadNPY(string(value))
			if err != nil {
				return nil, err
			}
			v.In = append(v.In, (*pack.Array)(a))
		case string:
			return nil, wrongf("%s: kernels take no strings", item)
		case arguments.Output:
			return nil, wrongf("%s: outputs stand behind the =", item)
		default:
			v.In = append(v.In, value)
		}
	}
	for _, item := range split(outs) {
		a, err := arguments.ReadNPY(item)
		if err != nil {
			return nil, err
		}
		v.Out = append(v.Out, (*pack.Array)(a))
	}
	return v, nil
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
