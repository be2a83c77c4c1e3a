package main_test

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// C programs use all functions of an ABI, with valid and with invalid input.
func TestABI(t *testing.T) {
	l := newLab(t)
	var used []string
	for _, name := range []string{"classic_abi", "ffi_abi"} {
		program := l.compile(t, name, name+"_*.c", l.linked()...)
		used = append(used, imported(t, program)...)
		t.Run(name, func(t *testing.T) {
			l.runOK(t, nil, program)
			l.runOK(t, []string{"LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"}, program)
		})
	}
	// Wrong results and arguments, with validation and thus checks of every call.
	l.runOK(t, []string{"TVMGO_VALIDATE=1"}, l.path("bin", "ffi_abi"), "results")
	slices.Sort(used)
	require.Equal(t, exported(t), slices.Compact(used), "functions that no program uses")
}

// imported returns the names of the library's functions that a program refers to.
func imported(t *testing.T, program string) []string {
	t.Helper()
	f := must.Get(elf.Open(program))(t)
	defer f.Close()
	symbols := must.Get(f.ImportedSymbols())(t)
	var names []string
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "TVM") || strings.HasPrefix(s.Name, "tvmgo_") {
			names = append(names, s.Name)
		}
	}
	return names
}

// Every CPU module has Apache TVM's output through both C ABIs, and reports its own errors.
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
