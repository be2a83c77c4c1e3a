package file

import (
	"encoding/binary"
	"fmt"
	"math"

	"tvmgo/dlpack"
	"tvmgo/internal/memory"
)

// Size returns the number of bytes of the elements in the form of [Tensor.Bytes]. It is an error if a dimension is
// negative, the size exceeds 64 bits, or the elements are strings or of an unknown type.
func (t *Tensor) Size() (int64, error) {
	dtype, err := t.DataType.DType()
	if err != nil {
		return 0, fmt.Errorf("onnx: %s: %w", t.place(), err)
	}
	n, err := dlpack.DataSize(t.Dims, dtype)
	if err != nil {
		return 0, corruptf(t.place(), "%v: the file is damaged", err)
	}
	return n, nil
}

// place is what errors about the tensor begin with.
func (t *Tensor) place() string {
	if t.Name == "" {
		return "a tensor without name"
	}
	return "tensor " + quoted(t.Name)
}

// Bytes returns the elements: little-endian, in row-major order, without gaps, of Size bytes. This is the layout of
// DLPack for the type of DataType.DType. Elements of 4 and 2 bits are packed, the first of a byte in its low bits, and
// unused bits of the last byte have any value; this is ONNX's layout, too. A bool takes a byte, 0 or 1, but raw_data is
// returned as it is.
//
// If the file has them as raw_data or as external data, the result is a view of the file, without any alignment, and
// must not be used after [File.Close]. Otherwise it is a new copy in Go's heap. external is needed for external data
// only, and can be nil if there are none.
//
// Errors about the content, such as a size that does not match the dimensions, are a [FormatError].
func (t *Tensor) Bytes(external *External) ([]byte, error) {
	view, size, err := t.check(external)
	if err != nil || view != nil {
		return view, err
	}
	return t.convert(size), nil
}

// Check returns the error of [Tensor.Bytes], or of [Tensor.Strings] if the elements are strings, without converting
// elements.
func (t *Tensor) Check(external *External) error {
	if t.DataType == String {
		_, err := t.Strings()
		return err
	}
	_, _, err := t.check(external)
	return err
}

// check returns a view of the elements, or nil if they must be converted, which can be done without errors.
func (t *Tensor) check(external *External) (view []byte, size int64, err error) {
	if size, err = t.Size(); err != nil {
		return nil, 0, err
	}
	switch {
	case t.Segment != nil:
		err = fmt.Errorf("onnx: %s: tensors in segments are not supported: write the tensor as a whole", t.place())
	case t.External != nil:
		view, err = t.externalBytes(external, size)
	case t.RawData == nil:
		err = t.checkNumbers(size)
	case int64(len(t.RawData)) != size:
		err = t.wrongSize(int64(len(t.RawData)), size, "bytes of raw_data")
	default:
		view = t.RawData
	}
	return view, size, err
}

// wrongSize is an error about the number of bytes or elements.
func (t *Tensor) wrongSize(have, want int64, what string) error {
	return corruptf(t.place(), "%v%v needs %d %s, the file has %d: it is damaged", t.DataType, shown(t.Dims), want, what,
		have)
}

// shown formats dimensions: "[1,3,224]". It shortens long lists.
func shown(dims []int64) string {
	text := "["
	for i, d := range dims {
		if i > 0 {
			text += ","
		}
		if i == 16 {
			return text + "…]"
		}
		text += fmt.Sprint(d)
	}
	return text + "]"
}

// numberBits returns the bits of a number in the field that the type of the tensor uses. A byte of packed elements is
// one number, and a complex element is two.
func (t *Tensor) numberBits() int64 {
	dtype := dataTypes[t.DataType].dtype
	if dtype.Code == dlpack.CodeComplex {
		return int64(dtype.Bits) / 2
	}
	return max(int64(dtype.Bits), 8)
}

// checkNumbers returns an error unless the field that the type of the tensor uses has the elements.
func (t *Tensor) checkNumbers(size int64) error {
	want := dataTypes[t.DataType].store
	have := [...]int{inFloats: len(t.FloatData), inInt32s: len(t.Int32Data), inInt64s: len(t.Int64Data),
		inDoubles: len(t.DoubleData), inUint64s: len(t.Uint64Data), inStrings: len(t.StringData)}
	count := size / (t.numberBits() / 8)
	if int64(have[want]) == count {
		return nil
	}
	for s, n := range have {
		if have[want] == 0 && n > 0 {
			return corruptf(t.place(), "the elements of type %v are in %s: want %s or raw_data", t.DataType,
				storeNames[s], storeNames[want])
		}
	}
	return t.wrongSize(int64(have[want]), count, "numbers of "+storeNames[want])
}

// convert returns the elements from the field that the type of the tensor uses.
func (t *Tensor) convert(size int64) []byte {
	bits := t.numberBits()
	out := make([]byte, 0, size)
	switch dataTypes[t.DataType].store {
	case inFloats:
		for _, v := range t.FloatData {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	case inDoubles:
		for _, v := range t.DoubleData {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
	case inInt64s:
		for _, v := range t.Int64Data {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
	case inUint64s:
		for _, v := range t.Uint64Data {
			out = appendLow(out, v, bits)
		}
	case inInt32s:
		for _, v := range t.Int32Data {
			if t.DataType == Bool && v != 0 {
				v = 1
			}
			out = appendLow(out, uint64(uint32(v)), bits)
		}
	}
	return out
}

// appendLow appends the low bits of a number: 8, 16, 32 or 64.
func appendLow(out []byte, v uint64, bits int64) []byte {
	for ; bits > 0; bits -= 8 {
		out = append(out, byte(v))
		v >>= 8
	}
	return out
}

// Strings returns the elements of a tensor of strings, in row-major order. They can contain any bytes. The list is that
// of the tensor and must not be changed.
func (t *Tensor) Strings() ([]string, error) {
	n, err := dlpack.NumElements(t.Dims)
	switch {
	case t.DataType != String:
		return nil, fmt.Errorf("onnx: %s: the elements are of type %v, not strings: use Bytes", t.place(), t.DataType)
	case err != nil:
		return nil, corruptf(t.place(), "%v: the file is damaged", err)
	case t.RawData != nil || t.External != nil || t.Segment != nil:
		return nil, corruptf(t.place(), "strings are in raw_data, another file or segments: want string_data")
	case int64(len(t.StringData)) != n:
		return nil, t.wrongSize(int64(len(t.StringData)), n, "texts of string_data")
	}
	return t.StringData, nil
}

// maxDense is the most bytes of a tensor that Dense makes: a few bytes of a file can describe any number of zeros.
const maxDense = 1 << 30

// Dense returns the tensor with all elements, as raw data in Go's heap. It may have at most 1 GiB, and strings are not
// supported. external is that of [Tensor.Bytes].
func (s *SparseTensor) Dense(external *External) (*Tensor, error) {
	place := "sparse tensor"
	if name := s.Name(); name != "" {
		place += " " + quoted(name)
	}
	if s.Values == nil || s.Indices == nil {
		return nil, corruptf(place, "values or indices are missing: the file is damaged")
	}
	dense := &Tensor{Name: s.Name(), DataType: s.Values.DataType, Dims: s.Dims}
	size, err := dense.Size()
	if err != nil {
		return nil, err
	}
	if size > maxDense {
		return nil, fmt.Errorf("onnx: %s: %v%s with all its zeros has %s: at most %s are supported", place, dense.DataType,
			shown(s.Dims), memory.Text(size), memory.Text(maxDense))
	}
	if err := memory.Check(size); err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", place, err)
	}
	values, err := s.Values.Bytes(external)
	if err != nil {
		return nil, err
	}
	at, err := s.positions(place, external)
	if err != nil {
		return nil, err
	}
	dense.RawData = make([]byte, size)
	bits := int64(dataTypes[dense.DataType].dtype.Bits)
	for i, to := range at {
		copyElement(dense.RawData, to, values, int64(i), bits)
	}
	return dense, nil
}

// copyElement copies an element of some bits, which are a divisor or a multiple of 8.
func copyElement(to []byte, i int64, from []byte, j, bits int64) {
	if bits >= 8 {
		each := bits / 8
		copy(to[i*each:(i+1)*each], from[j*each:])
		return
	}
	v := from[j*bits/8] >> (j * bits % 8) & (1<<bits - 1)
	to[i*bits/8] |= v << (i * bits % 8)
}

// positions returns the position of each value in the dense tensor.
func (s *SparseTensor) positions(place string, external *External) ([]int64, error) {
	n, err := dlpack.NumElements(s.Values.Dims)
	if err != nil || len(s.Values.Dims) != 1 {
		return nil, corruptf(place, "the values have the shape %s: want one dimension", shown(s.Values.Dims))
	}
	rank := int64(len(s.Dims))
	dims := s.Indices.Dims
	linear := len(dims) == 1 && dims[0] == n
	if s.Indices.DataType != Int64 || !linear && (len(dims) != 2 || dims[0] != n || dims[1] != rank) {
		return nil, corruptf(place, "the indices are %v%s: want int64[%d] or int64[%d,%d]", s.Indices.DataType,
			shown(dims), n, n, rank)
	}
	data, err := s.Indices.Bytes(external)
	if err != nil {
		return nil, within(place, err)
	}
	total, _ := dlpack.NumElements(s.Dims) // Dense has checked it
	next := func(below int64) (int64, bool) {
		v := int64(binary.LittleEndian.Uint64(data))
		data = data[8:]
		return v, v >= 0 && v < below
	}
	list, last := make([]int64, n), int64(-1)
	for i := range list {
		at, ok := int64(0), true
		if linear {
			at, ok = next(total)
		} else {
			for _, dim := range s.Dims {
				v, fits := next(dim)
				at, ok = at*dim+v, ok && fits
			}
		}
		if !ok || at <= last {
			return nil, corruptf(place, "index %d is outside of %s, or not behind the one before it: the file is damaged", i,
				shown(s.Dims))
		}
		list[i], last = at, at
	}
	return list, nil
}
