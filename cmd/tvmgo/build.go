//go:build cgo && !runtimeonly

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/cmd/tvmgo/internal/outfile"
	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/export"
	"tvmgo/internal/programfile"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// buildFlags holds the flags of build.
type buildFlags struct {
	linkFlags
	explain              explainFlags
	targets              []string
	emit                 string
	verbose, checkBounds bool
}

// emits are the formats of --emit; Module.GetSource has the same names. Those after s are formats of kernels.
var emits = []string{"tir", "c", "ll", "s", "cl", "cu", "ptx", "spvasm"}

func newBuildCommand() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build PROGRAM.tir... -o OUTPUT",
		Short: "Compile a program of loops into a library",
		Long: `Compile a program of package tir into a library. The program is text, in the
format of loops.String(), or JSON; or PrimFuncs of Apache TVM, in the JSON of
tvm.ir.save_json(mod). It is read from a file, or with - from standard input.
OUTPUT is a shared library (.so), or a file to link: a static library (.a), an
archive of objects (.tar) or one object (.o).

The target is a kind, a tag, a command line or JSON; see tvmgo target. Code for
kind c is compiled by the system's C compiler, code for kind llvm by clang, also
for other machines:

  tvmgo build add.tir -o add.so --target "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"

With several targets, OUTPUT has a variant of each function for each of them,
and the device of a call's tensors selects one. Give one program for all
targets, or one for each, in their order; their functions have the same names
and parameters. Of several targets of kind cuda, the compute capability of the
device selects the best; of others, max_threads_per_block,
max_shared_memory_per_block and thread_warp_size. tvmgo inspect lists the
variants. Equal targets, two for the CPU and different hosts are errors.

  tvmgo build cpu.tir gpu.tir gpu.tir -o add.so --target c \
    --target opencl --target "cuda -arch=sm_90"

--emit writes text: the checked program (tir), the generated C (c), of kind llvm
LLVM IR (ll) or assembly (s), or kernels: OpenCL C (cl), CUDA C (cu), PTX (ptx)
or the assembly of SPIR-V (spvasm), as the kind has them. The text goes to
OUTPUT, or to standard output without -o. If OUTPUT is a library, both are made,
and the text goes to standard output.

--explain reports, for each kernel, what otherwise takes a device and a
profiler: threads, registers and spills (for CUDA, if NVRTC is found), occupancy
and its limit, the sectors of each access to global memory and the bank
conflicts of each access to shared memory, bytes, operations, and what bounds
the kernel. The report goes to standard output, as a
table or, with --explain=json, as JSON; no OUTPUT is needed. --sizes gives
values to sizes that the program leaves open.

An index that is certainly outside of its buffer is an error. -v lists the
indices that are not proved to be within their buffers. With --check-bounds, or
the target option bounds-check, functions check these indices when they run: a
wrong index is an error that names the buffer, the index and the size. On a
device the access is skipped, and the function waits for its kernels to report
the error. A function rejects arguments that overlap one that it writes, unless
the target has alias-check=0.

OUTPUT replaces an existing file only when it is complete. On a terminal, and
everywhere with -v, the command reports its progress.`,
		Example: `  tvmgo build add.tir -o add.so
  tvmgo build add.tir --target "c -march=x86-64-v3" --emit c
  tvmgo build add.tir --target "llvm -mcpu=skylake-avx512" --emit ll -o add.ll
  tvmgo build add_cpu.tir add_gpu.tir -o add.so --target c --target opencl
  tvmgo build kernel.tir --target "cuda -arch=sm_90" --explain --sizes n=4096`,
		Annotations: map[string]string{writesAtTheEnd: "yes"},
		Args: func(_ *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return fmt.Errorf("build: %w", err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.define(cmd)
	f.explain.define(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.targets, "target", []string{"c"},
		"target: a kind, a tag, a command line such as 'c -march=native', or JSON; may be repeated")
	flags.StringVar(&f.emit, "emit", "", "write text: "+strings.Join(emits, ", "))
	flags.BoolVar(&f.checkBounds, "check-bounds", false,
		"check at run time each index that is not proved to be within its buffer: target option bounds-check")
	flags.BoolVarP(&f.verbose, "verbose", "v", false,
		"report steps, their times and indices that are not proved on standard error")
	completeFlag(cmd, "target", targetFlag)
	completeFlag(cmd, "emit", func([]string) []string { return emits })
	return cmd
}

// check rejects invalid command lines.
func (f *buildFlags) check(args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("name a file with a program")
	case len(args) != 1 && len(args) != len(f.targets):
		return fmt.Errorf("%s for %s: name one file for all targets, or one for each target in their order",
			count(len(args), "program"), count(len(f.targets), "target"))
	case f.emit == "tir" && len(args) > 1:
		return errors.New("--emit tir: name one program")
	case f.output == "" && f.emit == "" && f.explain.form != "":
		return f.explain.check()
	case f.output == "" && f.emit == "":
		return errors.New("say with -o which file to write")
	case f.emit != "" && !slices.Contains(emits, f.emit):
		return fmt.Errorf("--emit %s: want one of %s", f.emit, strings.Join(emits, ", "))
	case f.emit == "" && !f.isLibrary():
		return fmt.Errorf("-o %s: want a name that ends in .so, .a, .tar or .o; --emit writes text", f.output)
	}
	return f.explain.check()
}

// variants reads the programs, and returns them with their targets.
func (f *buildFlags) variants(cmd *cobra.Command, paths []string) ([]codegen.Variant, error) {
	variants := make([]codegen.Variant, len(f.targets))
	for i, text := range f.targets {
		t, err := target.New(text)
		if err == nil && f.checkBounds {
			t, err = withBoundsCheck(t)
		}
		if err != nil {
			return nil, wrong(fmt.Errorf("--target: %w", err))
		}
		variants[i].Target = t
	}
	read := map[string]*tir.IRModule{} // a program for several targets, which may come from standard input, is read once
	for i := range variants {
		path := paths[min(i, len(paths)-1)]
		if read[path] == nil {
			err := foreign(cmd.Context(), func() (err error) {
				read[path], err = programfile.Read(cmd.InOrStdin(), path)
				return err
			})
			if err != nil {
				return nil, err
			}
			if f.verbose {
				for _, a := range transform.Unproven(read[path]) {
					fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", a)
				}
			}
		}
		variants[i].Program = read[path]
	}
	return variants, nil
}

func (f *buildFlags) run(cmd *cobra.Command, paths []string) error {
	variants, err := f.variants(cmd, paths)
	if err != nil {
		return err
	}
	m := variants[0].Program
	p := newProgress(cmd.ErrOrStderr(), f.verbose)
	defer p.end()
	if f.explain.form != "" {
		err := f.explain.write(cmd, variants)
		if err != nil || f.output == "" && f.emit == "" {
			return err
		}
	}
	if f.emit == "tir" && !f.isLibrary() {
		return f.write(cmd.Context(), cmd.OutOrStdout(), m.String())
	}
	p.begin(fmt.Sprintf("generate code for %s of %s", kindsOf(variants), count(len(m.Funcs), "function")))
	var built *runtime.Module
	err = foreign(cmd.Context(), func() error {
		built, err = codegen.BuildVariants(variants)
		return err
	})
	if err != nil {
		return err
	}
	defer built.Close()
	text := ""
	switch f.emit {
	case "":
	case "tir":
		text = m.String()
	default:
		p.begin("write it as " + f.emit)
		err = foreign(cmd.Context(), func() error {
			text, err = sourceOf(built, f.emit)
			return err
		})
		if errors.Is(err, runtime.ErrNotSupported) && f.emit != "c" {
			has := emitters[f.emit]
			return fmt.Errorf("--emit %s: the code for %s has no such text: kind %s has (--target %s)", f.emit,
				kindsOf(variants), has, has)
		}
		if err != nil {
			return fmt.Errorf("--emit %s: %w", f.emit, err)
		}
	}
	if !f.isLibrary() {
		return f.write(cmd.Context(), cmd.OutOrStdout(), text)
	}
	p.begin("compile and link " + f.output)
	if err := export.Library(cmd.Context(), built, f.output, f.options(variants)...); err != nil {
		return err
	}
	p.end()
	if f.emit != "" || f.explain.form != "" { // the text alone is on standard output
		_, err = io.WriteString(cmd.OutOrStdout(), text)
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", f.output)
	return err
}

// emitters has the kinds of targets that have a text.
var emitters = map[string]string{"ll": "llvm", "s": "llvm", "cl": "opencl", "cu": "cuda", "ptx": "nvptx",
	"spvasm": "vulkan"}

// sourceOf returns the text of a module, or, if it has none of the format, of the modules of kernels that it imports.
// The error is runtime.ErrNotSupported if none of them has it.
func sourceOf(m *runtime.Module, format string) (string, error) {
	text, err := m.GetSource(format)
	if !errors.Is(err, runtime.ErrNotSupported) {
		return text, err
	}
	imports, listed := m.Imports()
	if listed != nil {
		return "", listed
	}
	found := false
	for _, i := range imports {
		defer i.Close()
		switch one, failed := sourceOf(i, format); {
		case failed == nil:
			text, found = text+one, true
		case !errors.Is(failed, runtime.ErrNotSupported):
			return "", failed
		}
	}
	if found {
		return text, nil
	}
	return "", err
}

// withBoundsCheck returns a target with option bounds-check set. If t is composite, its members get the option.
func withBoundsCheck(t *target.Target) (*target.Target, error) {
	var config map[string]any
	if err := json.Unmarshal([]byte(t.JSON()), &config); err != nil {
		return nil, err
	}
	members := []any{config}
	if t.Kind().IsComposite() {
		members, _ = config["devices"].([]any)
	}
	for _, m := range members {
		if one, ok := m.(map[string]any); ok {
			one["bounds-check"] = true
		}
	}
	return target.New(config)
}

func kindOf(t *target.Target) string { return "kind " + t.Kind().Name() }

// kindsOf lists the kinds of several targets.
func kindsOf(variants []codegen.Variant) string {
	var names []string
	for _, v := range variants {
		if name := v.Target.Kind().Name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return "kind " + names[0]
	}
	return "kinds " + strings.Join(names, ", ")
}

func (f *buildFlags) options(variants []codegen.Variant) []export.Option {
	options := f.linkFlags.options()
	for _, v := range variants {
		for _, t := range []*target.Target{v.Target, v.Target.Host()} {
			if system, _ := target.Get[bool](t, "system-lib"); system {
				return append(options, export.SystemLibrary(""))
			}
		}
	}
	return options
}

// write writes text to the output, completely or not at all, or prints it if there is no output.
func (f *buildFlags) write(ctx context.Context, stdout io.Writer, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.output == "" {
		_, err := io.WriteString(stdout, text)
		return err
	}
	out, err := outfile.New([]string{f.output})
	if err != nil {
		return err
	}
	return out.WriteEach(func(_ int, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// linkFlags are the flags of the commands that compile and link a library.
type linkFlags struct {
	output           string
	compiler, keep   string
	flags, libraries []string
}

func (f *linkFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "file to write: .so, .a, .tar or .o")
	flags.StringVar(&f.compiler, "compiler", "", "C compiler, also for another machine")
	flags.StringArrayVar(&f.flags, "flag", nil, "flag of the compiler and linker, for example -O3; may be repeated")
	flags.StringArrayVar(&f.libraries, "lib", nil, "library to link, for example m; may be repeated")
	flags.StringVar(&f.keep, "keep", "", "folder that keeps the compiled files")
}

func (f *linkFlags) options() []export.Option {
	options := []export.Option{export.Flags(f.flags...), export.Libraries(f.libraries...)}
	if f.compiler != "" {
		options = append(options, export.Compiler(f.compiler))
	}
	if f.keep != "" {
		options = append(options, export.KeepFiles(f.keep))
	}
	return options
}

// isLibrary reports whether the output is machine code, by the suffix of its name.
func (f *linkFlags) isLibrary() bool {
	return slices.Contains([]string{".so", ".a", ".tar", ".o"}, filepath.Ext(f.output))
}
