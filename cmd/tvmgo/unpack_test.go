package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/cmd/tvmgo/internal/unpack"
	"tvmgo/internal/testing/must"
)

func TestUnpack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	library := filepath.Join(artifacts, "modern/gpu_opencl.so")
	status, stdout, stderr := built(t, ".", "unpack", library, dir)
	require.Zero(t, status, stderr)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "4 files, 2 modules")
	require.Contains(t, stdout, "3477  1.opencl.cl  (code of opencl)")
	require.Contains(t, string(must.Get(os.ReadFile(filepath.Join(dir, "1.opencl.cl")))(t)), "// Function: ")

	status, _, stderr = cli("unpack", library, dir)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "not empty")
	require.Contains(t, stderr, "give --force")

	status, stdout, stderr = cli("unpack", "--json", "--force", library, dir)
	require.Zero(t, status, stderr)
	var summary unpack.Summary
	require.NoError(t, json.Unmarshal([]byte(stdout), &summary))
	require.Len(t, summary.Files, 4)
	require.Equal(t, unpack.TreeFile, summary.Files[3].Name)
	require.Equal(t, 1, *summary.Files[0].Module)
}

// A damaged file is unpacked as far as it can be read, and the command fails.
func TestUnpack_Problem(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(artifacts, "classic/gpu_opencl.so")))(t)
	outer := t.TempDir()
	path, dir := filepath.Join(outer, "x.so"), filepath.Join(outer, "out")
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(data, []byte("opencl"), []byte("opencx")), 0o644))
	status, stdout, stderr := cli("unpack", path, dir)
	require.Equal(t, 1, status)
	require.Contains(t, stdout, "PROBLEM")
	require.Contains(t, stderr, "only in part: 1 problems, the first: ")
	require.FileExists(t, filepath.Join(dir, unpack.BlobFile))
}

// limited runs a command line in which a file can have at most this number of blocks, as on a full disk.
func limited(t *testing.T, blocks string, args ...string) (status int, stderr string) {
	t.Helper()
	path := must.Get(buildOnce())(t)
	var errs bytes.Buffer
	cmd := exec.Command("sh", append([]string{"-c", `trap "" XFSZ; ulimit -f ` + blocks + `; exec "$0" "$@"`, path},
		args...)...)
	cmd.Stderr = &errs
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}

// If one file does not fit, none of the others remains.
func TestUnpack_NoRoom(t *testing.T) {
	library, outer := filepath.Join(artifacts, "modern/gpu_cuda.so"), t.TempDir()
	status, stderr := limited(t, "16", "unpack", library, filepath.Join(outer, "new"))
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "1.cuda.cubin: file too large: free some space or choose a folder on another disk")
	require.Empty(t, must.Get(os.ReadDir(outer))(t))

	status, stderr = limited(t, "1000", "unpack", library, filepath.Join(outer, "new"))
	require.Zero(t, status, stderr)
}
