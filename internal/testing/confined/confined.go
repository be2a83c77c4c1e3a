// Package confined runs programs without facilities that a system normally has: /proc, /dev/shm, a file system that can
// be written or whose programs can be executed, files in memory (memfd_create). Nothing is faked: a small C program
// mounts file systems in a namespace of its own and filters system calls, before it executes the program.
//
// Root can do that, and where user namespaces are allowed everybody can. Elsewhere tests are skipped, except in CI.
package confined

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
)

//go:embed testdata/confine.c
var source []byte

// The statuses with which the helper ends instead of the program.
const (
	forbidden = 120
	left      = 121
)

// Helper is the compiled C program, for one test and its subtests.
type Helper struct{ program string }

// New compiles the program.
func New(t testing.TB) *Helper {
	t.Helper()
	machine.NeedNative(t, "qemu-user has no filters of system calls")
	dir := t.TempDir()
	text := filepath.Join(dir, "confine.c")
	require.NoError(t, os.WriteFile(text, source, 0o666))
	h := &Helper{filepath.Join(dir, "confine")}
	out, err := exec.Command("cc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", h.program, text).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return h
}

// Options returns options of the helper (see testdata/confine.c), separated by spaces in the text, and keeps folders
// visible that lie below a /tmp which these options cover.
func Options(text string, keep ...string) []string {
	options := strings.Fields(text)
	for _, folder := range keep {
		options = append(options, "keep="+folder)
	}
	return options
}

// Result is what a program did.
type Result struct {
	Status int    // its exit status, 128 + N for signal N
	Stdout string // what it printed
	Stderr string
}

// most is the longest time of a program that hangs, on a slow machine too.
const most = 5 * time.Minute

// Run runs a program with an environment. The test is skipped if this process may not confine programs; it fails if the
// program does not end, or leaves files in a covered /tmp.
func (h *Helper) Run(t testing.TB, options, env []string, program ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	args := append(append(append([]string{}, options...), "--"), program...)
	cmd := exec.CommandContext(ctx, h.program, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &out, &errs, time.Second
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "%q does not end:\n%s%s", args, &out, &errs)
	r := Result{Stdout: out.String(), Stderr: errs.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Status = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	require.NotEqual(t, left, r.Status, "%q: %s", args, r.Stderr)
	if r.Status == forbidden && strings.Contains(r.Stderr, "confine: ") {
		if os.Getenv("CI") != "" && os.Geteuid() == 0 {
			require.Fail(t, "root may not confine programs in CI: give the container the capability SYS_ADMIN", r.Stderr)
		}
		t.Skipf("this process may not confine programs: %s", r.Stderr)
	}
	return r
}
