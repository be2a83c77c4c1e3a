package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/internal/arguments"
	"tvmgo/internal/inspect"
)

// A command sets ValidArgsFunction to complete its arguments, and calls completeFlag for its flags. Without them, a
// shell completes names of files.

// complete offers the entries of a list that begin with what was typed.
func complete(list func(args []string) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var found []cobra.Completion
		for _, s := range list(args) {
			if strings.HasPrefix(s, typed) {
				found = append(found, s)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// first completes the first argument only.
func first(list func() []string) cobra.CompletionFunc {
	return complete(func(args []string) []string {
		if len(args) > 0 {
			return nil
		}
		return list()
	})
}

// onlyFiles completes n arguments with names of files, and no further ones.
func onlyFiles(n int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) < n {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// fileThenFunction completes a file, and then its functions. Nothing of the file is executed.
func fileThenFunction(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return complete(func(args []string) []string {
		if len(args) > 1 {
			return nil
		}
		return functionsOf(args[0])
	})(cmd, args, typed)
}

// filesThenFunction completes files, or functions of the first one. Nothing of the file is executed.
func filesThenFunction(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	list, _ := complete(func(args []string) []string { return functionsOf(args[0]) })(nil, args, typed)
	return list, cobra.ShellCompDirectiveDefault
}

// functionsOf lists the functions of a file, and the kernels and the models in it; none if it cannot be read.
func functionsOf(path string) []string {
	model, names := modelFunctions(path)
	names = append(names, model...)
	slices.Sort(names)
	return slices.Compact(names)
}

// modelFunctions lists the functions of the models in a file, and its other functions.
func modelFunctions(path string) (model, others []string) {
	report, err := inspect.File(path)
	if err != nil {
		return nil, nil
	}
	for _, f := range report.Functions {
		others = append(others, f.Name)
	}
	if report.Blob == nil {
		return nil, others
	}
	for _, m := range report.Blob.Modules {
		if m.Device != nil {
			for _, f := range m.Device.Functions {
				others = append(others, f.Name)
			}
		}
		if m.Program != nil {
			for _, f := range m.Program.Functions {
				model = append(model, f.Name)
			}
		}
		if m.Graph != nil && m.Graph.Name != "" {
			model = append(model, m.Graph.Name)
		}
	}
	return model, others
}

// completeInput offers the names of a model's inputs, with the = that follows, or a file. Nothing of the file is
// executed.
func completeInput(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 || strings.Contains(typed, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var found []cobra.Completion
	for _, name := range modelInputs(args[0], append(args[1:], "")[0]) {
		if strings.HasPrefix(name, typed) {
			found = append(found, name+"=")
		}
	}
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return found, cobra.ShellCompDirectiveNoSpace
}

// modelInputs lists the names of the inputs of a model's function, or of all its functions.
func modelInputs(path, function string) (names []string) {
	report, err := inspect.File(path)
	if err != nil || report.Blob == nil {
		return nil
	}
	for _, m := range report.Blob.Modules {
		if m.Program != nil {
			for _, f := range m.Program.Functions {
				for _, p := range f.Parameters {
					if p.Name != "" && (function == "" || f.Name == function) {
						names = append(names, p.Name)
					}
				}
			}
		}
		if m.Graph != nil {
			for _, in := range m.Graph.Inputs {
				if !in.Bound {
					names = append(names, in.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// completeLike offers the types with which --like begins. The shape follows without a space.
func completeLike(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, directive := complete(func([]string) []string { return arguments.LikeNames() })(c, args, typed)
	return list, directive | cobra.ShellCompDirectiveNoSpace
}

// completeFlag completes the values of a flag of a command.
func completeFlag(cmd *cobra.Command, name string, list func(args []string) []string) {
	completeFlagBy(cmd, name, complete(list))
}

func completeFlagBy(cmd *cobra.Command, name string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, by); err != nil {
		panic(err) // the command has no such flag
	}
}
