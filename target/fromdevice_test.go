package target_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// A program that imports only this package has no devices: from_device gives a warning, and the defaults are used.
func TestFromDevice_WithoutRuntime(t *testing.T) {
	plain := must.Get(target.New("vulkan"))(t)
	for _, x := range []string{"vulkan -from_device=0", `{"kind":"vulkan","from_device":7}`} {
		asked := must.Get(target.New(x))(t)
		require.Len(t, asked.Warnings(), 1)
		require.Contains(t, asked.Warnings()[0], "from_device: this program has no API for vulkan devices")
		require.True(t, plain.Equal(asked))
	}
	none := must.Get(target.New("vulkan -from_device=-1"))(t)
	require.Empty(t, none.Warnings())
}

// The package depends neither on C nor on package runtime, which imports it.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, dep := range strings.Fields(string(out)) {
		require.NotEqual(t, "runtime/cgo", dep)
		require.False(t, strings.HasPrefix(dep, "tvmgo/runtime"), dep)
	}
}
