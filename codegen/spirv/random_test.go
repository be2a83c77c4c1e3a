package spirv_test

import "testing"

// Random programs of package tirgen compute what the interpreter computes.
func TestRandomPrograms(t *testing.T) { harness.RandomPrograms(t, 24) }
