package main_test

import (
	"testing"
)

// Programs in C that use every function of an ABI with good and with bad input.
func TestABI(t *testing.T) {
	for _, name := range []string{"classic_abi", "ffi_abi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			program := l.compile(t, name, name+"_*.c", l.linked()...)
			l.runOK(t, nil, program)
			l.runOK(t, []string{"LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"}, program)
		})
	}
}

// Every module for the CPU gives Apache TVM's output through both C ABIs, and its own errors.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "artifact_test", "artifact_test.c", l.linked()...)
	all := []string{"addone", "vadd", "matmul", "softmax"}
	for file, functions := range map[string][]string{
		l.modern("addone_llvm"):  {"addone"},
		l.modern("multi_llvm"):   all,
		l.modern("multi_c"):      all,
		l.classic("addone_llvm"): {"addone"},
		l.classic("multi_llvm"):  all,
	} {
		for _, env := range [][]string{nil, {"LD_BIND_NOW=1"}, {"TVMGO_PRIVATE_LOAD=1"}} {
			l.runOK(t, env, append([]string{program, file, l.path("artifacts")}, functions...)...)
		}
	}
}
