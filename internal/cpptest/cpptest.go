// Package cpptest builds libraries for tests as producers of C++ kernels do: with the C++ compiler, on
// the headers of the tvm-ffi wheel, which build/deps.sh installs.
package cpptest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// wheel is the folder of tvm-ffi's Python package; the reason when it cannot be had.
var wheel = sync.OnceValues(func() (dir, problem string) {
	root, err := filepath.Abs(".")
	for ; err == nil; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return "", "no go.mod above the test's folder"
		}
	}
	out, err := exec.Command("sh", filepath.Join(root, "build", "deps.sh")).CombinedOutput()
	if err != nil {
		return "", "no C++ compiler, or no wheel of tvm-ffi: build/deps.sh: " + err.Error() + "\n" + string(out)
	}
	found, _ := filepath.Glob(filepath.Join(root, "build", ".cache", "venv", "lib", "python3*", "site-packages", "tvm_ffi"))
	if len(found) != 1 {
		return "", "build/deps.sh left no wheel of tvm-ffi"
	}
	return found[0], ""
})

// Wheel is the folder of tvm-ffi's Python package, with include and lib. Without one the test is
// skipped, or fails on CI.
func Wheel(t testing.TB) string {
	t.Helper()
	dir, problem := wheel()
	if problem != "" {
		if os.Getenv("CI") != "" {
			t.Fatal(problem)
		}
		t.Skip(problem)
	}
	return dir
}

// Library compiles a C++ file to a shared library in dir with the flags of tvm-ffi's own builder, then
// the given ones. Equal calls give one file.
func Library(t testing.TB, dir, source string, flags ...string) string {
	t.Helper()
	include := filepath.Join(Wheel(t), "include")
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	sum := sha256.Sum256(append(text, strings.Join(flags, "\x00")...))
	path := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".cc")+"-"+hex.EncodeToString(sum[:8])+".so")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := []string{"-shared", "-std=c++17", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-isystem", include,
		"-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1", source, "-o", path + ".new"}
	out, err := exec.Command("g++", append(args, flags...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Rename(path+".new", path))
	return path
}
