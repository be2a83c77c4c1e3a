//go:build cgo

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// countingCC makes a compiler that appends its arguments to a file.
func countingCC(t *testing.T) (tool, calls string) {
	t.Helper()
	dir := t.TempDir()
	tool, calls = filepath.Join(dir, "cc"), filepath.Join(dir, "calls")
	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\necho \" $* \" >>"+calls+"\nexec gcc \"$@\"\n"), 0o777))
	return tool, calls
}

// A second compilation of a model compiles no C: the compiler only assembles the weights and links.
func TestCompile_Cached(t *testing.T) {
	tvmgo := must.Get(buildOnce())(t)
	path, dir, cache := writeModel(t, layerModel()), t.TempDir(), t.TempDir()
	tool, calls := countingCC(t)
	var made [][]byte
	for k := range 2 {
		require.NoError(t, os.RemoveAll(calls))
		cmd := exec.Command(tvmgo, "compile", path, "-o", "model.so", "-v")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CC="+tool, "TVMGO_CACHE_DIR="+cache)
		report := string(must.Get(cmd.CombinedOutput())(t))
		compiled := 0
		for line := range strings.Lines(string(must.Get(os.ReadFile(calls))(t))) {
			if strings.Contains(line, " -x c ") || strings.Contains(line, ".c ") {
				compiled++
			}
		}
		made = append(made, must.Get(os.ReadFile(filepath.Join(dir, "model.so")))(t))
		if k == 0 {
			require.Positive(t, compiled)
			require.Regexp(t, `total: \d+\.\d\d s, 1 kernel, \d files made, 0 from the cache\n`, report)
		} else {
			require.Zero(t, compiled)
			require.Contains(t, report, "  lib0.o (cached): ")
		}
		for _, line := range []string{`read .*model\.onnx: `, `  pass fold: `, `simplify 2 nodes: `,
			`  kernel fused_matmul_relu: `, `schedule 2 nodes: `, `generate code of 1 kernels for c: `,
			`  devc\.o: `, `compile and link model\.so: `} {
			require.Regexp(t, regexp.MustCompile(`(?m)^`+line+`\d+\.\d+ s$`), report)
		}
	}
	require.Equal(t, made[0], made[1])
}

// A compilation that is interrupted leaves existing files unchanged, and no new ones.
func TestCompile_Interrupted(t *testing.T) {
	tvmgo := must.Get(buildOnce())(t)
	path := writeModel(t, layerModel())
	for _, at := range []string{"-c", "-shared"} {
		dir, temp := t.TempDir(), t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "model.so"), []byte("old"), 0o600))
		tool, reached := slowTool(t, "gcc", at)
		cmd := exec.Command(tvmgo, "compile", path, "-o", "model.so", "--params", "w.npz")
		var stderr bytes.Buffer
		cmd.Dir, cmd.Stderr = dir, &stderr
		cmd.Env = append(os.Environ(), "CC="+tool, "TMPDIR="+temp, "TVMGO_CACHE_DIR=off")
		require.NoError(t, cmd.Start())
		must.Get(os.ReadFile(reached))(t) // waits until it is there
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		require.Error(t, cmd.Wait())
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), stderr.String())
		require.Equal(t, "tvmgo: compile: interrupt: nothing was written\n", stderr.String())
		require.Equal(t, "old", string(must.Get(os.ReadFile(filepath.Join(dir, "model.so")))(t)))
		for folder, n := range map[string]int{dir: 1, temp: 0} {
			require.Len(t, must.Get(os.ReadDir(folder))(t), n, at)
		}
	}
}

// What the machine lacks is an error that says what to do, and leaves no file.
func TestCompile_Machine(t *testing.T) {
	tvmgo := must.Get(buildOnce())(t)
	path := writeModel(t, layerModel())
	for _, c := range []struct{ setup, env, output, want string }{
		{"", "CC=absent", "m.so", `the compiler "absent" of the environment variable CC`},
		{"", "PATH=/absent", "m.so", "none of cc, gcc, clang is in PATH: install a C compiler"},
		{`trap "" XFSZ; ulimit -f 8;`, "", "m.so", "file too large"}, // as a full disk, in the folder of the sources
		{"", "", "absent/m.so", "absent does not exist: make it first"},
		{"", "", "/proc/m.so", "no file can be made in the folder /proc"},
		{"ln -s /dev/full m.so;", "", "m.so", "there is something of this name that is no ordinary file"},
	} {
		dir, temp := t.TempDir(), t.TempDir()
		cmd := exec.Command("/bin/sh", "-c", c.setup+` exec "$0" compile "$@"`, tvmgo, path, "-o", c.output)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temp, "TVMGO_CACHE_DIR=off", "CC=", c.env)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), string(out))
		require.Contains(t, string(out), c.want)
		require.Equal(t, 1, strings.Count(string(out), "\n"), string(out))
		entries := must.Get(os.ReadDir(dir))(t)
		if strings.HasPrefix(c.setup, "ln ") {
			entries = entries[1:]
		}
		require.Empty(t, append(entries, must.Get(os.ReadDir(temp))(t)...), fmt.Sprint(c))
	}
}
