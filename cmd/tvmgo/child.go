//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/internal/unfinished"
)

// answersFile is where a child process writes its answers, since its standard output belongs to the code of a module.
const answersFile = 3

// newChildCommand makes a hidden command that runChild starts in a child process, on behalf of the command named by.
// run does the task and writes its answers to out.
func newChildCommand[T any](name, by string, run func(task *T, ctx context.Context,
	out io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use:    name,
		Hidden: true,
		Args:   exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			task := new(T)
			if err := json.NewDecoder(os.Stdin).Decode(task); err != nil {
				return fmt.Errorf("%s: it is started by %s alone: %w", name, by, err)
			}
			out := os.NewFile(answersFile, "answers")
			defer out.Close()
			return run(task, cmd.Context(), out)
		},
	}
}

// runChild starts this program again with a hidden command. The child gets a task as JSON on its standard input; read
// reads its answers and reports whether they are complete. If they are not, died says how the child ended. The child
// ends when ctx does. err is an error of this program, not of the child.
func runChild(ctx context.Context, command string, task any, read func(answers io.Reader) bool) (died string,
	err error) {
	input, err := json.Marshal(task)
	if err != nil {
		return "", err
	}
	cmd, err := childCommand(ctx, command)
	if err != nil {
		return "", err
	}
	answers, w, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("start a child process: %w", err)
	}
	defer answers.Close()
	errs := &beginning{limit: maxErrors}
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = strings.NewReader(string(input)), errs, []*os.File{w}

	runtime.LockOSThread() // the kernel sends Pdeathsig when this thread ends
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return "", fmt.Errorf("start a child process: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { answers.SetReadDeadline(time.Now()) })
	defer stop()
	finished := read(answers)
	if !finished {
		_ = cmd.Kill() // its remaining answers are not needed, and it may block on the pipe
	}
	err = cmd.Wait()
	if finished {
		return "", nil
	}
	return errs.cause(err), nil
}

// childCommand makes a command that runs this program with other arguments and ends with this process. Start it from a
// thread that does not end.
func childCommand(ctx context.Context, args ...string) (*unfinished.Cmd, error) {
	self, err := ownPath()
	if err != nil {
		return nil, fmt.Errorf("start a child process: %w", err)
	}
	cmd := unfinished.Command(ctx, self, args...)
	cmd.Env = childEnvironment(ctx)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// ownPath returns the path of this program: the one that the system knows, or without /proc the one that it was started
// by.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err == nil {
		return self, nil
	}
	if self, _ = exec.LookPath(os.Args[0]); self == "" {
		return "", fmt.Errorf("the path of this program is not known: %w: mount /proc, or start it by its path", err)
	}
	return filepath.Abs(self)
}

// beginning keeps the first bytes that are written to it.
type beginning struct {
	text  []byte
	limit int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), b.limit-len(b.text))]...)
	return len(p), nil
}

// cause describes in one line how a process ended: the signal that the Go runtime in it reported and the lines before
// that, a panic of this program, or the exit status.
func (b *beginning) cause(err error) string {
	var before []string
	fatal, panicked := "", ""
	for line := range strings.SplitSeq(string(b.text), "\n") {
		line = strings.TrimSpace(line)
		signal, bracketed := strings.CutPrefix(line, "[signal ")
		if bracketed || strings.HasPrefix(line, "SIG") {
			signal, _, _ = strings.Cut(signal, " code=")
			if strings.HasPrefix(signal, "SIGILL") {
				signal += ": it was built for a CPU with more instructions than this one has, or trapped"
			}
			return strings.Join(append(before, signal), ": ")
		}
		if said, is := strings.CutPrefix(line, "fatal error: "); is && fatal == "" {
			fatal = said
		}
		if said, is := strings.CutPrefix(line, "tvmgo: "); is && strings.HasPrefix(said, internalError) {
			return said
		}
		if strings.HasPrefix(line, "panic: ") && panicked == "" {
			panicked = line
		}
		const most = 2 // a C++ exception is reported in two lines
		if line != "" && len(before) < most && !strings.HasPrefix(line, "fatal error: ") {
			before = append(before, line)
		}
	}
	var exit *exec.ExitError
	switch {
	case fatal != "":
		return strings.Join(append(before, fatal), ": ")
	case panicked != "":
		return panicked
	case err == nil:
		return "exit status 0"
	case errors.As(err, &exit):
		return exit.ProcessState.String()
	}
	return err.Error()
}
