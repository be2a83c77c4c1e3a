package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tvmgo/cmd/tvmgo/internal/unpack"
)

func newDiffCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "List the differences of two module files; executes nothing",
		Long: `List the differences of two module files: architecture, functions, symbols,
libraries, the modules in them with their kernels and code (text line by line),
and the machine code itself. What only tools read, such as debug information, is
not compared. The command reads the files and executes nothing; they may be for
another machine.

The exit status is 1 if the files differ, and if one of them is damaged or
cannot be read, which is reported on standard error.`,
		Args:              exactly(2),
		ValidArgsFunction: onlyFiles(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var d *unpack.Comparison
			err := foreign(cmd.Context(), func() (err error) {
				d, err = unpack.Diff(args[0], args[1])
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), d)
			} else {
				err = d.WriteText(cmd.OutOrStdout())
			}
			switch {
			case err != nil:
				return err
			case d.Damaged():
				damage := append(d.DamageA, d.DamageB...)
				return fmt.Errorf("diff %s %s: only in part: %d problems, the first: %s", args[0], args[1], len(damage), damage[0])
			case !d.Same:
				return &silentError{error: errDifferent}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// errDifferent has no message: the difference has been shown.
var errDifferent = errors.New("the files differ")
