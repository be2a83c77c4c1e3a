//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands pack and run shaders.
func TestRun_VulkanShaders(t *testing.T) {
	env := []string{"TVMGO_CACHE_DIR=" + t.TempDir()}
	if f := doctor(t, env...)["vulkan"]; len(f.Devices) == 0 {
		require.Empty(t, os.Getenv("CI"), f.Verdict)
		t.Skip("there is no Vulkan device: ", f.Verdict)
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "shaders.so"), filepath.Join(dir, "out.npy")
	status, _, stderr := builtWith(t, ".", env, "pack", "../../runtime/vulkan/testdata/artifacts.spv", "-o", file,
		"--func", "vadd=vadd_kernel(float32[n], float32[n], inout float32[n]) launch blockIdx.x=n")
	require.Zero(t, status, stderr)
	args := append([]string{"run", file, "vadd", "--device", "vulkan:0", "--out", out, "--like", "float32[1001]"},
		inputsOf(t, "vadd")...)
	status, stdout, stderr := builtWith(t, ".", env, args...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "vadd of "+file+" ran on vulkan:0")
	requireClose(t, floats(t, filepath.Join(artifacts, "vadd_out.npy")), floats(t, out), "vadd")
}
