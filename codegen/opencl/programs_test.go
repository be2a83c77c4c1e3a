package opencl_test

import (
	"fmt"
	"testing"

	_ "tvmgo/codegen/opencl"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

func device(t testing.TB, source string) *target.Target {
	t.Helper()
	return must.Get(target.New(source))(t)
}

// clTarget is the target of the tests: OpenCL, with C for the host.
func clTarget(t testing.TB, options ...string) *target.Target {
	text := `{"kind": "opencl", "host": {"kind": "c"}`
	for _, o := range options {
		text += fmt.Sprintf(", %q: true", o)
	}
	return device(t, text+"}")
}
