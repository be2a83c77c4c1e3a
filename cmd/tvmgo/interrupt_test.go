//go:build cgo

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// slowTool makes a compiler that stops at a certain argument, after it has reported through a pipe.
func slowTool(t *testing.T, real, at string) (tool, reached string) {
	t.Helper()
	dir := t.TempDir()
	tool, reached = filepath.Join(dir, real), filepath.Join(dir, "reached")
	require.NoError(t, syscall.Mkfifo(reached, 0o600))
	lines := "#!/bin/sh\ncase \" $* \" in *\" " + at + " \"*) echo here >" + reached + "; exec sleep 600;; esac\nexec " +
		real + " \"$@\"\n"
	require.NoError(t, os.WriteFile(tool, []byte(lines), 0o777))
	return tool, reached
}

// A build that is interrupted while it compiles or links leaves the existing files unchanged, and no new ones.
func TestBuild_Interrupted(t *testing.T) {
	needLLVM(t)
	path := must.Get(buildOnce())(t)
	for _, row := range []struct {
		tool, at, variable, target, output string
		signal                             syscall.Signal
		status                             int
	}{
		{"gcc", "-c", "CC", "c", "two.so", syscall.SIGINT, 130},
		{"gcc", "-shared", "CC", "c", "two.so", syscall.SIGTERM, 143},
		{"clang", "-std=gnu11", "TVMGO_CLANG", "llvm", "two.so", syscall.SIGINT, 130},
		{"clang", "-emit-llvm", "TVMGO_CLANG", "llvm", "two.ll", syscall.SIGINT, 130},
	} {
		dir, temp := programs(t), t.TempDir()
		output := filepath.Join(dir, row.output)
		require.NoError(t, os.WriteFile(output, []byte("old"), 0o600))
		tool, reached := slowTool(t, row.tool, row.at)
		args := []string{"build", "two.tir", "-o", row.output, "--target", row.target}
		if strings.HasSuffix(row.output, ".ll") {
			args = append(args, "--emit", "ll")
		}
		cmd := exec.Command(path, args...)
		var stderr bytes.Buffer
		cmd.Dir, cmd.Stderr = dir, &stderr
		cmd.Env = append(os.Environ(), row.variable+"="+tool, "TMPDIR="+temp)
		require.NoError(t, cmd.Start())
		_, err := os.ReadFile(reached) // waits until it is there
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(row.signal))
		require.Error(t, cmd.Wait())
		require.Equal(t, row.status, cmd.ProcessState.ExitCode(), "%v: %s", row, stderr.String())
		require.Equal(t, fmt.Sprintf("tvmgo: build: %v: nothing was written\n", row.signal), stderr.String())
		require.Equal(t, "old", string(must.Get(os.ReadFile(output))(t)))
		for folder, n := range map[string]int{dir: 3, temp: 0} {
			require.Len(t, must.Get(os.ReadDir(folder))(t), n, "%v", row)
		}
	}
}

// terminal opens both ends of a terminal.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	var n, unlocked int32
	for request, value := range map[uintptr]*int32{syscall.TIOCGPTN: &n, syscall.TIOCSPTLCK: &unlocked} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(value)))
		require.Zero(t, errno)
	}
	theirs = must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

// On a terminal, the line of a stage is shown while the stage lasts, and is removed afterwards.
func TestBuild_ProgressOnTerminal(t *testing.T) {
	path := must.Get(buildOnce())(t)
	dir := programs(t)
	slow := filepath.Join(t.TempDir(), "cc")
	seen := filepath.Join(t.TempDir(), "seen")
	require.NoError(t, syscall.Mkfifo(seen, 0o600))
	require.NoError(t, os.WriteFile(slow,
		[]byte("#!/bin/sh\ncase \" $* \" in *\" -shared \"*) read x <"+seen+";; esac\nexec gcc \"$@\"\n"), 0o777))
	ours, theirs := terminal(t)
	cmd := exec.Command(path, "build", "two.tir", "-o", "two.so")
	var stdout bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &stdout, theirs, append(os.Environ(), "CC="+slow)
	require.NoError(t, cmd.Start())
	const shown = "\r\x1b[Kcompile and link two.so … 0 s"
	var text []byte
	for buf := make([]byte, 1000); !strings.Contains(string(text), shown); {
		n := must.Get(ours.Read(buf))(t)
		text = append(text, buf[:n]...)
	}
	require.NoError(t, os.WriteFile(seen, []byte("go on\n"), 0o600))
	require.NoError(t, cmd.Wait())
	require.Equal(t, "wrote two.so\n", stdout.String())
	must.Get(theirs.WriteString("|"))(t)
	for buf := make([]byte, 1000); !bytes.HasSuffix(text, []byte("|")); {
		n := must.Get(ours.Read(buf))(t)
		text = append(text, buf[:n]...)
	}
	require.True(t, strings.HasSuffix(string(text), "\r\x1b[K|"), "%q", text)
}
