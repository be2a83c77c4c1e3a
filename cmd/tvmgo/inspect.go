package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tvmgo/internal/inspect"
)

func newInspectCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Say what is in a module file; nothing of it is executed",
		Long: `Say what is in a module file: its generation, functions, imports, and the modules it carries, with the
kernels of device code. The file is read and nothing of it is executed; it may be for another machine.
The exit status is 1 when something in it is damaged or could not be loaded.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := inspect.File(args[0])
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
	return cmd
}
