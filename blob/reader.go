package blob

import (
	"encoding/binary"
	"fmt"
	"math"

	"tvmgo/dlpack"
)

// Reader decodes the little-endian primitives that blobs and payloads are made of. The first failure sticks: from then
// on every method returns a zero value and [Reader.Err] the failure, so that a format is written down without an error
// check per field. No method allocates for a count before that many elements can be in the remaining bytes.
//
// The `what` of each method names the piece in the error.
type Reader struct {
	data []byte
	pos  int
	base int64
	err  error
}

// NewReader reads data; errors give offsets from its start.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Err returns the first failure.
func (r *Reader) Err() error { return r.err }

// Len returns the number of bytes left, 0 after a failure.
func (r *Reader) Len() int {
	if r.err != nil {
		return 0
	}
	return len(r.data) - r.pos
}

// Offset returns the position in the bytes that the outermost reader was given.
func (r *Reader) Offset() int64 { return r.base + int64(r.pos) }

// Fail records a failure at the current position, unless there is one already.
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

// Take returns a view of the next n bytes.
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

// U8 reads one byte.
func (r *Reader) U8(what string) uint8 {
	if b := r.Take(1, what); b != nil {
		return b[0]
	}
	return 0
}

// U32 reads four bytes.
func (r *Reader) U32(what string) uint32 {
	if b := r.Take(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// I32 reads four bytes.
func (r *Reader) I32(what string) int32 { return int32(r.U32(what)) }

// U64 reads eight bytes.
func (r *Reader) U64(what string) uint64 {
	if b := r.Take(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// I64 reads eight bytes.
func (r *Reader) I64(what string) int64 { return int64(r.U64(what)) }

// F64 reads eight bytes.
func (r *Reader) F64(what string) float64 { return math.Float64frombits(r.U64(what)) }

// Bytes reads a u64 length and returns a view of as many bytes.
func (r *Reader) Bytes(what string) []byte { return r.Take(r.U64(what), what) }

// Str is Bytes as a string, copied.
func (r *Reader) Str(what string) string { return string(r.Bytes(what)) }

// Count reads the u64 count of a vector whose elements take at least each bytes (at least 1), and fails if the
// remaining bytes can't hold them. The result is thus safe to allocate and to loop over.
func (r *Reader) Count(each int, what string) int {
	at := r.Offset()
	n := r.U64(what)
	if most := uint64(r.Len() / max(each, 1)); n > most {
		r.failAt(at, what, "a count of %d, and the %d bytes left hold at most %d", n, r.Len(), most)
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

// U64s reads a vector.
func (r *Reader) U64s(what string) []uint64 {
	b := r.Take(8*uint64(r.Count(8, what)), what)
	list := make([]uint64, len(b)/8)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return list
}

// I64s reads a vector.
func (r *Reader) I64s(what string) []int64 {
	b := r.Take(8*uint64(r.Count(8, what)), what)
	list := make([]int64, len(b)/8)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list
}

// I32s reads a vector.
func (r *Reader) I32s(what string) []int32 {
	b := r.Take(4*uint64(r.Count(4, what)), what)
	list := make([]int32, len(b)/4)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

// DType reads the four bytes of a data type, whatever they mean.
func (r *Reader) DType(what string) dlpack.DataType {
	if b := r.Take(4, what); b != nil {
		return dlpack.DataType{Code: b[0], Bits: b[1], Lanes: binary.LittleEndian.Uint16(b[2:])}
	}
	return dlpack.DataType{}
}

// DTypes reads a vector.
func (r *Reader) DTypes(what string) []dlpack.DataType {
	list := make([]dlpack.DataType, r.Count(4, what))
	for i := range list {
		list[i] = r.DType(what)
	}
	return list
}

// Device reads a device type and an index.
func (r *Reader) Device(what string) dlpack.Device {
	return dlpack.Device{Type: dlpack.DeviceType(r.I32(what)), ID: r.I32(what)}
}
