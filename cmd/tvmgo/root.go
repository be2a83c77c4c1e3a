package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"tvmgo/internal/version"
)

func newRootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "tvmgo",
		Short: "Look at devices and compiled modules, run their functions, and make modules of kernels",
		Long: `Look at devices and compiled modules, run their functions, and make modules of kernels.

The exit status is 0, 1 for a failure, and 2 for a command line that makes no sense. Ctrl-C and SIGTERM end a command and remove what
is unfinished, with the status 130 and 143; once more ends it at once.`,
		Version:       version.Number(),
		Args:          noSuchCommand,
		RunE:          help,
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	root.SetOut(stdout) // which the commands of completion take as they are made
	root.SetErr(stderr)
	root.SetVersionTemplate("tvmgo {{.Version}}\n")
	root.SetHelpCommand(newHelpCommand())
	root.AddCommand(newBuildCommand(), newDevicesCommand(), newDiffCommand(), newDoctorCommand(), newInspectCommand(), newPackCommand(), newRunCommand(), newTargetCommand(), newUnpackCommand(),
		newVerifyCommand(), newVersionCommand(), newDescribeCommand(), newVectorCommand(), newRunChildCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // cobra's own answers whatever is asked for with its help
			c.Args, c.RunE, c.SuggestionsMinimumDistance = noSuchCommand, help, 2
		}
	}
	completions(root)
	mark(root)
	return root
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// newHelpCommand is cobra's, but that it knows which commands there are.
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
