//go:build cgo

package main

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// tvmProgram unpacks a program that a version of TVM has saved.
func tvmProgram(t *testing.T, name string) []byte {
	archive := must.Open(zip.OpenReader("../../tir/tvmjson/testdata/saved.zip"))(t)
	return must.Get(io.ReadAll(must.Open(archive.Open(name))(t)))(t)
}

// JSON of Apache TVM's save_json is a program, too.
func TestBuild_TVM(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"v0.17", "v0.25", "v0.27"} {
		text := tvmProgram(t, version+"/two_functions.json")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "prog.json"), text, 0o600))
		status, stdout, stderr := builtWith(t, dir, nil, "build", "prog.json", "-o", "prog.so")
		require.Zero(t, status, stderr)
		require.Equal(t, "wrote prog.so\n", stdout)
		status, stdout, stderr = builtWith(t, dir, nil, "inspect", "prog.so")
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, "main")
		require.Contains(t, stdout, "other")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gpu.json"), tvmProgram(t, "v0.27/gpu_threads_reduce.json"), 0o600))
	status, code, stderr := builtWith(t, dir, nil, "build", "gpu.json", "--target",
		"cuda -arch=sm_80 -code-format=source", "--emit", "cu")
	require.Zero(t, status, stderr)
	require.Contains(t, code, "__syncthreads()")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"root_index":0,"nodes":[`+
		`{"type":"tirx.PrimFunc","data":{"params":1,"body":2}},{"type":"ffi.Array","data":[]},`+
		`{"type":"tirx.Magic","data":{}}]}`), 0o600))
	status, _, stderr = builtWith(t, dir, nil, "build", "bad.json", "-o", "bad.so")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: bad.json: read TVM's JSON: not supported: node tirx.Magic at $.body\n", stderr)
}
