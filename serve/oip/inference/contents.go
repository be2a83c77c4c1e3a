package inference

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"tvmgo/dlpack"
	"tvmgo/serve/oip"
)

// list is a list of InferTensorContents.
type list struct {
	number protowire.Number
	kind   protowire.Type // of an element
}

// The lists of InferTensorContents.
var (
	boolContents   = list{1, protowire.VarintType}
	intContents    = list{2, protowire.VarintType}
	int64Contents  = list{3, protowire.VarintType}
	uintContents   = list{4, protowire.VarintType}
	uint64Contents = list{5, protowire.VarintType}
	fp32Contents   = list{6, protowire.Fixed32Type}
	fp64Contents   = list{7, protowire.Fixed64Type}
	bytesContents  = list{8, protowire.BytesType}

	lists = []list{boolContents, intContents, int64Contents, uintContents, uint64Contents, fp32Contents, fp64Contents,
		bytesContents}
)

func (l list) name() string {
	return string((*InferTensorContents)(nil).ProtoReflect().Descriptor().Fields().ByNumber(l.number).Name())
}

// listOf returns the list that has the elements of a type; false for types that are only sent raw.
func listOf(t dlpack.DataType) (list, bool) {
	switch t {
	case dlpack.Bool:
		return boolContents, true
	case dlpack.Int8, dlpack.Int16, dlpack.Int32:
		return intContents, true
	case dlpack.Int64:
		return int64Contents, true
	case dlpack.UInt8, dlpack.UInt16, dlpack.UInt32:
		return uintContents, true
	case dlpack.UInt64:
		return uint64Contents, true
	case dlpack.Float32:
		return fp32Contents, true
	case dlpack.Float64:
		return fp64Contents, true
	}
	return list{}, false
}

// count returns the number of elements in a field of this list, and checks that the field is well-formed.
func (l list) count(f wireField) (count int64, err *oip.Error) {
	switch {
	case f.kind == l.kind:
		return 1, nil
	case f.kind != protowire.BytesType: // of a type that the list does not have
		return 0, nil
	case l.kind == protowire.VarintType:
		err = f.numbers(func(uint64) *oip.Error {
			count++
			return nil
		})
		return count, err
	}
	size := 4
	if l.kind == protowire.Fixed64Type {
		size = 8
	}
	if len(f.bytes)%size != 0 {
		return 0, malformed(fmt.Errorf("%s has %d bytes, not a multiple of %d", l.name(), len(f.bytes), size))
	}
	return int64(len(f.bytes) / size), nil
}

// counts returns the number of elements in each list of contents, by the list's number.
func counts(contents []byte, add *[9]int64) *oip.Error {
	return eachField(contents, func(f wireField) *oip.Error {
		if f.number > bytesContents.number {
			return nil
		}
		n, err := lists[f.number-1].count(f)
		add[f.number] += n
		return err
	})
}

// filler writes the elements of lists into a tensor that has memory for them.
type filler struct {
	t     *oip.Tensor
	list  list
	index int64 // of the next element
}

// fill adds the elements of contents.
func (p *filler) fill(contents []byte) *oip.Error {
	return eachField(contents, func(f wireField) *oip.Error {
		switch {
		case f.number != p.list.number:
		case p.list.kind == protowire.VarintType:
			return f.numbers(p.integer)
		case f.kind == protowire.BytesType: // floats, packed as they are in memory
			size := int64(p.t.DType.Bits / 8)
			copy(p.t.Data[p.index*size:], f.bytes)
			p.index += int64(len(f.bytes)) / size
		case f.kind == protowire.Fixed32Type && p.list == fp32Contents:
			binary.NativeEndian.PutUint32(p.t.Data[4*p.index:], uint32(f.bits))
			p.index++
		case f.kind == protowire.Fixed64Type && p.list == fp64Contents:
			binary.NativeEndian.PutUint64(p.t.Data[8*p.index:], f.bits)
			p.index++
		}
		return nil
	})
}

// integer adds an integer or a boolean.
func (p *filler) integer(v uint64) *oip.Error {
	least, greatest := int64(math.MinInt64), int64(math.MaxInt64)
	x := int64(v)
	switch bits := p.t.DType.Bits; p.list {
	case boolContents:
		x = int64(protowire.EncodeBool(protowire.DecodeBool(v)))
	case intContents: // as a reader of an int32 does, ignore the upper half
		x, least, greatest = int64(int32(v)), -1<<(bits-1), 1<<(bits-1)-1
	case uintContents:
		x, least, greatest = int64(uint32(v)), 0, 1<<bits-1
	}
	if x < least || x > greatest {
		datatype, _ := oip.DatatypeName(p.t.DType)
		return oip.Errorf(oip.InvalidArgument, "element %d is %d, but %s is %d to %d", p.index, x,
			datatype, least, greatest)
	}
	switch i := p.index; p.t.DType.Bits {
	case 8:
		p.t.Data[i] = byte(x)
	case 16:
		binary.NativeEndian.PutUint16(p.t.Data[2*i:], uint16(x))
	case 32:
		binary.NativeEndian.PutUint32(p.t.Data[4*i:], uint32(x))
	default:
		binary.NativeEndian.PutUint64(p.t.Data[8*i:], uint64(x))
	}
	p.index++
	return nil
}
