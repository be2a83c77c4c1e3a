package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A device that a C program registers passes the C part of the suite. Devices with deliberate mistakes fail in the part
// that tests for the mistake.
func TestOwnDevice(t *testing.T) {
	l := newLab(t)
	program := l.compile(t, "own_device_test", "own_device_*.c", l.linked()...)
	l.runOK(t, nil, program)
	l.runOK(t, []string{"TVMGO_VALIDATE=1"}, program)
	for _, c := range []struct{ mutant, part string }{
		{"every index exists", "attributes"},
		{"a number is a float", "attributes"},
		{"memory is not aligned", "allocation"},
		{"out of memory is any error", "allocation"},
		{"freed memory is still counted", "allocation"},
		{"copies ignore the source's offset", "copies"},
		{"copies ignore the destination's offset", "copies"},
		{"the host's memory is read late", "host memory"},
		{"copies to the host are not waited for", "host memory"},
		{"one stream does not wait for another", "streams"},
		{"waiting waits for nothing", "workspaces"},
		{"events are reached at once", "workspaces"},
		{"timers give 0", "events and timers"},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			r := l.run(t, nil, program, c.mutant)
			require.False(t, r.ok, r.out)
			require.Contains(t, r.out, "FAILED: "+c.part)
		})
	}
}
