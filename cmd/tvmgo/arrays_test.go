//go:build cgo

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sbinet/npyio/npy"
	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/npyfile"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// npyFile writes a file of float32 with a shape, which need not fit the data.
func npyFile(t *testing.T, shape []int64, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, npyfile.WriteHeader(&b, dlpack.Float32, shape))
	b.Write(data)
	path := filepath.Join(t.TempDir(), "a.npy")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

// write writes an array as command run does.
func write(w io.Writer, a *arguments.Array) error {
	c := &call{dev: runtime.CPU, classic: func() bool { return false }}
	defer c.close()
	if err := c.addArguments([]any{a}); err != nil {
		return err
	}
	return c.write(w, a)
}

// NumPy, an independent reader, reads what is written, and would write the same bytes.
func TestArrayWrite(t *testing.T) {
	var b bytes.Buffer
	a := &arguments.Array{DType: dlpack.Int32, Shape: []int64{2, 2},
		Data: []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}}
	require.NoError(t, write(&b, a))
	require.Equal(t, 128, b.Len()-len(a.Data))
	r := must.Get(npy.NewReader(bytes.NewReader(b.Bytes())))(t)
	require.Equal(t, []int{2, 2}, r.Header.Descr.Shape)
	var values []int32
	require.NoError(t, r.Read(&values))
	require.Equal(t, []int32{1, 2, 3, -1}, values)

	for _, shape := range [][]int64{{}, {1}, {0}, {1, 1, 1}, {7, 0, 3}} {
		for _, n := range npyfile.Types() {
			size := must.Get(dlpack.DataSize(shape, n.DType))(t)
			a := &arguments.Array{DType: n.DType, Shape: shape, Data: make([]byte, size)}
			path := filepath.Join(t.TempDir(), "a.npy")
			f := must.Get(os.Create(path))(t)
			require.NoError(t, write(f, a))
			require.NoError(t, f.Close())
			require.Equal(t, a, must.Get(arguments.ReadNPY(path))(t))
		}
	}

	want := must.Get(os.ReadFile(filepath.Join(artifacts, "vadd_out.npy")))(t)
	numpy := must.Get(arguments.ReadNPY(filepath.Join(artifacts, "vadd_out.npy")))(t)
	b.Reset()
	require.NoError(t, write(&b, numpy))
	require.Equal(t, want, b.Bytes(), "byte for byte what NumPy wrote")
}
