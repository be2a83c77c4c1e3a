//go:build cgo && !runtimeonly

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"tvmgo/compile/conformance"
	"tvmgo/dlpack"
	_ "tvmgo/graph/operators"
	"tvmgo/target"
)

// checkFlags holds the flags of check.
type checkFlags struct {
	target             string
	relative, absolute float64
	jobs               int
}

func newCheckCommand() *cobra.Command {
	f := checkFlags{}
	cmd := &cobra.Command{
		Use:   "check DIR...",
		Short: "Run models with recorded inputs and outputs",
		Long: `Compile models, run them with recorded inputs, and compare their results with
the recorded outputs. Each DIR is a test in ONNX's own layout, or a folder of
such tests:

  DIR/model.onnx
  DIR/test_data_set_0/input_0.pb, input_1.pb, ..., output_0.pb, ...

A line for each test says "ok NAME", or "FAIL NAME: " and why: an operator that
is not supported, a wrong type or shape, or the element that differs most. An
input on whose elements the code depends, such as the axes of a reduction, is
compiled as a constant, and listed. A target that is only a kind of devices gets
the abilities of its first device. The last line is a summary. The status is 1
if a test failed.`,
		Example: `  tvmgo check tests/node
  tvmgo check tests/node/test_relu --target opencl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("check: name a folder with tests")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.target, "target", "c", "target: a kind, a tag, a command line or JSON")
	flags.Float64Var(&f.relative, "rtol", conformance.Defaults.Relative, "tolerance relative to the recorded output")
	flags.Float64Var(&f.absolute, "atol", conformance.Defaults.Absolute, "absolute tolerance")
	flags.IntVarP(&f.jobs, "jobs", "j", runtime.NumCPU(), "tests that run at the same time")
	completeFlag(cmd, "target", targetFlag)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	t, err := target.New(f.target)
	if err == nil && t.DeviceType() != dlpack.CPU && f.target == t.Kind().Name() { // the abilities of the device here
		t, err = target.New(f.target + " -from_device=0")
	}
	if err != nil {
		return wrong(fmt.Errorf("--target: %w", err))
	}
	tests, err := conformance.Find(args...)
	if err != nil {
		return err
	}
	lines := make([]chan string, len(tests))
	for i := range lines {
		lines[i] = make(chan string, 1)
	}
	next := make(chan int)
	var group sync.WaitGroup
	options := conformance.Options{Target: t, Relative: f.relative, Absolute: f.absolute}
	for range max(1, f.jobs) {
		group.Go(func() {
			for i := range next {
				lines[i] <- checkLine(cmd.Context(), tests[i], options)
			}
		})
	}
	go func() {
		for i := range tests {
			next <- i
		}
		close(next)
	}()
	failed := 0
	for i := range lines {
		line := <-lines[i]
		if strings.HasPrefix(line, "FAIL") {
			failed++
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
			return err
		}
	}
	group.Wait()
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d passed, %d failed\n", len(tests)-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%s of %d failed", count(failed, "test"), len(tests))
	}
	return nil
}

// checkLine runs a test, and returns its line.
func checkLine(ctx context.Context, dir string, o conformance.Options) (line string) {
	name := filepath.Base(dir)
	r, err := conformance.Run(ctx, dir, o)
	if err != nil {
		return fmt.Sprintf("FAIL %s: %s", name, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return "ok " + name + r.Summary()
}
