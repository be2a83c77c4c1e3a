package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A function is not a kernel: the error states that, and does not suggest the requested name.
func TestModule_KernelIsNoFunction(t *testing.T) {
	m, err := runtime.NewCSource("int f;", "c", []string{"f"}, nil)
	require.NoError(t, err)
	defer m.Close()
	importer := must.Get(runtime.NewCSource("int g;", "c", []string{"g"}, nil))(t)
	defer importer.Close()
	require.NoError(t, importer.Import(m))
	for _, from := range []*runtime.Module{m, importer} {
		_, err = from.Kernel("f")
		require.ErrorIs(t, err, runtime.ErrNotFound)
		require.ErrorContains(t, err, `"f" is a function, not a kernel of a device module: Module.Function returns it`)
	}
	require.ErrorContains(t, must.Fail(importer.Kernel("gg")), `has no function "gg"; did you mean "g"?`)
}
