package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tvmgo/internal/version"
)

// commands makes the commands that every build has: a new one is added to this list, or to the part of a build that it
// needs, and nowhere else.
var commands = []func() *cobra.Command{
	newDiffCommand, newInspectCommand, newSignCommand, newUnpackCommand, newVersionCommand,
}

// part is a group of commands that only some builds have. The other builds have commands of the same names, which fail.
type part struct {
	names    []string                // of the commands that are not hidden
	short    string                  // what the help of a command that fails says
	lack     string                  // what the build lacks, and what to do
	commands []func() *cobra.Command // set by the file that belongs to the part; nil if the build lacks it
}

const (
	deployment = "this build of tvmgo is for deployment and has no compiler and no targets: use the full tvmgo (make " +
		"program)"
	withoutC = "this build of tvmgo has no C code, so it cannot run or build modules: build tvmgo on Linux with " +
		"CGO_ENABLED=1 and a C compiler"
)

// The parts: targets needs no C, and compilers needs both of the others.
var (
	targets   = part{names: []string{"target"}, short: "Not in this build, which is for deployment", lack: deployment}
	modules   = part{names: []string{"devices", "doctor", "run", "serve", "verify"}, short: shortWithoutC, lack: withoutC}
	compilers = part{names: []string{"bench", "build", "check", "compile", "pack"}, short: shortWithoutC, lack: withoutC}
)

const shortWithoutC = "Not in this build, which has no C code"

// all makes the commands of a part, or those that fail in their place.
func (p *part) all() (all []*cobra.Command) {
	if p.commands == nil {
		for _, name := range p.names {
			all = append(all, p.leftOut(name))
		}
	}
	for _, command := range p.commands {
		all = append(all, command())
	}
	return all
}

// leftOut makes a command that takes any arguments, and fails.
func (p *part) leftOut(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              p.short,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return p.missing(name) },
	}
}

// missing returns an error if this build lacks the part, which what needs.
func (p *part) missing(what string) error {
	if p.commands != nil {
		return nil
	}
	return fmt.Errorf("%s: %s", what, p.lack)
}

func newRootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "tvmgo",
		Short: "Inspect devices and compiled modules, run functions, and build modules from programs and kernels",
		Long: `Inspect devices and compiled modules, run functions, and build modules from
programs and kernels.

The exit status is 0 for success, 1 for a failure, and 2 for an invalid command
line. Ctrl-C and SIGTERM end a command and remove unfinished files; the status
is then 130 or 143. A second signal ends the command at once.`,
		Version:       version.Number(),
		Args:          noSuchCommand,
		RunE:          help,
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	root.SetOut(stdout) // cobra's completion commands copy it when they are made
	root.SetErr(stderr)
	root.SetVersionTemplate("tvmgo {{.Version}}\n")
	root.SetHelpCommand(newHelpCommand())
	for _, command := range commands {
		root.AddCommand(command())
	}
	for _, p := range []*part{&modules, &targets, &compilers} {
		root.AddCommand(p.all()...)
	}
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // cobra's own prints its help and succeeds, whatever its arguments are
			c.Args, c.RunE, c.SuggestionsMinimumDistance = noSuchCommand, help, 2
			c.Short = "Print a script for a shell that completes commands, functions of a file, devices and targets"
		}
	}
	wrapErrors(root)
	return root
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// newHelpCommand replaces cobra's help command: it rejects unknown commands.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Args: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			return noSuchCommand(about, rest)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag() // which the text lists
			about.InitDefaultVersionFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
