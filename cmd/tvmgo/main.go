// Command tvmgo inspects devices and module files, runs functions of modules, and builds modules from programs and
// kernels.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	ctx, stop := withSignals(context.Background())
	status := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// Exit statuses. A signal adds its number to statusSignal, as shells do.
const (
	statusFailure = 1
	statusUsage   = 2
	statusSignal  = 128
)

// execute runs one command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	defer inOneLine(stderr, &status)
	root := newRootCommand(stdout, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if s := interruptionOf(ctx); s != nil {
		fmt.Fprintf(stderr, "tvmgo: %s\n", s.text(cmd))
		return s.status()
	}
	var silent *silentError
	if errors.As(err, &silent) {
		return cmp.Or(silent.status, statusFailure)
	}
	fmt.Fprintf(stderr, "tvmgo: %v\n", err)
	if isUsage(err) {
		fmt.Fprintf(stderr, "usage: %s\n", usageOf(cmd))
		return statusUsage
	}
	return statusFailure
}

// internalError begins the message of a panic.
const internalError = "internal error: "

// inOneLine turns a panic, which is a bug of this program, into a one-line error, unless GOTRACEBACK requests Go's
// report.
func inOneLine(stderr io.Writer, status *int) {
	wanted := os.Getenv("GOTRACEBACK")
	if wanted != "" && wanted != "none" {
		return
	}
	if r := recover(); r != nil {
		fmt.Fprintf(stderr, "tvmgo: %s%v: report it, with the output under GOTRACEBACK=all\n", internalError, r)
		*status = statusFailure
	}
}

// silentError is a failure that was already reported.
type silentError struct {
	error
	status int // of this process; 0: statusFailure
}
