package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// failure is an error of a command that ran. All other errors are about the command line.
type failure struct{ error }

func (e *failure) Unwrap() error { return e.error }

// usageError is an invalid command line, found while the command runs.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// wrong turns an error into one about the command line.
func wrong(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// wrongf makes an error about the command line.
func wrongf(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// isUsage reports whether an error is about the command line.
func isUsage(err error) bool {
	var usage *usageError
	var failed *failure
	return errors.As(err, &usage) || !errors.As(err, &failed)
}

// wrapErrors wraps the errors that commands return, so that they differ from errors found before the commands run.
func wrapErrors(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			running.Store(cmd)
			if err := run(cmd, args); err != nil {
				return &failure{err}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		wrapErrors(c)
	}
}

// usageOf returns the usage line of a command.
func usageOf(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		return cmd.UseLine()
	}
	return cmd.CommandPath() + " " + strings.Join(names, " | ")
}

// count returns a number and a noun: 1 file, 2 files.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// exactly requires n arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%s: %s instead of %d", cmd.Name(), count(len(args), "argument"), n)
	}
}

// between requires least to most arguments.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return fmt.Errorf("%s: %s instead of %d to %d", cmd.Name(), count(len(args), "argument"), least, most)
	}
}

// atLeast requires n arguments, and allows more.
func atLeast(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= n {
			return nil
		}
		return fmt.Errorf("%s: %s instead of at least %d", cmd.Name(), count(len(args), "argument"), n)
	}
}

// atMost allows n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return fmt.Errorf("%s: %s instead of at most %d", cmd.Name(), count(len(args), "argument"), n)
	}
}

// noSuchCommand rejects arguments of a command that only has subcommands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("there is no command %q", args[0])
	if cmd.HasParent() {
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), err)
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %q?", err, near[0])
	}
	return err
}
