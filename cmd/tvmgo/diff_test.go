package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/cmd/tvmgo/internal/unpack"
	"tvmgo/internal/testing/must"
)

func TestDiff(t *testing.T) {
	a, b := filepath.Join(artifacts, "modern/gpu_cuda.so"), filepath.Join(artifacts, "modern/gpu_cuda_ptx.so")
	status, stdout, stderr := built(t, ".", "diff", a, a)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "\nsame\n")

	status, stdout, stderr = built(t, ".", "diff", a, b)
	require.Equal(t, 1, status)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "~ [1] cuda: format: cubin -> ptx\n")

	status, stdout, stderr = cli("diff", "--json", a, b)
	require.Equal(t, 1, status)
	require.Empty(t, stderr)
	var d unpack.Comparison
	require.NoError(t, json.Unmarshal([]byte(stdout), &d))
	require.False(t, d.Same)
	require.Equal(t, "format", d.Differences[0].What)
	require.Equal(t, "ptx", *d.Differences[0].B)
}

// Files that cannot be compared are neither equal nor different.
func TestDiff_Trouble(t *testing.T) {
	whole := filepath.Join(artifacts, "classic/gpu_opencl.so")
	status, _, stderr := cli("diff", whole, "none.so")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: diff none.so: no such file: check the path\n", stderr)

	data := must.Get(os.ReadFile(whole))(t)
	path := filepath.Join(t.TempDir(), "x.so")
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(data, []byte("opencl"), []byte("opencx")), 0o644))
	status, stdout, stderr := cli("diff", path, path)
	require.Equal(t, 1, status)
	require.Contains(t, stdout, "PROBLEM of b: ")
	require.Contains(t, stderr, "only in part: 2 problems, the first: ")

	status, _, _ = cli("diff", whole)
	require.Equal(t, 2, status)
}
