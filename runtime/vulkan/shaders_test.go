package vulkan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The binary shaders in testdata are up to date with their sources, and valid.
func TestShaders_AreAssembled(t *testing.T) {
	for _, tool := range []string{"spirv-as", "spirv-val"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(tool + " is not installed: spirv-tools")
		}
	}
	sources, err := filepath.Glob("testdata/*.spvasm")
	require.NoError(t, err)
	codes, err := filepath.Glob("testdata/*.spv")
	require.NoError(t, err)
	require.Len(t, codes, len(sources))
	const example = "../../examples/kernel/add.spvasm"
	for _, source := range append(sources, example) {
		target := "vulkan1.0"
		switch {
		case strings.HasSuffix(source, "subgroup.spvasm"):
			target = "vulkan1.1" // the first version with subgroup operations
		case strings.HasSuffix(source, "sizeid.spvasm"):
			target = "vulkan1.3" // the first version with LocalSizeId
		case source == example:
			target = "spv1.3" // storage buffers without an extension
		}
		made := filepath.Join(t.TempDir(), "made.spv")
		out, err := exec.Command("spirv-as", "--target-env", target, "-o", made, source).CombinedOutput()
		require.NoError(t, err, "%s: %s", source, out)
		out, err = exec.Command("spirv-val", "--target-env", target, made).CombinedOutput()
		require.NoError(t, err, "%s: %s", source, out)
		want, err := os.ReadFile(made)
		require.NoError(t, err)
		have, err := os.ReadFile(strings.TrimSuffix(source, "asm"))
		require.NoError(t, err)
		require.Equal(t, want, have, "the .spv file of %s differs from the output of spirv-as", source)
	}
}
