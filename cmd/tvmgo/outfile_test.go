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

func only(a *arguments.Array) func(int, io.Writer) error {
	return func(_ int, w io.Writer) error { return write(w, a) }
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
			files := must.Get(newOutFiles([]string{path}))(t)
			require.NoError(t, files.writeEach(only(a)))
			require.Equal(t, a, must.Get(arguments.ReadNPY(path))(t))
		}
	}

	want := must.Get(os.ReadFile(filepath.Join(artifacts, "vadd_out.npy")))(t)
	numpy := must.Get(arguments.ReadNPY(filepath.Join(artifacts, "vadd_out.npy")))(t)
	b.Reset()
	require.NoError(t, write(&b, numpy))
	require.Equal(t, want, b.Bytes(), "byte for byte what NumPy wrote")
}

// Two outputs appear together or not at all.
func TestOutFiles_AllOrNothing(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.npy"), filepath.Join(dir, "sub", "two.npy")
	require.NoError(t, os.Mkdir(filepath.Dir(two), 0o755))
	files := must.Get(newOutFiles([]string{one, two}))(t)
	require.NoError(t, os.Remove(filepath.Dir(two)))
	a := &arguments.Array{DType: dlpack.UInt8, Shape: []int64{1}, Data: []byte{7}}
	require.ErrorContains(t, files.writeEach(only(a)), "two.npy: there is no such folder")
	require.Empty(t, must.Get(os.ReadDir(dir))(t))
}

// If the path is a symbolic link, the file that it points to is replaced, and not the link.
func TestOutFiles_FollowLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.npy"), filepath.Join(dir, "link.npy")
	require.NoError(t, os.WriteFile(target, nil, 0o644))
	require.NoError(t, os.Symlink(target, link))
	files := must.Get(newOutFiles([]string{link}))(t)
	require.NoError(t, files.writeEach(only(&arguments.Array{DType: dlpack.UInt8, Shape: []int64{1}, Data: []byte{7}})))
	info := must.Get(os.Lstat(link))(t)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	a := must.Get(arguments.ReadNPY(target))(t)
	require.Equal(t, []byte{7}, a.Data)
	require.ErrorContains(t, must.Fail(newOutFiles([]string{link, target})), "named twice")
}
