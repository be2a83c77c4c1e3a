package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/export"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// buildFlags is the command line of build as the user wrote it.
type buildFlags struct {
	target, output, emit string
	compiler, keep       string
	flags, libraries     []string
	verbose, checkBounds bool
}

// emits are the forms of text, and what a module calls them.
var emits = []string{"tir", "c", "ll", "s"}

func newBuildCommand() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build PROGRAM.tir -o OUTPUT",
		Short: "Build a library of a program in tir",
		Long: `Build a library of a program of package tir: text, as loops.String() prints it, or JSON, from a file or, as -, from standard
input. OUTPUT is a shared library (.so), or what is to be linked: a static library (.a), objects (.tar) or one object (.o).

The target is a kind, a tag, a command line or JSON, as in tvmgo target. Kind c is compiled by the system's C compiler, kind llvm by
clang, also for other machines:

  tvmgo build add.tir -o add.so --target "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"

With --emit, text is written: the program once it has been checked (tir), the generated C (c), and of kind llvm the LLVM IR (ll) or the
assembly (s). It goes to OUTPUT or standard output; if OUTPUT is a library, both are made, and the text goes to standard output.

Indices that are outside of their buffers for certain are refused. With -v, those that are not proved to be within are listed; with
--check-bounds, or target option bounds-check, the functions check them: a wrong one is an error that names the buffer, the index and the size. On a
device its access is skipped, and the function waits for its kernels to return the error. Functions refuse arguments that overlap one that they write, unless the target has alias-check=0.

OUTPUT appears when it is whole, in the place of what was there. What a build is at is shown on a terminal, and with -v everywhere.`,
		Example: `  tvmgo build add.tir -o add.so
  tvmgo build add.tir --target "c -march=x86-64-v3" --emit c
  tvmgo build add.tir --target "llvm -mcpu=skylake-avx512" --emit ll -o add.ll`,
		Annotations: map[string]string{writesAtTheEnd: "yes"},
		Args: func(_ *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return fmt.Errorf("build: %w", err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "file to write")
	flags.StringVar(&f.target, "target", "c", "what the code is for: a kind, a tag, a command line such as 'c -march=native', or JSON")
	flags.StringVar(&f.emit, "emit", "", "write text: tir, c, ll or s")
	flags.StringVar(&f.compiler, "compiler", "", "C compiler, also for another machine")
	flags.StringArrayVar(&f.flags, "flag", nil, "flag of the compiler and linker, for example -O3; repeat for more")
	flags.StringArrayVar(&f.libraries, "lib", nil, "library to link, for example m; repeat for more")
	flags.BoolVar(&f.checkBounds, "check-bounds", false, "check at run time each index that is not proved to be within its buffer: target option bounds-check")
	flags.StringVar(&f.keep, "keep", "", "folder in which to leave what is compiled")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "say on standard error what is done and how long it took, and which indices are not proved")
	return cmd
}

// check refuses command lines that make no sense.
func (f *buildFlags) check(args []string) error {
	switch {
	case len(args) != 1:
		return errors.New("name one file with a program")
	case f.output == "" && f.emit == "":
		return errors.New("say with -o which file to write")
	case f.emit != "" && !slices.Contains(emits, f.emit):
		return fmt.Errorf("--emit %s: want tir, c, ll or s", f.emit)
	case f.emit == "" && !isLibrary(f.output):
		return fmt.Errorf("-o %s: want a name that ends in .so, .a, .tar or .o; --emit writes text", f.output)
	}
	return nil
}

// isLibrary says whether a path is that of machine code.
func isLibrary(path string) bool {
	return slices.Contains([]string{".so", ".a", ".tar", ".o"}, filepath.Ext(path))
}

func (f *buildFlags) run(cmd *cobra.Command, path string) error {
	t, err := target.New(f.target)
	if err == nil && f.checkBounds {
		t, err = withBoundsCheck(t)
	}
	if err != nil {
		return wrong(fmt.Errorf("--target: %w", err))
	}
	var m *tir.IRModule
	err = foreign(cmd.Context(), func() error {
		m, err = readProgram(cmd.InOrStdin(), path)
		return err
	})
	if err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), f.verbose)
	defer p.end()
	if f.verbose {
		for _, a := range transform.Unproven(m) {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", a)
		}
	}
	if f.emit == "tir" && !isLibrary(f.output) {
		return f.write(cmd.Context(), cmd.OutOrStdout(), m.String())
	}
	p.begin(fmt.Sprintf("generate code for %s of %s", kindOf(t), count(len(m.Funcs), "function")))
	var built *runtime.Module
	err = foreign(cmd.Context(), func() error {
		built, err = codegen.Build(m, t)
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
			text, err = built.GetSource(f.emit)
			return err
		})
		if errors.Is(err, runtime.ErrNotSupported) && f.emit != "c" {
			return fmt.Errorf("--emit %s: %s has no such text: kind llvm has (--target llvm)", f.emit, kindOf(t))
		}
		if err != nil {
			return fmt.Errorf("--emit %s: %w", f.emit, err)
		}
	}
	if !isLibrary(f.output) {
		return f.write(cmd.Context(), cmd.OutOrStdout(), text)
	}
	p.begin("compile and link " + f.output)
	if err := export.Library(cmd.Context(), built, f.output, f.options(t)...); err != nil {
		return err
	}
	p.end()
	if f.emit != "" { // the text alone is on standard output
		_, err = io.WriteString(cmd.OutOrStdout(), text)
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", f.output)
	return err
}

// withBoundsCheck is a target whose functions check their indices, and so do those of its members if it is composite.
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

// count is a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (f *buildFlags) options(t *target.Target) []export.Option {
	options := []export.Option{export.Flags(f.flags...), export.Libraries(f.libraries...)}
	if f.compiler != "" {
		options = append(options, export.Compiler(f.compiler))
	}
	if f.keep != "" {
		options = append(options, export.KeepFiles(f.keep))
	}
	if system, _ := target.Get[bool](t, "system-lib"); system {
		options = append(options, export.SystemLibrary(""))
	}
	return options
}

// write puts text into the output, whole or not at all, or prints it where none is named.
func (f *buildFlags) write(ctx context.Context, stdout io.Writer, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.output == "" {
		_, err := io.WriteString(stdout, text)
		return err
	}
	out, err := newOutFiles([]string{f.output})
	if err != nil {
		return err
	}
	return out.writeEach(func(_ int, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
