//go:build unix

package unfinished

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// Killing a command also ends the processes that it started: the pipe that all of them hold is closed.
func TestCommand_EndsWithItsGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := Command(ctx, "sh", "-c", "sleep 600 & echo here; wait")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	c.Stdout = w
	require.NoError(t, c.Start())
	w.Close()
	begin := make([]byte, 5)
	must.Get(io.ReadFull(r, begin))(t)
	require.True(t, groups[c.Process.Pid])
	cancel()
	require.ErrorIs(t, must.Fail(r.Read(begin)), io.EOF)
	require.Error(t, c.Wait())
	require.Empty(t, groups)
}

// The child process of this test calls End.
func TestEnd(t *testing.T) {
	if dir := os.Getenv("TVMGO_TEST_END"); dir != "" {
		t.Setenv("TMPDIR", dir)
		inside := must.Get(MkdirTemp("x-"))(t)
		require.NoError(t, Add(filepath.Join(dir, "file"), func() error {
			return os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
		}))
		kept := filepath.Join(dir, "kept")
		require.NoError(t, Add(kept, func() error { return os.WriteFile(kept, nil, 0o600) }))
		Forget(kept)
		c := Command(t.Context(), "sh", "-c", "echo here; while :; do echo >"+inside+"/$RANDOM$$; done")
		out := must.Get(c.StdoutPipe())(t)
		require.NoError(t, c.Start())
		must.Get(io.ReadFull(out, make([]byte, 5)))(t)
		End()
		os.Stdout.WriteString("ended\n")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEnd$")
	cmd.Env = append(os.Environ(), "TVMGO_TEST_END="+dir)
	out, err := cmd.CombinedOutput() // waits until no process holds the pipe
	require.Error(t, err)
	require.True(t, strings.HasSuffix(string(out), "ended\n"), "%s", out)
	left := must.Get(os.ReadDir(dir))(t)
	require.Len(t, left, 1)
	require.Equal(t, "kept", left[0].Name())
}
