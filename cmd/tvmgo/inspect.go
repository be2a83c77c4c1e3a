package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/internal/inspect"
)

func newInspectCommand() *cobra.Command {
	asJSON, load, limit := false, false, 10*time.Second
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Say what is in a module file; without --load nothing of it is executed",
		Long: `Say what is in a module file: its generation, functions, imports, and the modules it carries, with the
kernels of device code. The file is read and nothing of it is executed; it may be for another machine. Of an
object (.o) or an archive (.tar) it is what the library would have that is linked of it; with --load it is linked.

Signatures, metadata and docs of functions are functions of the file themselves. --load runs them, and with
them the file's constructors, in a child process: use files that you trust. The child is for crashes and
endless loops, and is no sandbox.

The exit status is 1 when something in it is damaged or could not be loaded.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit <= 0 {
				return wrongf("--timeout %v: give a time above zero, for example 10s", limit)
			}
			var report *inspect.Report
			err := foreign(cmd.Context(), func() (err error) {
				report, err = inspect.File(args[0])
				return err
			})
			if err != nil {
				return fmt.Errorf("inspect %w", err)
			}
			if load {
				err = describe(cmd.Context(), report, limit)
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), report)
			} else {
				err = report.WriteText(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			if n := len(report.Problems); n > 0 {
				return fmt.Errorf("inspect %s: %d problems, the first: %s", args[0], n, report.Problems[0])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&load, "load", false, "run code of the file to show signatures, metadata and docs of its functions")
	cmd.Flags().DurationVar(&limit, "timeout", limit, "with --load, how long the file's code may take altogether")
	return cmd
}
