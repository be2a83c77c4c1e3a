//go:build cgo

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/golden"
)

// everyCommand lists the commands below the root, the hidden ones too, by what a user types: "target show".
func everyCommand() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			all[strings.TrimPrefix(sub.CommandPath(), "tvmgo ")] = sub
			visit(sub)
		}
	}
	visit(newRootCommand(io.Discard, io.Discard))
	return all
}

// flagsOf lists the flags of a command: --output, -o.
func flagsOf(c *cobra.Command) []string {
	var flags []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		flags = append(flags, "--"+f.Name)
		if f.Shorthand != "" {
			flags = append(flags, "-"+f.Shorthand)
		}
	})
	return flags
}

// Each command has help, rejects unknown flags, and is completed unless it is hidden.
func TestCommands(t *testing.T) {
	all := everyCommand()
	require.Contains(t, all, "target show")
	require.Contains(t, all, describeCommand)
	for path, c := range all {
		require.NotEmpty(t, c.RunE, path)
		words := strings.Fields(path)
		status, stdout, stderr := cli(append(words, "--help")...)
		require.Zero(t, status, "%s: %s", path, stderr)
		require.Contains(t, stdout, "tvmgo "+path)
		status, _, stderr = cli(append(words, "--what")...)
		require.Equal(t, statusUsage, status, path)
		require.Contains(t, stderr, "unknown flag: --what", path)
		require.Contains(t, stderr, "\nusage: tvmgo ", path)
		last := len(words) - 1
		offered, _ := completed(t, words...)
		if c.Hidden {
			require.NotContains(t, offered, words[last])
			continue
		}
		require.Contains(t, offered, words[last])
		require.NotEmpty(t, c.Short, path)
		require.NotRegexp(t, `\.$`, c.Short, path)
		status, stdout, _ = cli(append([]string{"help"}, words...)...)
		require.Zero(t, status, path)
		require.Contains(t, stdout, "tvmgo "+path)
	}
}

// The table of docs/command-line.md has every command.
func TestCommands_Documented(t *testing.T) {
	table := "| Command | What it does |\n|---|---|\n"
	for _, c := range newRootCommand(io.Discard, io.Discard).Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		use := []string{}
		for _, sub := range c.Commands() {
			use = append(use, "`"+sub.Name()+"`")
		}
		if len(use) == 0 {
			form, _, _ := strings.Cut(c.Use, " [")
			use = append(use, "`"+form+"`")
		} else {
			use[0] = "`" + c.Name() + " " + use[0][1:]
		}
		table += "| " + strings.Join(use, ", ") + " | " + c.Short + " |\n"
	}
	golden.Section(t, "../../docs/command-line.md", "commands", table)
}
