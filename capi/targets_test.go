package main_test

import (
	"testing"

	"tvmgo/internal/testing/machine"
)

// Targets in C, through both C ABIs: functions, objects, current targets. Everything is freed at the end.
func TestTargets(t *testing.T) {
	machine.NeedX86(t)
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "targets_test", "targets_test.c", l.linked()...)
	l.runOK(t, nil, program)
	l.runOK(t, []string{"LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"}, program)
}
