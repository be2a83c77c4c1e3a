package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/dlpack"
	"tvmgo/internal/inspect"
	"tvmgo/internal/npyfile"
	"tvmgo/runtime"
	"tvmgo/target"
)

// complete is what cobra asks for the values of an argument or a flag: those of a list that begin as what is typed.
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

// first completes the first argument alone.
func first(list func() []string) cobra.CompletionFunc {
	return complete(func(args []string) []string {
		if len(args) > 0 {
			return nil
		}
		return list()
	})
}

// onlyFiles completes so many arguments as files, and further ones not at all.
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

// functionsOf lists the functions of a file, with the kernels that it carries; none if it cannot be read.
func functionsOf(path string) []string {
	report, err := inspect.File(path)
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range report.Functions {
		names = append(names, f.Name)
	}
	if report.Blob != nil {
		for _, m := range report.Blob.Modules {
			if m.Device == nil {
				continue
			}
			for _, f := range m.Device.Functions {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// devicesHere lists the devices as --device takes them.
func devicesHere([]string) []string {
	var names []string
	for _, s := range runtime.Devices() {
		if s.Err == nil {
			names = append(names, s.Device.String())
		}
	}
	return names
}

// tagNames lists the tags by all their names.
func tagNames() []string {
	var names []string
	for _, t := range target.Tags() {
		names = append(append(names, t.Name), t.Aliases...)
	}
	return names
}

// tagKeys lists the keys by which families of tags are found.
func tagKeys([]string) []string {
	var keys []string
	for _, t := range target.Tags() {
		keys = append(keys, t.Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// targetNames lists what a target may begin with.
func targetNames() []string { return append(target.Kinds(), tagNames()...) }

func targetFlag([]string) []string { return targetNames() }

// likeNames lists the beginnings of --like.
func likeNames([]string) []string {
	var names []string
	for _, t := range npyfile.Types() {
		if t.DType.Code != dlpack.CodeComplex { // which has no text
			names = append(names, t.DType.String()+"[")
		}
	}
	return names
}

// completeFlags sets what flags are completed with; those that a command does not have are left out.
func completeFlags(cmd *cobra.Command, flags map[string]func([]string) []string) {
	for name, list := range flags {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, complete(list)) // which fails for a flag that is not there, and twice
		}
	}
}

// flagValues are the lists for flags that mean the same everywhere.
var flagValues = map[string]func([]string) []string{
	"device": devicesHere, "host": targetFlag, "key": tagKeys,
	"emit": func([]string) []string { return emits },
}

// completions sets what is completed with.
func completions(cmd *cobra.Command) {
	completeFlags(cmd, flagValues)
	switch cmd.CommandPath() {
	case "tvmgo build", "tvmgo pack":
		completeFlags(cmd, map[string]func([]string) []string{"target": targetFlag})
	case "tvmgo run":
		cmd.ValidArgsFunction = fileThenFunction
		_ = cmd.RegisterFlagCompletionFunc("like", func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			list, directive := complete(likeNames)(c, args, typed)
			return list, directive | cobra.ShellCompDirectiveNoSpace
		})
	case "tvmgo inspect", "tvmgo verify":
		cmd.ValidArgsFunction = onlyFiles(1)
	case "tvmgo diff":
		cmd.ValidArgsFunction = onlyFiles(2)
	case "tvmgo unpack":
		cmd.ValidArgsFunction = onlyFiles(2)
	case "tvmgo target list", "tvmgo target schema":
		cmd.ValidArgsFunction = first(target.Kinds)
	case "tvmgo target show", "tvmgo target check":
		cmd.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			list, _ := first(targetNames)(c, args, typed)
			return list, cobra.ShellCompDirectiveDefault // or a file
		}
	case "tvmgo target tags":
		cmd.ValidArgsFunction = first(tagNames)
	case "tvmgo devices", "tvmgo doctor", "tvmgo version":
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, c := range cmd.Commands() {
		completions(c)
	}
}
