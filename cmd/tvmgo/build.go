package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tvmgo/codegen"
	"tvmgo/export"
	"tvmgo/target"
	"tvmgo/tir"
)

// buildFlags is the command line of build as the user wrote it.
type buildFlags struct {
	target, output, emit string
	compiler             string
	flags, libraries     []string
}

func newBuildCommand() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build PROGRAM.tir -o OUTPUT",
		Short: "Build a library of a program in tir",
		Long: `Build a library of a program of package tir: text, as loops.String() prints it, from a file or, as -, from standard input. OUTPUT
is a .so, or a .a or .tar to be linked. With --emit, text is written instead, to OUTPUT or standard output: the program itself once it has been
checked (tir), or the generated C (c).`,
		Example: `  tvmgo build add.tir -o add.so
  tvmgo build add.tir --target "c -march=x86-64-v3" --emit c`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("build: name one file with a program"), cmd.UseLine()}
			}
			if f.output == "" && f.emit == "" {
				return &usageError{errors.New("build: say with -o which file to write"), cmd.UseLine()}
			}
			if f.emit != "" && f.emit != "tir" && f.emit != "c" {
				return &usageError{fmt.Errorf("build: --emit %s: want tir or c", f.emit), cmd.UseLine()}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := readProgram(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			t, err := target.New(f.target)
			if err != nil {
				return fmt.Errorf("--target: %w", err)
			}
			if f.emit == "tir" {
				return f.write(cmd.OutOrStdout(), m.String())
			}
			return f.build(cmd, m, t)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "file to write")
	flags.StringVar(&f.target, "target", "c", "what the code is for: a kind, a tag, a command line such as 'c -march=native', or JSON")
	flags.StringVar(&f.emit, "emit", "", "write text instead of a library: tir or c")
	flags.StringVar(&f.compiler, "compiler", "", "C compiler, also for another machine")
	flags.StringArrayVar(&f.flags, "flag", nil, "flag of the compiler and linker, for example -O3; repeat for more")
	flags.StringArrayVar(&f.libraries, "lib", nil, "library to link, for example m; repeat for more")
	return cmd
}

// build generates code, and writes it or a library of it.
func (f *buildFlags) build(cmd *cobra.Command, m *tir.IRModule, t *target.Target) error {
	built, err := codegen.Build(m, t)
	if err != nil {
		return err
	}
	defer built.Close()
	if f.emit == "c" {
		code, err := built.GetSource("")
		if err != nil {
			return err
		}
		return f.write(cmd.OutOrStdout(), code)
	}
	options := []export.Option{export.Flags(f.flags...), export.Libraries(f.libraries...)}
	if f.compiler != "" {
		options = append(options, export.Compiler(f.compiler))
	}
	if err := export.Library(cmd.Context(), built, f.output, options...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", f.output)
	return err
}

// write puts text into the output, or prints it where none is named.
func (f *buildFlags) write(stdout io.Writer, text string) error {
	if f.output == "" {
		_, err := io.WriteString(stdout, text)
		return err
	}
	if err := checkWritable(f.output); err != nil {
		return fmt.Errorf("write %s: %w", f.output, err)
	}
	return os.WriteFile(f.output, []byte(text), 0o644)
}

// readProgram reads a program and checks that it is one.
func readProgram(stdin io.Reader, path string) (*tir.IRModule, error) {
	var text []byte
	var err error
	name := path
	if path == "-" {
		name = "standard input"
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	m, err := tir.Parse(string(text))
	if err == nil {
		err = tir.Check(m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(m.Funcs) == 0 {
		return nil, fmt.Errorf("%s: there is no function in it", name)
	}
	return m, nil
}
