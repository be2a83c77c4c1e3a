//go:build runtimeonly

package main

import "github.com/spf13/cobra"

var commandsOfFull = newLeftOutCommands()

func newLeftOutCommands() (all []func() *cobra.Command) {
	for _, name := range leftOut {
		all = append(all, func() *cobra.Command { return newLeftOutCommand(name) })
	}
	return all
}
