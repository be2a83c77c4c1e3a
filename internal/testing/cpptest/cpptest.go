// Package cpptest builds C++ libraries for tests, with the C++ compiler and the headers of the tvm-ffi wheel, which
// build/scripts/deps.sh installs.
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

	"tvmgo/internal/atomicfile"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// wheel returns the folder of tvm-ffi's Python package, or the reason why it is missing.
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
	out, err := exec.Command("sh", filepath.Join(root, "build", "scripts", "deps.sh")).CombinedOutput()
	if err != nil {
		return "", "no C++ compiler, or no wheel of tvm-ffi: build/scripts/deps.sh: " + err.Error() + "\n" + string(out)
	}
	found, _ := filepath.Glob(filepath.Join(root, "build", ".cache", "venv", "lib", "python3*",
		"site-packages", "tvm_ffi"))
	if len(found) != 1 {
		return "", "build/scripts/deps.sh left no wheel of tvm-ffi"
	}
	return found[0], ""
})

// Wheel returns the folder of tvm-ffi's Python package, with include and lib. Without the package the test is skipped,
// or fails on CI.
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

// Library compiles a C++ file to a shared library in dir with the flags of tvm-ffi's own builder, and then the given
// flags; those that begin with -Wl, -l or -L are only for the linker. Equal calls return the same file.
func Library(t testing.TB, dir, source string, flags ...string) string {
	t.Helper()
	var compile, link []string
	for _, flag := range flags {
		if flag == "-ltvm_ffi" {
			machine.Need(t, filepath.Join(Wheel(t), "lib", "libtvm_ffi.so"))
		}
		if strings.HasPrefix(flag, "-Wl,") || strings.HasPrefix(flag, "-l") || strings.HasPrefix(flag, "-L") {
			link = append(link, flag)
		} else {
			compile = append(compile, flag)
		}
	}
	object := compiled(t, source, compile)
	path := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".cc")+"-"+key(object, flags)+".so")
	made(t, path, append(append(append([]string{"-shared", object}, compile...), link...), "-o")...)
	return path
}

// compiled returns the object of a C++ file. Compiling the headers takes seconds, so objects are kept for later tests,
// also of other packages.
func compiled(t testing.TB, source string, flags []string) string {
	t.Helper()
	wheel := Wheel(t)
	text := must.Get(os.ReadFile(source))(t)
	version := must.Get(exec.Command("g++", "--version").Output())(t)
	release := must.Get(os.ReadFile(filepath.Join(wheel, "_version.py")))(t)
	flags = append([]string{"-c", "-std=c++17", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-isystem",
		filepath.Join(wheel, "include"),
		"-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1"}, flags...)
	dir := filepath.Join(wheel, "../../../../../cpptest") // beside the virtual environment, and ignored by git like it
	require.NoError(t, os.MkdirAll(dir, 0o777))
	path := filepath.Join(dir, filepath.Base(source)+"-"+key(string(text)+string(version)+string(release), flags)+".o")
	made(t, path, append(append(flags, source), "-o")...)
	return path
}

func key(what string, flags []string) string {
	sum := sha256.Sum256([]byte(what + "\x00" + strings.Join(flags, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// made runs g++ to make a file unless it exists. Two tests may do so concurrently.
func made(t testing.TB, path string, args ...string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	built := filepath.Join(t.TempDir(), filepath.Base(path))
	out, err := exec.Command("g++", append(args, built)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	data := must.Get(os.ReadFile(built))(t)
	require.NoError(t, atomicfile.Write(path, data, 0o755, atomicfile.ReplaceLinks))
}
