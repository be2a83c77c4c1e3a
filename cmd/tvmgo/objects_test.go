//go:build cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestObjects builds an object, and inspects and runs it: alone, and in archives as Apache TVM exports them.
func TestObjects(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "add.tir"), []byte(addProgram), 0o600))
	status, _, stderr := built(t, dir, "build", "add.tir", "-o", "add.o")
	require.Zero(t, status, stderr)
	for _, args := range [][]string{{"-cf", "add.tar", "add.o"}, {"-czf", "packed.tar", "add.o"}} {
		tar := exec.Command("tar", args...)
		tar.Dir = dir
		out, err := tar.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	x := npyFile(t, []int64{3}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40}) // 1, 2, 3
	for _, file := range []string{"add.o", "add.tar", "packed.tar"} {
		status, stdout, stderr := built(t, dir, "inspect", file)
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, "functions        add (safe_call, metadata)", file)
		status, stdout, stderr = built(t, dir, "run", file, "add", "--in", x, "--in", x, "--out", "sum.npy", "--like",
			"float32[3]")
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, "add of "+file+" ran on cpu:0")
		require.Equal(t, []float32{2, 4, 6}, floats(t, filepath.Join(dir, "sum.npy")), file)
		require.NoError(t, os.Remove(filepath.Join(dir, "sum.npy")))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.tar"), []byte("no archive"), 0o600))
	for _, command := range [][]string{{"inspect", "bad.tar"}, {"run", "bad.tar", "add"}} {
		status, _, stderr := built(t, dir, command...)
		require.Equal(t, 1, status)
		require.Contains(t, stderr, "bad.tar: ")
	}
}
