package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// A function is no kernel: the error says so, and does not suggest the name that was asked for.
func TestModule_KernelIsNoFunction(t *testing.T) {
	m, err := runtime.NewCSource("int f;", "c", []string{"f"}, nil)
	require.NoError(t, err)
	defer m.Close()
	importer, err := runtime.NewCSource("int g;", "c", []string{"g"}, nil)
	require.NoError(t, err)
	defer importer.Close()
	require.NoError(t, importer.Import(m))
	for _, from := range []*runtime.Module{m, importer} {
		_, err = from.Kernel("f")
		require.ErrorIs(t, err, runtime.ErrNotFound)
		require.ErrorContains(t, err, `"f" is a function, not a kernel of a device module: Module.Function returns it`)
	}
	_, err = importer.Kernel("gg")
	require.ErrorContains(t, err, `has no function "gg"; did you mean "g"?`)
}
