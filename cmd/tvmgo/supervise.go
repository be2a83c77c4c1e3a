//go:build cgo

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// supervise starts this program again with other arguments, the same standard output and error, and returns with the
// same status. A crash becomes a one-line error instead of Go's report; what names the code that crashed.
func supervise(ctx context.Context, what string, args []string, stdout, stderr io.Writer) error {
	cmd, err := childCommand(ctx, args...)
	if err != nil {
		return err
	}
	errs := &crashFilter{to: stderr}
	cmd.Stdout, cmd.Stderr = stdout, errs
	if os.Getenv("GOTRACEBACK") == "" {
		cmd.Env = append(cmd.Env, "GOTRACEBACK=none")
	} else { // the user wants Go's report
		cmd.Stderr = stderr
	}
	runtime.LockOSThread() // the kernel sends Pdeathsig when this thread ends
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return errs.flush()
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: start a child process: %w", what, err)
	case endedBy(exit) == syscall.SIGPIPE && !errs.crashed(): // nobody reads the output any longer, as after | head
		return &silentError{err, statusSignal + int(syscall.SIGPIPE)}
	case exit.ExitCode() == statusFailure || exit.ExitCode() == statusUsage && !errs.crashed():
		return errors.Join(&silentError{error: err}, errs.flush()) // the child has printed the reason
	}
	kept := &beginning{limit: maxErrors}
	kept.Write(errs.held.Bytes())
	return fmt.Errorf("%s: its code ended the process: %s", what, kept.cause(err))
}

// endedBy returns the signal that ended a process; -1 if none did.
func endedBy(exit *exec.ExitError) syscall.Signal {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok {
		return status.Signal()
	}
	return -1
}

// crashFilter passes lines on until the report of a crash begins, and holds back the rest.
type crashFilter struct {
	to      io.Writer
	line    bytes.Buffer // the last line, if incomplete
	held    bytes.Buffer
	holding bool
}

// crashes are the beginnings of lines with which Go reports a crash.
var crashes = [][]byte{[]byte("SIG"), []byte("fatal error: "), []byte("panic: "), []byte("runtime: "),
	[]byte("[signal ")}

func (f *crashFilter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !f.holding {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			f.line.Write(p)
			return n, nil
		}
		f.line.Write(p[:end])
		p = p[end:]
		for _, begin := range crashes {
			f.holding = f.holding || bytes.HasPrefix(f.line.Bytes(), begin)
		}
		if f.holding {
			f.held.Write(f.line.Bytes())
		} else if _, err := f.to.Write(f.line.Bytes()); err != nil {
			return 0, err
		}
		f.line.Reset()
	}
	if left := maxErrors - f.held.Len(); f.holding && left > 0 {
		f.held.Write(p[:min(len(p), left)])
	}
	return n, nil
}

func (f *crashFilter) crashed() bool { return f.holding }

// flush passes on the remaining text, if it was no crash.
func (f *crashFilter) flush() error {
	_, err := f.to.Write(append(f.held.Bytes(), f.line.Bytes()...))
	return err
}
