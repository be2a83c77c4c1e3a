package runtime_test

import (
	"testing"

	"tvmgo/runtime"
)

// This program does not import what these functions need, and they say so.
func TestHooked_WithoutBody(t *testing.T) {
	for _, name := range []string{"runtime.ModulePackImportsToC", "runtime.ModulePackImportsToLLVM", "runtime.ModulePackImportsToTensor",
		"runtime.ModulePackImportsToNDArray", "runtime.ModuleImportsBlobName"} {
		_, err := global(t, name).Call()
		requireError(t, err, runtime.ErrNotSupported, name, "import tvmgo/export")
	}
}
