package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sbinet/npyio/npy"
	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// npyFile writes a file with the given header, which need not fit the data.
func npyFile(t *testing.T, dict string, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	require.NoError(t, binary.Write(&b, binary.LittleEndian, uint16(len(dict)+1)))
	b.WriteString(dict + "\n")
	b.Write(data)
	path := filepath.Join(t.TempDir(), "a.npy")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

func dict(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
}

func TestReadNPY_EveryType(t *testing.T) {
	for _, n := range npyfile.Types() {
		size := int(n.DType.Bits) / 8
		data := make([]byte, 2*size)
		for i := range data {
			data[i] = byte(i)
		}
		a, err := readNPY(npyFile(t, dict("<"+n.Code, "False", "(2,)"), data))
		require.NoError(t, err, n.Code)
		require.Equal(t, &array{dtype: n.DType, shape: []int64{2}, data: data}, a)

		unit := size
		if n.DType.Code == dlpack.CodeComplex {
			unit = size / 2
		}
		swapped := bytes.Clone(data)
		reverse(swapped, unit)
		a, err = readNPY(npyFile(t, dict(">"+n.Code, "False", "(2,)"), swapped))
		require.NoError(t, err, n.Code)
		require.Equal(t, data, a.data, "big-endian "+n.Code)
	}
}

func TestReadNPY_ColumnMajor(t *testing.T) {
	// element (i, j, k) of shape 2×3×4 is 100i+10j+k
	var columns, rows []byte
	for k := range 4 {
		for j := range 3 {
			for i := range 2 {
				columns = binary.LittleEndian.AppendUint16(columns, uint16(100*i+10*j+k))
			}
		}
	}
	for i := range 2 {
		for j := range 3 {
			for k := range 4 {
				rows = binary.LittleEndian.AppendUint16(rows, uint16(100*i+10*j+k))
			}
		}
	}
	a := must.Get(readNPY(npyFile(t, dict("<u2", "True", "(2, 3, 4)"), columns)))(t)
	require.Equal(t, rows, a.data)

	for _, shape := range []string{"()", "(1,)"} {
		a = must.Get(readNPY(npyFile(t, dict("<u2", "True", shape), []byte{1, 2})))(t)
		require.Equal(t, []byte{1, 2}, a.data)
	}
	a = must.Get(readNPY(npyFile(t, dict("<u2", "True", "(3, 0)"), nil)))(t)
	require.Empty(t, a.data)
}

func TestReadNPY_Damaged(t *testing.T) {
	good := dict("<f4", "False", "(2,)")
	for _, c := range []struct{ path, want string }{
		{npyFile(t, good, make([]byte, 7)), "float32[2] takes 8 bytes, the file has 7: save it again"},
		{npyFile(t, good, make([]byte, 9)), "the file has 9"},
		{npyFile(t, dict("<f4", "False", "(-2,)"), nil), "-2"},
		{npyFile(t, dict("<f4", "False", "(9223372036854775807, 2)"), nil), "read "},
		{npyFile(t, dict("<f4", "False", "(99999999999999999999,)"), nil), "save it again"},
		{npyFile(t, dict("<f4", "False", "(4294967296,)"), nil), "the file has 0"},
		{npyFile(t, dict("<f4", "Maybe", "(2,)"), nil), "save it again"},
		{npyFile(t, dict("<V2", "False", "(2,)"), make([]byte, 4)),
			`NumPy's type "<V2" are not supported: save it as one of bool, int8`},
		{npyFile(t, dict("<U3", "False", "(2,)"), make([]byte, 24)), "not supported"},
		{npyFile(t, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", make([]byte, 4)), "not supported"},
		{npyFile(t, "", nil), "not a .npy file: save it with numpy.save"},
		{npyFile(t, "}{", nil), "save it again"},
		{npyFile(t, "'shape': 'fortran_order': 'descr': }", nil), "an invalid header"},
	} {
		_, err := readNPY(c.path)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, c.path)
	}
}

func TestReadNPY_EveryTruncation(t *testing.T) {
	whole := must.Get(os.ReadFile(filepath.Join(artifacts, "addone_in0.npy")))(t)
	path := filepath.Join(t.TempDir(), "cut.npy")
	for n := range 200 {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o644))
		require.Error(t, must.Fail(readNPY(path)), "cut to %d", n)
	}
}

// write writes an array as command run does.
func write(w io.Writer, a *array) error {
	c := &call{dev: runtime.CPU, classic: func() bool { return false }}
	defer c.close()
	if err := c.addArguments([]any{a}); err != nil {
		return err
	}
	return c.write(w, a)
}

func only(a *array) func(int, io.Writer) error {
	return func(_ int, w io.Writer) error { return write(w, a) }
}

// NumPy, an independent reader, reads what is written, and would write the same bytes.
func TestArrayWrite(t *testing.T) {
	var b bytes.Buffer
	a := &array{dtype: dlpack.Int32, shape: []int64{2, 2},
		data: []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}}
	require.NoError(t, write(&b, a))
	require.Equal(t, 128, b.Len()-len(a.data))
	r := must.Get(npy.NewReader(bytes.NewReader(b.Bytes())))(t)
	require.Equal(t, []int{2, 2}, r.Header.Descr.Shape)
	var values []int32
	require.NoError(t, r.Read(&values))
	require.Equal(t, []int32{1, 2, 3, -1}, values)

	for _, shape := range [][]int64{{}, {1}, {0}, {1, 1, 1}, {7, 0, 3}} {
		for _, n := range npyfile.Types() {
			size := must.Get(dlpack.DataSize(shape, n.DType))(t)
			a := &array{dtype: n.DType, shape: shape, data: make([]byte, size)}
			path := filepath.Join(t.TempDir(), "a.npy")
			files := must.Get(newOutFiles([]string{path}))(t)
			require.NoError(t, files.writeEach(only(a)))
			require.Equal(t, a, must.Get(readNPY(path))(t))
		}
	}

	want := must.Get(os.ReadFile(filepath.Join(artifacts, "vadd_out.npy")))(t)
	numpy := must.Get(readNPY(filepath.Join(artifacts, "vadd_out.npy")))(t)
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
	a := &array{dtype: dlpack.UInt8, shape: []int64{1}, data: []byte{7}}
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
	require.NoError(t, files.writeEach(only(&array{dtype: dlpack.UInt8, shape: []int64{1}, data: []byte{7}})))
	info := must.Get(os.Lstat(link))(t)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	a := must.Get(readNPY(target))(t)
	require.Equal(t, []byte{7}, a.data)
	require.ErrorContains(t, must.Fail(newOutFiles([]string{link, target})), "named twice")
}
