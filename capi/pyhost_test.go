package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Python with ctypes and numpy alone is a host like any other: nothing of Apache TVM is imported.
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

// What raises an error below a Python callback sees who called above it.
func TestPythonHost_Backtrace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	frames := l.path("bin", "backtrace.so")
	args := []string{"g++", "-std=c++17", "-O1", "-g", "-shared", "-fPIC", "-I" + l.path("include"), "-o", frames, l.path("src", "pyhost", "backtrace.cc")}
	r := l.run(t, nil, append(args, l.linked()...)...)
	require.True(t, r.ok, r.out)
	l.runOK(t, env, python, "-B", l.path("src", "pyhost", "backtrace.py"), l.library(), frames)
}
