// Package wheel runs Python with Apache TVM's wheels, for tests that compare with the results of Apache TVM.
package wheel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tvmgo/internal/testing/machine"
)

// install installs the wheels if they are missing, once per process, and returns the Python interpreter that has them.
var install = sync.OnceValues(func() (python string, err error) {
	root, err := projectRoot()
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("sh", filepath.Join(root, "build", "scripts", "deps.sh")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("no Python with Apache TVM's wheels: build/scripts/deps.sh: %w\n%s", err, out)
	}
	return filepath.Join(root, "build", ".cache", "venv", "bin", "python"), nil
})

// projectRoot returns the folder that contains go.mod, above the test's folder.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod in any folder above the test's")
		}
	}
	return "", err
}

// Root returns the folder that contains go.mod.
func Root(t testing.TB) string {
	t.Helper()
	root, err := projectRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Command returns a Python command that writes no compiled files. If the wheels are missing, the test is skipped; on CI
// it fails.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	python, err := install()
	if err != nil {
		if os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return exec.Command(python, append([]string{"-B"}, args...)...)
}

// NeedSameMachine skips a test in which Python loads libraries for this process's machine, if Python is for another.
func NeedSameMachine(t testing.TB) {
	t.Helper()
	python := Command(t).Path
	if file, err := filepath.EvalSymlinks(python); err == nil {
		python = file
	}
	machine.Need(t, python)
}

// Run runs a script and returns its standard output. Its standard input is in, unless in is nil. If it fails,
// the test shows the end of its standard error.
func Run(t testing.TB, in io.Reader, args ...string) []byte {
	t.Helper()
	return Output(t, Command(t, args...), in)
}

// Output is like Run, but for a command that Command returned, for example with a changed environment.
func Output(t testing.TB, cmd *exec.Cmd, in io.Reader) []byte {
	t.Helper()
	var messages bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &messages
	out, err := cmd.Output()
	if err != nil {
		text := messages.Bytes()
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, text[max(0, len(text)-4000):])
	}
	return out
}
