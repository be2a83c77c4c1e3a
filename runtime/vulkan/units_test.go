package vulkan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests in C, with a fake driver: the choice of memory types on fake machines, hazards compared with a simple
// implementation, and suballocation in blocks.
func TestUnits(t *testing.T) {
	needSources(t, "memory_type.c")
	program := filepath.Join(t.TempDir(), "units")
	_, err := os.ReadFile("testdata/units.c") // makes go test rerun the tests if the file changes
	require.NoError(t, err)
	out, err := exec.Command("cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Werror", "-fsanitize=address,undefined",
		"-I../../internal/core", "-I../../internal/backend", "-I../../internal/kernels",
		"-I../../include", "-I../../build/include", "testdata/units.c", "memory_type.c", "hazard.c", "block.c", "-o", program,
		"-lpthread").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "ok\n", string(out))
}
