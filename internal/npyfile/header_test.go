package npyfile

import (
	"bytes"
	"testing"

	"github.com/sbinet/npyio/npy"
	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// NumPy's readers read what is written, and the elements begin at a multiple of 64 bytes.
func TestWriteHeader(t *testing.T) {
	for _, typ := range Types() {
		for _, shape := range [][]int64{{}, {0}, {7}, {2, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
			var file bytes.Buffer
			require.NoError(t, WriteHeader(&file, typ.DType, shape))
			require.Zero(t, file.Len()%64)
			r := must.Get(npy.NewReader(bytes.NewReader(file.Bytes())))(t)
			require.Equal(t, typ.Code, r.Header.Descr.Type[1:])
			require.False(t, r.Header.Descr.Fortran)
			require.Len(t, r.Header.Descr.Shape, len(shape))
			for i, d := range r.Header.Descr.Shape {
				require.EqualValues(t, shape[i], d)
			}
			found, ok := Find(typ.Code)
			require.True(t, ok)
			require.Equal(t, typ.DType, found)
		}
	}
}

// A shape is a Python tuple: with one dimension, it has a trailing comma.
func TestWriteHeader_Tuples(t *testing.T) {
	for want, shape := range map[string][]int64{"()": {}, "(7,)": {7}, "(2, 3)": {2, 3}} {
		var file bytes.Buffer
		require.NoError(t, WriteHeader(&file, dlpack.Int8, shape))
		require.Contains(t, file.String(), "'shape': "+want+", }")
	}
}

func TestDescr(t *testing.T) {
	require.Equal(t, "<f4", Descr(dlpack.Float32))
	require.Equal(t, "|b1", Descr(dlpack.ClassicBool))
	require.Empty(t, Descr(dlpack.BFloat16))
	_, ok := Find("V2")
	require.False(t, ok)
}
