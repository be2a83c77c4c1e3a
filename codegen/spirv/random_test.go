package spirv_test

import (
	"testing"

	"tvmgo/target"
)

// Random programs of package tirgen compute what the interpreter computes, also with native float16.
func TestRandomPrograms(t *testing.T) {
	harness.RandomPrograms(t, 24)
	native := harness
	native.Target = func(t testing.TB, _ ...string) *target.Target {
		return device(t, `{"kind": "vulkan", "host": "c", `+halves+"}")
	}
	native.RandomPrograms(t, 12)
}
