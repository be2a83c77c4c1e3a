//go:build cgo

package globals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// This program does not import the package with these functions' bodies; the errors name the package.
func TestFunctionsWithoutBody(t *testing.T) {
	for _, name := range []string{"runtime.ModulePackImportsToC", "runtime.ModulePackImportsToLLVM",
		"runtime.ModulePackImportsToTensor",
		"runtime.ModulePackImportsToNDArray", "runtime.ModuleImportsBlobName"} {
		f := must.Get(runtime.Global(name))(t)
		_, err := f.Call()
		require.ErrorIs(t, err, runtime.ErrNotSupported)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "import tvmgo/export")
		require.NoError(t, f.Close())
	}
}
