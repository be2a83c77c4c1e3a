package blob

import (
	"encoding/binary"
	"fmt"
	"math"

	"tvmgo/dlpack"
)

// Reader decodes the little-endian values that blobs and payloads consist of. After the first error, all methods return
// zero values and [Reader.Err] returns the error, so that parsers need no error check for each field. No method
// allocates memory for more elements than the remaining bytes can contain.
//
// The argument `what` of each method is the name of the value in error messages.
type Reader struct {
	data []byte
	pos  int
	base int64
	err  error
}

// NewReader returns a Reader for data; errors contain offsets from its start.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Err returns the first error, or nil.
func (r *Reader) Err() error { return r.err }

// Len returns the number of remaining bytes, 0 after an error.
func (r *Reader) Len() int {
	if r.err != nil {
		return 0
	}
	return len(r.data) - r.pos
}

// Offset returns the position in the bytes that the outermost reader was given.
func (r *Reader) Offset() int64 { return r.base + int64(r.pos) }

// Fail records an error at the current position, unless there is one already.
func (r *Reader) Fail(what, format string, args ...any) {
	r.failAt(r.Offset(), what, format, args...)
}

func (r *Reader) failAt(offset int64, what, format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Offset: offset, What: what, Problem: fmt.Sprintf(format, args...)}
	}
}

// Finish fails if bytes are left, and returns Err.
func (r *Reader) Finish(what string) error {
	if n := r.Len(); n > 0 {
		r.Fail(what, "%d bytes are left over", n)
	}
	return r.err
}

// Take returns a view of the next n bytes, and consumes them.
func (r *Reader) Take(n uint64, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(r.Len()) {
		r.Fail(what, "needs %d bytes, %d are left", n, r.Len())
		return nil
	}
	start := r.pos
	r.pos += int(n)
	return r.data[start:r.pos:r.pos]
}

// Sub returns a reader of the next n bytes whose errors give offsets like those of r.
func (r *Reader) Sub(n uint64, what string) *Reader {
	base := r.Offset()
	data := r.Take(n, what)
	return &Reader{data: data, base: base, err: r.err}
}

// U8 reads an unsigned byte.
func (r *Reader) U8(what string) uint8 {
	if b := r.Take(1, what); b != nil {
		return b[0]
	}
	return 0
}

// U32 reads an unsigned 32-bit integer.
func (r *Reader) U32(what string) uint32 {
	if b := r.Take(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// I32 reads a signed 32-bit integer.
func (r *Reader) I32(what string) int32 { return int32(r.U32(what)) }

// U64 reads an unsigned 64-bit integer.
func (r *Reader) U64(what string) uint64 {
	if b := r.Take(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// I64 reads a signed 64-bit integer.
func (r *Reader) I64(what string) int64 { return int64(r.U64(what)) }

// F64 reads a 64-bit float.
func (r *Reader) F64(what string) float64 { return math.Float64frombits(r.U64(what)) }

// Bytes reads a u64 length and returns a view of as many bytes.
func (r *Reader) Bytes(what string) []byte { return r.Take(r.U64(what), what) }

// Str reads a u64 length and as many bytes, and returns a copy of them.
func (r *Reader) Str(what string) string { return string(r.Bytes(what)) }

// Count reads the u64 number of elements of a vector, each of which takes at least each bytes (at least 1). It fails if
// the remaining bytes cannot contain so many. The result is therefore safe to allocate for and to loop over.
func (r *Reader) Count(each int, what string) int {
	at := r.Offset()
	n := r.U64(what)
	if most := uint64(r.Len() / max(each, 1)); n > most {
		r.failAt(at, what, "the count is %d, but the remaining %d bytes contain at most %d", n, r.Len(), most)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// Strs reads a vector of strings.
func (r *Reader) Strs(what string) []string {
	list := make([]string, 0, r.Count(8, what))
	for range cap(list) {
		list = append(list, r.Str(what))
	}
	return r.orNil(list)
}

func (r *Reader) orNil(list []string) []string {
	if r.err != nil {
		return nil
	}
	return list
}

// U64s reads a vector of unsigned 64-bit integers.
func (r *Reader) U64s(what string) []uint64 {
	b := r.Take(8*uint64(r.Count(8, what)), what)
	list := make([]uint64, len(b)/8)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return list
}

// I64s reads a vector of signed 64-bit integers.
func (r *Reader) I64s(what string) []int64 {
	b := r.Take(8*uint64(r.Count(8, what)), what)
	list := make([]int64, len(b)/8)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list
}

// I32s reads a vector of signed 32-bit integers.
func (r *Reader) I32s(what string) []int32 {
	b := r.Take(4*uint64(r.Count(4, what)), what)
	list := make([]int32, len(b)/4)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

// DType reads the four bytes of a data type, which can be invalid.
func (r *Reader) DType(what string) dlpack.DataType {
	if b := r.Take(4, what); b != nil {
		return dlpack.DataType{Code: b[0], Bits: b[1], Lanes: binary.LittleEndian.Uint16(b[2:])}
	}
	return dlpack.DataType{}
}

// DTypes reads a vector of data types.
func (r *Reader) DTypes(what string) []dlpack.DataType {
	list := make([]dlpack.DataType, r.Count(4, what))
	for i := range list {
		list[i] = r.DType(what)
	}
	return list
}

// Device reads a device type and a device index.
func (r *Reader) Device(what string) dlpack.Device {
	return dlpack.Device{Type: dlpack.DeviceType(r.I32(what)), ID: r.I32(what)}
}
