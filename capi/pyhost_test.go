package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Python program with only ctypes and numpy, without Apache TVM, is a valid host.
func TestPythonHost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	for _, c := range []struct {
		program string
		args    []string
		env     string
	}{
		{program: "modules", args: append([]string{l.path("artifacts")}, l.computing()...)},
		{program: "modules", args: append([]string{l.path("artifacts")}, l.computing()...), env: "TVMGO_PRIVATE_LOAD=1"},
		{program: "modules", args: append([]string{l.path("artifacts")}, l.computing()...), env: "LD_BIND_NOW=1"},
		{program: "tensors", args: []string{l.modern("multi_c")}},
		{program: "callbacks", args: []string{l.modern("multi_c")}},
		{program: "callbacks", args: []string{l.modern("multi_llvm")}},
		{program: "signals", args: []string{l.carrier()}},
	} {
		t.Run(strings.TrimSpace(c.program+" "+c.env), func(t *testing.T) {
			t.Parallel()
			args := append([]string{python, "-B", l.path("src", "pyhost", c.program+".py"), l.library()}, c.args...)
			l.runOK(t, append(strings.Fields(c.env), env...), args...)
		})
	}
}

// The Python example runs in a separate folder with the given library, and reports each error in one line.
func TestPythonHost_Example(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	script, kernel := l.path("bin", "main.py"), l.path("bin", "add_py.so")
	require.NoError(t, copyFiles(l.path("bin"), filepath.Join(l.root, "examples", "deploy_py", "main.py"),
		filepath.Join(l.root, "examples", "kernel", "add.c")))
	r := l.run(t, nil, "cc", "-O2", "-shared", "-fPIC", "-I"+l.path("include"), l.path("bin", "add.c"), "-o", kernel)
	require.True(t, r.ok, r.out)
	env = append(env, "TVMGO_LIBRARY="+l.library())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{kernel}, "added 1024 elements, and all are right"},
		{[]string{kernel, "add", "1"}, "added 1 elements"},
		{[]string{l.modern("multi_c"), "vadd"}, "all are right"},
		{[]string{l.modern("multi_llvm"), "vadd"}, "all are right"},
		{[]string{l.classic("multi_llvm"), "vadd"}, "all are right"},
		{nil, "exit status 2"},
		{[]string{kernel, "absent"}, `main.py: the module has no function "absent"`},
		{[]string{kernel, "add", "4", "xpu:0"}, "main.py: xpu is no device: give one of cpu, cuda"},
		{[]string{l.path("bin", "absent.so")}, "main.py: NotFoundError: "},
	} {
		r := l.run(t, env, append([]string{python, "-B", script}, c.args...)...)
		require.Contains(t, r.out, c.want)
		require.Equal(t, strings.Contains(c.want, "right") || strings.Contains(c.want, "added"), r.ok, r.out)
		require.NotContains(t, r.out, "Traceback")
	}
}

// copyFiles copies files into a folder.
func copyFiles(dir string, files ...string) error {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The traceback of an error in a Python callback includes the callers of the callback.
func TestPythonHost_Backtrace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	frames := l.path("bin", "backtrace.so")
	args := []string{"g++", "-std=c++17", "-O1", "-g", "-shared", "-fPIC", "-I" + l.path("include"), "-o", frames,
		l.path("src", "pyhost", "backtrace.cc")}
	r := l.run(t, nil, append(args, l.linked()...)...)
	require.True(t, r.ok, r.out)
	l.runOK(t, env, python, "-B", l.path("src", "pyhost", "backtrace.py"), l.library(), frames)
}
