// Command tvmgo looks at devices and module files, runs functions of modules, and makes modules of kernels.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	_ "tvmgo/runtime/cuda"   // with its build tag; else it says how to have it
	_ "tvmgo/runtime/opencl" // likewise
	_ "tvmgo/runtime/vulkan"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs one command line and returns the exit status: 0, 1 for a failure, 2 for a command line that makes no sense
// and where diff and verify have nothing to go by.
func execute(args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return 0
	}
	if errors.Is(err, errDifferent) {
		return 1
	}
	fmt.Fprintf(stderr, "tvmgo: %v\n", err)
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "usage: %s\n", usage.usage)
		return 2
	}
	var status *statusError
	if errors.As(err, &status) {
		return status.status
	}
	return 1
}

// statusError is a failure with an exit status of its own.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }
