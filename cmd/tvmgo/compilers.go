//go:build cgo && !runtimeonly

package main

import "github.com/spf13/cobra"

func init() {
	compilers.commands = []func() *cobra.Command{
		newBenchCommand, newBuildCommand, newCheckCommand, newCompileCommand, newPackCommand,
		// Hidden: a command of child processes.
		newBenchChildCommand,
	}
}
