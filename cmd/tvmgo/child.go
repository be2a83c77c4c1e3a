package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/internal/unfinished"
)

// answersFile is where a child process writes its answers, since its standard output belongs to the code of a module.
const answersFile = 3

// newChildCommand is a hidden command, which command by starts by runChild: run does the task, and writes answers to
// out.
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

// runChild starts this program again with a hidden command, which gets a task as JSON on its standard input, and has
// read take its answers; read reports whether they were complete. died says how the process ended before that. It ends
// with ctx. The error is about this program.
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
	errs := &beginning{room: maxErrors}
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = strings.NewReader(string(input)), errs, []*os.File{w}

	runtime.LockOSThread() // whose end would be taken for that of this process
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
		_ = cmd.Kill() // no more is expected of it; it may hang on the pipe
	}
	err = cmd.Wait()
	if finished {
		return "", nil
	}
	return errs.cause(err), nil
}

// childCommand is this program with other arguments, which ends with this process. Whoever starts it does that from a
// thread that stays.
func childCommand(ctx context.Context, args ...string) (*unfinished.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start a child process: %w", err)
	}
	cmd := unfinished.Command(ctx, self, args...)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// beginning keeps the first bytes that are written to it.
type beginning struct {
	text []byte
	room int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), b.room-len(b.text))]...)
	return len(p), nil
}

// cause says in a line how a process ended: by what the Go runtime in it wrote about a signal, with what
// came before, or by its exit status.
func (b *beginning) cause(err error) string {
	var before []string
	fatal := ""
	for line := range strings.SplitSeq(string(b.text), "\n") {
		line = strings.TrimSpace(line)
		signal, bracketed := strings.CutPrefix(line, "[signal ")
		if bracketed || strings.HasPrefix(line, "SIG") {
			signal, _, _ = strings.Cut(signal, " code=")
			return strings.Join(append(before, signal), ": ")
		}
		if said, is := strings.CutPrefix(line, "fatal error: "); is && fatal == "" {
			fatal = said
		}
		const most = 2 // a C++ exception is reported in as many
		if line != "" && len(before) < most && !strings.HasPrefix(line, "fatal error: ") {
			before = append(before, line)
		}
	}
	var exit *exec.ExitError
	switch {
	case fatal != "":
		return strings.Join(append(before, fatal), ": ")
	case err == nil:
		return "exit status 0"
	case errors.As(err, &exit):
		return exit.ProcessState.String()
	}
	return err.Error()
}
