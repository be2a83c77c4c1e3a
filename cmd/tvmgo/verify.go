package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/export/pack"
	"tvmgo/runtime"
)

// undecided is an error on account of which verify can't say anything.
func undecided(err error) error {
	var usage *usageError
	if err == nil || errors.As(err, &usage) {
		return err
	}
	return &statusError{2, err}
}

func newVerifyCommand() *cobra.Command {
	asJSON, device, tol := false, "cpu", pack.DefaultTolerance
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Run the test vectors that a packed file carries",
		Long: `Run the test vectors that a file of tvmgo pack carries, and say what differed. That runs the file's code: use
files that you trust. What is only written is filled with a pattern before, so that elements that nobody wrote are
told. Numbers of floating point may differ by atol + rtol * |expected|, all others not at all.

The exit status is 0 when all was as expected, 1 when something differed or a call failed, and 2 when there was
nothing to be said: no test vectors, no such device, a file that does not load.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := verify(cmd.Context(), args[0], device, tol)
			if err != nil {
				return undecided(err)
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), report)
			} else {
				err = writeVerify(cmd.OutOrStdout(), report)
			}
			if err != nil {
				return undecided(err)
			}
			if n := report.Failed(); n > 0 {
				return fmt.Errorf("verify %s: %d of %d test vectors failed", args[0], n, len(report.Vectors))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&device, "device", device, "where the tensors are, for example cpu or cuda:1")
	cmd.Flags().Float64Var(&tol.Rel, "rtol", tol.Rel, "how far results may be off, relative to what is expected")
	cmd.Flags().Float64Var(&tol.Abs, "atol", tol.Abs, "how far results may be off besides")
	return cmd
}

func verify(ctx context.Context, file, device string, tol pack.Tolerance) (*pack.Report, error) {
	dev, err := parseDevice(device)
	if err != nil {
		return nil, err
	}
	m, err := runtime.Load(ctx, file)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	report, err := pack.Verify(ctx, m, dev, tol)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	report.File = file
	return report, nil
}

func writeVerify(w io.Writer, r *pack.Report) error {
	var b strings.Builder
	for _, v := range r.Vectors {
		fmt.Fprintf(&b, "%s, test vector %d on %s: ", v.Function, v.Vector, r.Device)
		switch {
		case v.Error != "":
			fmt.Fprintf(&b, "failed: %s\n", v.Error)
		case v.OK():
			b.WriteString("as expected\n")
		default:
			b.WriteString("differs\n")
		}
		for _, d := range v.Differences {
			b.WriteString(differenceText(&d))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func differenceText(d *pack.Difference) string {
	name := fmt.Sprint(d.Argument)
	if d.Name != "" {
		name += " (" + d.Name + ")"
	}
	what := "differ"
	if d.Const {
		what = "were changed, and it is marked const"
	}
	text := fmt.Sprintf("  argument %s, %s: %d of %d elements %s\n", name, d.Type, d.Differing, d.Elements, what)
	if d.Untouched > 0 && !d.Const {
		text += fmt.Sprintf("    %d of them were not written\n", d.Untouched)
	}
	text += fmt.Sprintf("    first at %s: got %s, want %s\n", strings.ReplaceAll(fmt.Sprint(d.First), " ", ","), d.Got, d.Want)
	return text + fmt.Sprintf("    largest difference %.6g, relative %.6g\n", float64(d.MaxAbs), float64(d.MaxRel))
}
