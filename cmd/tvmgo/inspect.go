package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/graph/onnx/file"
	"tvmgo/internal/inspect"
	"tvmgo/weights"
)

// describe is describeByChildren, which modules of the build have; nil if it has none.
var describe func(ctx context.Context, r *inspect.Report, limit time.Duration) error

func newInspectCommand() *cobra.Command {
	asJSON, load, code, limit, trusted := false, false, false, 10*time.Second, ""
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show the contents of a module file, an ONNX model, or a file of parameters",
		Long: `Show the contents of a module file: its generation, functions and imports, and
the modules in it with the kernels of device code. The command reads the file
and executes nothing of it; the file may be for another machine. Of an object
(.o) or an archive of objects (.tar), it shows what a library linked from it
would contain; with --load, it links that library.

Of a whole model, it shows the functions with their parameters and results, and
the memory that a call needs: --instructions also lists the instructions and
constants of a Relax executable, or the nodes of a graph.

Of an ONNX model, it shows the versions of operators, inputs and outputs with
their types, the number and size of parameters, and how often each operator is
used; --instructions also lists the nodes. Parameters in other files are
checked.

Of a file of parameters, it lists the tensors with their types, shapes and
sizes: TVM's .params and tensor caches, safetensors, .npz and .npy.

Functions of the file itself report signatures, metadata and documentation.
--load runs these functions, and with them the constructors of the file, in a
child process: use it only for files that you trust. The child process protects
against crashes and endless loops; it is no sandbox.

The exit status is 1 if a part of the file is damaged or cannot be loaded.`,
		Args:              exactly(1),
		ValidArgsFunction: onlyFiles(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit <= 0 {
				return wrongf("--timeout %v: give a time above zero, for example 10s", limit)
			}
			if trusted != "" && !load {
				return wrongf("--%s has a meaning with --load alone, because nothing else loads the file: leave it out",
					trustedKeysName)
			}
			if load {
				if err := modules.missing("inspect --load"); err != nil {
					return err
				}
			}
			ctx, err := withTrust(cmd.Context(), trusted)
			if err != nil {
				return err
			}
			if file.Recognizes(args[0]) {
				return inspectONNX(cmd.Context(), cmd.OutOrStdout(), args[0], asJSON, code)
			}
			if weights.Recognizes(args[0]) {
				return inspectWeights(cmd.Context(), cmd.OutOrStdout(), args[0], asJSON)
			}
			var report *inspect.Report
			var options []inspect.Option
			if code {
				options = append(options, inspect.WithCode())
			}
			err = foreign(cmd.Context(), func() (err error) {
				report, err = inspect.File(args[0], options...)
				return err
			})
			if err != nil {
				return fmt.Errorf("inspect %w", err)
			}
			if load {
				err = describe(ctx, report, limit)
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
	cmd.Flags().BoolVar(&load, "load", false,
		"run code of the file to show signatures, metadata and documentation of its functions")
	cmd.Flags().BoolVar(&code, "instructions", false, "list the instructions of whole models")
	trustedKeysFlag(cmd.Flags(), &trusted)
	cmd.Flags().DurationVar(&limit, "timeout", limit, "with --load, the time limit of all code of the file together")
	return cmd
}
