package arguments

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
	"tvmgo/internal/testing/must"
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
		a, err := ReadNPY(npyFile(t, dict("<"+n.Code, "False", "(2,)"), data))
		require.NoError(t, err, n.Code)
		require.Equal(t, &Array{DType: n.DType, Shape: []int64{2}, Data: data}, a)

		unit := size
		if n.DType.Code == dlpack.CodeComplex {
			unit = size / 2
		}
		swapped := bytes.Clone(data)
		for rest := swapped; len(rest) > 0; rest = rest[unit:] {
			slices.Reverse(rest[:unit])
		}
		a, err = ReadNPY(npyFile(t, dict(">"+n.Code, "False", "(2,)"), swapped))
		require.NoError(t, err, n.Code)
		require.Equal(t, data, a.Data, "big-endian "+n.Code)
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
	a := must.Get(ReadNPY(npyFile(t, dict("<u2", "True", "(2, 3, 4)"), columns)))(t)
	require.Equal(t, rows, a.Data)

	for _, shape := range []string{"()", "(1,)"} {
		a = must.Get(ReadNPY(npyFile(t, dict("<u2", "True", shape), []byte{1, 2})))(t)
		require.Equal(t, []byte{1, 2}, a.Data)
	}
	a = must.Get(ReadNPY(npyFile(t, dict("<u2", "True", "(3, 0)"), nil)))(t)
	require.Empty(t, a.Data)
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
		_, err := ReadNPY(c.path)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, c.path)
	}
}

func TestReadNPY_EveryTruncation(t *testing.T) {
	whole := must.Get(os.ReadFile(filepath.Join("../../testdata/artifacts", "addone_in0.npy")))(t)
	path := filepath.Join(t.TempDir(), "cut.npy")
	for n := range 200 {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o644))
		require.Error(t, must.Fail(ReadNPY(path)), "cut to %d", n)
	}
}
