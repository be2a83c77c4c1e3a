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
		Short: "Take a module file apart: sources, device code and the import tree as files; nothing of it is executed",
		Long: `Take a module file apart into a new or empty folder. Each module it carries comes out in the form in which
other tools take it: PTX, CUBIN, CUDA and OpenCL sources with their .tvm_meta.json, SPIR-V shaders, C sources,
object files, constants as .npy; what is of an unknown kind as it is. library.bin is all of it in one piece, and
tree.json says what belongs together. The file is read and nothing of it is executed; it may be for another machine.
Of a damaged file comes out what can be read, and the exit status is 1.`,
		Args: exactly(2),
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
	cmd.Flags().BoolVar(&force, "force", false, "write into a folder that is not empty, and replace files of the same names")
	return cmd
}
