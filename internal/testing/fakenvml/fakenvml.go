// Package fakenvml builds a fake of NVML, the library of nvidia-smi, for tests on machines without a GPU. It has the
// GPUs of package fakecuda, with the same PCI addresses and UUIDs, but in another order.
//
//	t.Setenv("TVMGO_NVML_LIBRARY", fakenvml.Build(t)) // in place of libnvidia-ml.so.1
//
// driver/nvml.c describes the variables of the environment by which tests change values and make calls fail.
package fakenvml

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed driver/nvml.c
var source []byte

// Build compiles the library with flags of the C compiler and returns its path: -DOLD has the names of functions before
// CUDA 12.2, -DWITHOUT_UUID and -DWITHOUT_TEXT lack functions.
func Build(t testing.TB, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	file, library := filepath.Join(dir, "nvml.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	require.NoError(t, os.WriteFile(file, source, 0o666))
	args := append([]string{"-shared", "-fPIC", "-O1", "-Wall", "-Werror", file, "-o", library}, flags...)
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return library
}
