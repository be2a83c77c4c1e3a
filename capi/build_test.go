package main_test

import (
	"testing"

	"tvmgo/internal/testing/machine"
)

// C programs build programs by global functions, which exist from the first call.
func TestBuild(t *testing.T) {
	machine.NeedX86(t)
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "build_test", "build_test.c", l.linked()...)
	for _, first := range []string{"target.build.c", "target.build.llvm"} {
		l.runOK(t, []string{"TVMGO_CACHE_DIR=off", "TMPDIR=" + l.path("bin")}, program, first)
	}
}
