package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "tvmgo",
		Short:         "Look at devices and compiled modules, run their functions, and make modules of kernels",
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{err, cmd.UseLine()} })
	root.AddCommand(newBuildCommand(), newDevicesCommand(), newDiffCommand(), newDoctorCommand(), newInspectCommand(), newPackCommand(), newRunCommand(), newTargetCommand(), newUnpackCommand(),
		newVerifyCommand(), newVersionCommand(), newDescribeCommand())
	return root
}

// usageError is a command line that the user has to write differently, with the form it should have.
type usageError struct {
	err   error
	usage string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// exactly asks for so many arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return &usageError{fmt.Errorf("%s: %d arguments instead of %d", cmd.Name(), len(args), n), cmd.UseLine()}
	}
}

// atMost allows so many arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return &usageError{fmt.Errorf("%s: %d arguments instead of at most %d", cmd.Name(), len(args), n), cmd.UseLine()}
	}
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("there is no command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %q?", err, near[0])
	}
	return &usageError{err, "tvmgo build | devices | diff | doctor | inspect | pack | run | target | unpack | verify | version"}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
