package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"tvmgo/internal/version"
)

// commands makes the commands that every build has: a new one is added to this list, or to commandsOfFull if it needs a
// compiler or targets, and nowhere else.
var commands = []func() *cobra.Command{
	newDevicesCommand, newDiffCommand, newDoctorCommand, newInspectCommand, newRunCommand, newServeCommand,
	newSignCommand, newUnpackCommand, newVerifyCommand, newVersionCommand,
	// Hidden: commands of child processes.
	newDescribeCommand, newVectorCommand, newRunChildCommand,
}

// leftOut are the names of the commands that the build for deployment (the tag runtimeonly) does not have.
var leftOut = []string{"bench", "build", "check", "compile", "pack", "target"}

// newLeftOutCommand makes a command that takes any arguments, and fails.
func newLeftOutCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "Not in this build, which is for deployment",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("%s: this build of tvmgo is for deployment and has no compiler and no targets: use the "+
				"full tvmgo (make program)", name)
		},
	}
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
	for _, command := range slices.Concat(commands, commandsOfFull) {
		root.AddCommand(command())
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
