package npyfile

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// What WriteHeader writes is read, and every truncation of it is an error.
func TestParse(t *testing.T) {
	for _, typ := range Types() {
		for _, shape := range [][]int64{{}, {0}, {7}, {2, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
			var file bytes.Buffer
			require.NoError(t, WriteHeader(&file, typ.DType, shape))
			h := must.Get(Parse(file.Bytes()))(t)
			require.Equal(t, typ.DType, h.DType)
			require.Equal(t, shape, h.Shape)
			require.Equal(t, file.Len(), h.Begin)
			require.True(t, h.Plain())
			for n := range file.Len() {
				require.Error(t, must.Fail(Parse(file.Bytes()[:n])))
			}
		}
	}
}

func header(dict string) []byte {
	return append([]byte(Magic+"\x01\x00"+string([]byte{byte(len(dict)), 0})), dict...)
}

func TestParse_Forms(t *testing.T) {
	for _, dict := range []string{
		`{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`,
		`{"shape":(2,3),"descr":"<f4","fortran_order":False}`,
		`{ 'shape' : ( 2L , 3L, ) , 'fortran_order' : False , 'descr' : '<f4' } ` + "\n",
	} {
		require.Equal(t, []int64{2, 3}, must.Get(Parse(header(dict)))(t).Shape, dict)
	}
	for _, dict := range []string{
		"{}", "}{", `{'descr': '<f4'}`, `{'descr': '<f4', 'fortran_order': False, 'shape': (3)}`,
		`{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}`, `{'descr': '<f4', 'descr': '<f4', 'shape': ()}`,
		`{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}`, `{'descr': '<f4', 'fortran_order': 0, 'shape': ()}`,
		`{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x`, `{'descr': '<f4' 'fortran_order': False 'shape': ()}`,
		`{'descr': '<f4', 'fortran_order': False, 'shape': (1-2,)}`,
	} {
		require.ErrorContains(t, must.Fail(Parse(header(dict))), "save it again", dict)
	}
}

// Any text in place of a header is an error, or a header whose size follows from its type and shape.
func FuzzParse(f *testing.F) {
	f.Add(header(`{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`))
	f.Add(header(`{'descr': '>c16', 'fortran_order': True, 'shape': (), }`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Parse(data)
		if err == nil {
			require.LessOrEqual(t, h.Begin, len(data))
			require.GreaterOrEqual(t, h.Size, int64(0))
		}
	})
}
