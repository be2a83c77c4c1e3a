//go:build !runtimeonly

package main

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tvmgo/export"
)

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
