package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TVMGO_VALIDATE=1 reports misuse of a device's memory and streams, for every device.
func TestMisuse(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "misuse_test", "misuse_test.c", l.linked()...)
	everything := []string{"streams", "page-locked memory", "two devices", "stream of another device"}
	for _, c := range []struct {
		number, name string
		does         []string
		env          func(*testing.T, *lab) []string
	}{
		{"1", "cpu", nil, func(*testing.T, *lab) []string { return nil }},
		{"2", "cuda", everything, cuda},
		{"4", "opencl", everything, openCL},
		{"7", "vulkan", everything[1:], vulkan}, // the first device has one queue, so it has no streams
	} {
		t.Run(c.name, func(t *testing.T) {
			env := append(c.env(t, l), "TVMGO_VALIDATE=1", "FAKECUDA_LEAKS=0") // freed memory is kept for a while
			r := l.run(t, env, program, c.number, c.name)
			require.True(t, r.ok, r.out)
			for _, what := range c.does {
				require.Contains(t, r.out, what+"\n")
			}
			r = l.run(t, env, program, c.number, "nothing")
			require.False(t, r.ok, "the program sees a report that does not name the device")
		})
	}
}
