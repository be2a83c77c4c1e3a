package blob

import (
	"encoding/binary"
	"math"

	"tvmgo/dlpack"
)

// Writer encodes the little-endian values that blobs and payloads consist of; [Reader] decodes them. The zero value is
// empty and ready to use.
type Writer struct{ data []byte }

// Data returns the bytes written so far: a view that is valid until the next write.
func (w *Writer) Data() []byte { return w.data }

// Len returns the number of bytes written.
func (w *Writer) Len() int { return len(w.data) }

// Raw writes bytes as they are.
func (w *Writer) Raw(b []byte) { w.data = append(w.data, b...) }

// U8 writes an unsigned byte.
func (w *Writer) U8(v uint8) { w.data = append(w.data, v) }

// U32 writes an unsigned 32-bit integer.
func (w *Writer) U32(v uint32) { w.data = binary.LittleEndian.AppendUint32(w.data, v) }

// I32 writes a signed 32-bit integer.
func (w *Writer) I32(v int32) { w.U32(uint32(v)) }

// U64 writes an unsigned 64-bit integer.
func (w *Writer) U64(v uint64) { w.data = binary.LittleEndian.AppendUint64(w.data, v) }

// I64 writes a signed 64-bit integer.
func (w *Writer) I64(v int64) { w.U64(uint64(v)) }

// F64 writes a 64-bit float.
func (w *Writer) F64(v float64) { w.U64(math.Float64bits(v)) }

// Count writes the u64 number of elements of the vector that follows.
func (w *Writer) Count(n int) { w.U64(uint64(n)) }

// Bytes writes a u64 length and the bytes.
func (w *Writer) Bytes(b []byte) {
	w.Count(len(b))
	w.Raw(b)
}

// Str writes a u64 length and the bytes of s.
func (w *Writer) Str(s string) {
	w.Count(len(s))
	w.data = append(w.data, s...)
}

// Strs writes a vector of strings.
func (w *Writer) Strs(list []string) {
	w.Count(len(list))
	for _, s := range list {
		w.Str(s)
	}
}

// U64s writes a vector of unsigned 64-bit integers.
func (w *Writer) U64s(list []uint64) {
	w.Count(len(list))
	for _, v := range list {
		w.U64(v)
	}
}

// I64s writes a vector of signed 64-bit integers.
func (w *Writer) I64s(list []int64) {
	w.Count(len(list))
	for _, v := range list {
		w.I64(v)
	}
}

// I32s writes a vector of signed 32-bit integers.
func (w *Writer) I32s(list []int32) {
	w.Count(len(list))
	for _, v := range list {
		w.I32(v)
	}
}

// DType writes the four bytes of a data type.
func (w *Writer) DType(t dlpack.DataType) {
	w.data = append(w.data, t.Code, t.Bits)
	w.data = binary.LittleEndian.AppendUint16(w.data, t.Lanes)
}

// DTypes writes a vector of data types.
func (w *Writer) DTypes(list []dlpack.DataType) {
	w.Count(len(list))
	for _, t := range list {
		w.DType(t)
	}
}

// Device writes a device type and a device index.
func (w *Writer) Device(d dlpack.Device) {
	w.I32(int32(d.Type))
	w.I32(int32(d.ID))
}
