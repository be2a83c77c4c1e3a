// Package npyfile reads and writes the headers of .npy files, and maps NumPy's types to those of package dlpack.
package npyfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"tvmgo/dlpack"
)

// Type is an element type of NumPy that package dlpack also has.
type Type struct {
	Code  string // the type in .npy files, without the byte order
	DType dlpack.DataType
}

var types = []Type{
	{"b1", dlpack.Bool}, {"i1", dlpack.Int8}, {"i2", dlpack.Int16}, {"i4", dlpack.Int32}, {"i8", dlpack.Int64},
	{"u1", dlpack.UInt8}, {"u2", dlpack.UInt16}, {"u4", dlpack.UInt32}, {"u8", dlpack.UInt64},
	{"f2", dlpack.Float16}, {"f4", dlpack.Float32}, {"f8", dlpack.Float64},
	{"c8", dlpack.DataType{Code: dlpack.CodeComplex, Bits: 64, Lanes: 1}},
	{"c16", dlpack.DataType{Code: dlpack.CodeComplex, Bits: 128, Lanes: 1}},
}

// Types lists the types.
func Types() []Type { return append([]Type(nil), types...) }

// Find returns the type of a code.
func Find(code string) (dlpack.DataType, bool) {
	for _, n := range types {
		if n.Code == code {
			return n.DType, true
		}
	}
	return dlpack.DataType{}, false
}

// Descr returns the type in the form of a header, in little-endian order; "" for types that NumPy does not have.
func Descr(t dlpack.DataType) string {
	if t == dlpack.ClassicBool {
		t = dlpack.Bool
	}
	for _, n := range types {
		if n.DType == t && t.Bits == 8 {
			return "|" + n.Code
		} else if n.DType == t {
			return "<" + n.Code
		}
	}
	return ""
}

// WriteHeader writes the header, version 1.0 of the format, after which the elements follow in row-major order. Like
// NumPy, it pads the header so that the elements are 64-byte aligned in the file. The type must have a [Descr].
func WriteHeader(w io.Writer, t dlpack.DataType, shape []int64) error {
	dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		dims += ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", Descr(t), dims)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	begin := append([]byte(Magic), 1, 0)
	begin = binary.LittleEndian.AppendUint16(begin, uint16(len(header)))
	_, err := w.Write(append(begin, header...))
	return err
}
