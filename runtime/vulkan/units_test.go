package vulkan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The choice of memory on made-up machines, hazards against a plain twin, and places in blocks: C, with a driver that
// is made up.
func TestUnits(t *testing.T) {
	needSources(t, "memory_type.c")
	program := filepath.Join(t.TempDir(), "units")
	_, err := os.ReadFile("testdata/units.c") // go test notes by this that a change of it counts
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
