package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/weights"
)

// inspect lists the tensors of files of parameters of every format.
func TestInspect_Weights(t *testing.T) {
	dir := t.TempDir()
	list := []weights.Array{{Name: "a.weight", DType: dlpack.Float32, Shape: []int64{16, 2}, Data: make([]byte, 128)},
		{Name: "b\x1b", DType: dlpack.Int8, Shape: []int64{3}, Data: make([]byte, 3)}}
	path := filepath.Join(dir, "w.safetensors")
	require.NoError(t, weights.Write(path, weights.Safetensors, list, map[string]string{"format": "pt"}))
	status, stdout, stderr := cli("inspect", path)
	require.Zero(t, status, stderr)
	require.Equal(t, path+`: safetensors, 2 tensors of 131 bytes
tensors          a.weight float32[16,2] (128 bytes)
                 "b\x1b" int8[3] (3 bytes)
metadata         format: pt
`, stdout)
	for _, format := range []weights.Format{weights.Params, weights.NPZ, weights.NPY, weights.TensorFile} {
		path := filepath.Join(dir, "w."+string(format))
		given := list
		if format == weights.NPY || format == weights.TensorFile {
			given = list[:1]
		}
		require.NoError(t, weights.Write(path, format, given, nil))
		status, stdout, stderr := cli("inspect", "--json", path)
		require.Zero(t, status, stderr)
		var report weightsReport
		require.NoError(t, json.Unmarshal([]byte(stdout), &report))
		require.Equal(t, format, report.Format)
		require.Len(t, report.Tensors, len(given))
		require.Equal(t, dlpack.Float32, report.Tensors[0].DType)
	}
	require.NoError(t, weights.WriteCache(filepath.Join(dir, "cache"), list, weights.CacheOptions{BFloat16: true}))
	_, stdout, _ = cli("inspect", filepath.Join(dir, "cache"))
	require.Contains(t, stdout, "a.weight float32[16,2] (128 bytes, stored as f32-to-bf16)")

	require.NoError(t, os.Truncate(path, 100))
	status, _, stderr = cli("inspect", path)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "inspect: open weights "+path)
	require.Contains(t, stderr, "was cut")
}
