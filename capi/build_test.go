package main_test

import "testing"

// Programs are built in C, by global functions that are there at C's first call.
func TestBuild(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "build_test", "build_test.c", l.linked()...)
	for _, first := range []string{"target.build.c", "target.build.llvm"} {
		l.runOK(t, []string{"TVMGO_CACHE_DIR=off", "TMPDIR=" + l.path("bin")}, program, first)
	}
}
