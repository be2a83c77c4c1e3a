//go:build !runtimeonly

package main

import (
	"slices"

	"github.com/spf13/cobra"

	"tvmgo/target"
)

func init() { targets.commands = []func() *cobra.Command{newTargetCommand} }

// tagNames lists the names and aliases of the tags.
func tagNames() []string {
	var names []string
	for _, t := range target.Tags() {
		names = append(append(names, t.Name), t.Aliases...)
	}
	return names
}

// tagKeys lists the keys of the tags' targets.
func tagKeys([]string) []string {
	var keys []string
	for _, t := range target.Tags() {
		keys = append(keys, t.Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// targetNames lists the kinds and tags, with which a target may begin.
func targetNames() []string { return append(target.Kinds(), tagNames()...) }

func targetFlag([]string) []string { return targetNames() }

// targetOrFile completes one argument: the beginning of a target, or the name of a file.
func targetOrFile(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, _ := first(targetNames)(c, args, typed)
	return list, cobra.ShellCompDirectiveDefault
}
