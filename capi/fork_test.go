package main_test

import "testing"

// In a child of fork, functions that need Go or the dynamic linker return an error; those in C work.
func TestFork(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "fork_test", "fork_test.c", l.linked()...)
	for _, what := range []string{"once", "busy", "first", "loads", "system", "exec"} {
		for _, file := range []string{l.modern("multi_c"), l.classic("addone_llvm")} {
			l.runOK(t, nil, program, what, file, l.carrier())
		}
	}
}
