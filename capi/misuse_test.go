package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TVMGO_VALIDATE=1 reports what is done wrong with a device's memory and streams, whatever the device.
func TestMisuse(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "misuse_test", "misuse_test.c", l.linked()...)
	for _, c := range []struct {
		number, name string
		does         []string
		need         func(*testing.T)
	}{
		{"1", "cpu", nil, func(*testing.T) {}},
		{"4", "opencl", []string{"streams", "page-locked memory", "two devices", "stream of another device"}, needOpenCL},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.need(t)
			r := l.run(t, []string{twoDevices, "TVMGO_VALIDATE=1"}, program, c.number, c.name)
			require.True(t, r.ok, r.out)
			for _, what := range c.does {
				require.Contains(t, r.out, what+"\n")
			}
			r = l.run(t, []string{twoDevices, "TVMGO_VALIDATE=1"}, program, c.number, "nothing")
			require.False(t, r.ok, "the program sees a report that does not name the device")
		})
	}
}
