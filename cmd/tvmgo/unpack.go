package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tvmgo/cmd/tvmgo/internal/unpack"
)

func newUnpackCommand() *cobra.Command {
	asJSON, force := false, false
	cmd := &cobra.Command{
		Use:   "unpack FILE DIR",
		Short: "Write the contents of a module file as files; executes nothing",
		Long: `Write the contents of a module file into a new or empty folder. Each module in it
is written in a form that other tools read: PTX, CUBIN, CUDA and OpenCL sources
with their .tvm_meta.json, SPIR-V shaders, C sources, object files, constants as
.npy. A module of an unknown kind is written unchanged. library.bin is the
complete blob, and tree.json describes how the files belong together.

The command reads the file and executes nothing; the file may be for another
machine. Of a damaged file it writes the readable part, and the exit status is 1.`,
		Args:              exactly(2),
		ValidArgsFunction: onlyFiles(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			summary, err := unpack.Unpack(cmd.Context(), args[0], args[1], force)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), summary)
			} else {
				err = summary.WriteText(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			if n := len(summary.Damage); n > 0 {
				return fmt.Errorf("unpack %s: only in part: %d problems, the first: %s", args[0], n, summary.Damage[0])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&force, "force", false,
		"write into a folder that is not empty, and replace its files of the same names")
	return cmd
}
