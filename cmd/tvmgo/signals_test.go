//go:build cgo

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// waiting is a command in a separate process that has reached a point at which it waits forever.
type waiting struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	dir    string   // the folder of its outputs
	temp   string   // TMPDIR
	child  int      // a process that it started
	family *os.File // at its end when the command and all processes that it started have ended
}

// await starts a command and waits until code that it runs writes its process ID to the pipe that the variable REACHED
// names.
func await(t *testing.T, dir string, env []string, args ...string) *waiting {
	t.Helper()
	path := must.Get(buildOnce())(t)
	w := &waiting{dir: dir, temp: t.TempDir()}
	reached := filepath.Join(t.TempDir(), "reached")
	require.NoError(t, syscall.Mkfifo(reached, 0o600))
	w.cmd = exec.Command(path, args...)
	w.cmd.Dir, w.cmd.Stderr = dir, &w.stderr
	w.cmd.Env = append(append(os.Environ(), env...), "TMPDIR="+w.temp, "REACHED="+reached)
	family, held, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = family.Close() })
	w.family, w.cmd.ExtraFiles = family, []*os.File{held}
	require.NoError(t, w.cmd.Start())
	require.NoError(t, held.Close())
	said, err := os.ReadFile(reached) // waits until it is there
	require.NoError(t, err)
	w.child, err = strconv.Atoi(strings.Fields(string(said))[0]) // several may run at once
	require.NoError(t, err)
	return w
}

// ended waits until the command and the process that it started have ended.
func (w *waiting) ended(t *testing.T) int {
	t.Helper()
	_ = w.cmd.Wait()
	require.Eventually(t, func() bool { // its entry may wait for its new parent
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.child), "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 5*time.Minute, time.Millisecond, "the process that it started is still running")
	return w.cmd.ProcessState.ExitCode()
}

// left lists the files of a folder that were not in it before.
func left(t *testing.T, dir string, before ...string) (names []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Subset(t, before, names)
	return names
}

// stuck makes a compiler that does not end if a certain argument is present. If its child is killed, it fails, and
// writes nothing.
func stuck(t *testing.T, real, at string) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), real)
	lines := "#!/bin/sh\ncase \" $* \" in *\" " + at +
		" \"*) touch \"$TMPDIR/left\"; sleep 600 & echo $! >$REACHED; wait; exit 1;; esac\nexec " + real + " \"$@\"\n"
	require.NoError(t, os.WriteFile(tool, []byte(lines), 0o777))
	return tool
}

// endless is a C function that reports that it runs, and never returns.
const endless = `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void endless(void) {
  FILE* f = fopen(getenv("REACHED"), "w");
  fprintf(f, "%d", getpid());
  fclose(f);
  for (volatile int i = 0;; i++) {}
}
`

// packedEndless packs a kernel and its test vector. The kernel never returns if REACHED is set.
func packedEndless(t *testing.T) (dir string) {
	t.Helper()
	dir = kernelFile(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "e.c"),
		[]byte(endless+"void f(float* a) { if (getenv(\"REACHED\")) endless(); a[0] = 2; }\n"), 0o666))
	status, _, stderr := built(t, dir, "pack", "e.c", "--func", "f(inout float32[1])", "--test", "one.npy=two.npy", "-o",
		"e.so")
	require.Zero(t, status, stderr)
	return dir
}

// A signal ends every command that may run for long, with the exit status of shells, and leaves no process and no file.
func TestSignals(t *testing.T) {
	dir := packedEndless(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.tir"), []byte(`func f() { }`), 0o666))
	loads := kernels(t, endless+`KERNEL(f) FUNCTION(_doc_f) { endless(); return 0; }`)
	before := left(t, dir, "e.c", "e.so", "k.c", "minus.npy", "one.npy", "p.tir", "two.npy")
	for _, row := range []struct {
		name string
		env  string
		args []string
		says string
	}{
		{"pack, compiling", "CC=" + stuck(t, "gcc", "-c"), []string{"pack", "k.c", "--func", negSignature, "-o", "new.so"},
			"pack: %s: nothing was written\n"},
		{"pack, linking", "CC=" + stuck(t, "gcc", "-shared"), []string{"pack", "k.c", "--func", negSignature, "-o", "new.so"},
			"pack: %s: nothing was written\n"},
		{"verify", "", []string{"verify", "e.so"}, "verify: %s\n"},
		{"run", "", []string{"run", "e.so", "f", "--in", "o:1", "--out", "new.npy", "--like", "float32[1]"}, "run: %s\n"},
		{"inspect --load", "", []string{"inspect", "--load", loads}, "inspect: %s\n"},
	} {
		for signal, name := range map[syscall.Signal]string{syscall.SIGINT: "interrupt", syscall.SIGTERM: "terminated"} {
			t.Run(row.name+" "+name, func(t *testing.T) {
				w := await(t, dir, []string{row.env}, row.args...)
				require.NoError(t, w.cmd.Process.Signal(signal))
				require.Equal(t, 128+int(signal), w.ended(t), w.stderr.String())
				require.Equal(t, "tvmgo: "+strings.Replace(row.says, "%s", name, 1), w.stderr.String())
				require.Empty(t, left(t, w.temp))
				require.ElementsMatch(t, before, left(t, dir, before...))
			})
		}
	}
}

// The second signal does not wait: a compiler that ignores the first one is killed, and its files are removed.
func TestSignals_Twice(t *testing.T) {
	dir := kernelFile(t)
	// it holds the pipe of its standard error open in a process of another group, for which the first signal waits
	tool := filepath.Join(t.TempDir(), "gcc")
	lines := "#!/bin/sh\ncase \" $* \" in *\" -shared \"*) setsid sh -c 'echo $$ >$REACHED; exec sleep 600' & wait;; " +
		"esac\nexec gcc \"$@\"\n"
	require.NoError(t, os.WriteFile(tool, []byte(lines), 0o777))
	before := left(t, dir, "k.c", "minus.npy", "one.npy", "two.npy")
	w := await(t, dir, []string{"CC=" + tool}, "pack", "k.c", "--func", negSignature, "-o", "new.so")
	defer func() { _ = syscall.Kill(w.child, syscall.SIGKILL) }()
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	_ = w.cmd.Wait()
	require.Contains(t, []int{130, 143}, w.cmd.ProcessState.ExitCode(), w.stderr.String())
	require.Empty(t, left(t, w.temp))
	require.ElementsMatch(t, before, left(t, dir, before...))
}

// A killed process leaves no temporary file beside its output.
func TestKilled_NoFileBesideTheOutput(t *testing.T) {
	dir := kernelFile(t)
	before := left(t, dir, "k.c", "minus.npy", "one.npy", "two.npy")
	w := await(t, dir, []string{"CC=" + stuck(t, "gcc", "-shared")}, "pack", "k.c", "--func", negSignature, "-o", "new.so")
	require.NoError(t, w.cmd.Process.Kill())
	_ = w.cmd.Wait()
	_ = syscall.Kill(w.child, syscall.SIGKILL)
	must.Get(io.ReadAll(w.family))(t) // other compilers still run, and write to the temporary folder
	require.ElementsMatch(t, before, left(t, dir, before...))
}

// A signal also interrupts a read from standard input.
func TestSignals_WhileReading(t *testing.T) {
	path := must.Get(buildOnce())(t)
	for _, args := range [][]string{{"build", "-", "-o", filepath.Join(t.TempDir(), "x.so")}, {"target", "show", "-"}} {
		cmd := exec.Command(path, args...)
		in := must.Get(cmd.StdinPipe())(t)
		require.NoError(t, cmd.Start())
		_, err := io.WriteString(in, strings.Repeat("# a comment\n", 1<<14)) // more than a pipe holds: it reads
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		require.Error(t, cmd.Wait())
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%v", args)
		_ = in.Close()
	}
}
