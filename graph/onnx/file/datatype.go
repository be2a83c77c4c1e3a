package file

import (
	"fmt"

	"tvmgo/dlpack"
)

// DataType is the type of a tensor's elements, with the numbers of TensorProto.DataType.
type DataType int32

// The element types.
const (
	Undefined      DataType = 0
	Float          DataType = 1
	Uint8          DataType = 2
	Int8           DataType = 3
	Uint16         DataType = 4
	Int16          DataType = 5
	Int32          DataType = 6
	Int64          DataType = 7
	String         DataType = 8
	Bool           DataType = 9
	Float16        DataType = 10
	Double         DataType = 11
	Uint32         DataType = 12
	Uint64         DataType = 13
	Complex64      DataType = 14
	Complex128     DataType = 15
	BFloat16       DataType = 16
	Float8E4M3FN   DataType = 17
	Float8E4M3FNUZ DataType = 18
	Float8E5M2     DataType = 19
	Float8E5M2FNUZ DataType = 20
	Uint4          DataType = 21
	Int4           DataType = 22
	Float4E2M1     DataType = 23
	Float8E8M0     DataType = 24
	Uint2          DataType = 25
	Int2           DataType = 26
)

// store is the field of a TensorProto that has the elements of a type, if raw_data has not.
type store uint8

const (
	inNone store = iota
	inFloats
	inInt32s
	inInt64s
	inDoubles
	inUint64s
	inStrings
)

var storeNames = [...]string{"no field", "float_data", "int32_data", "int64_data", "double_data", "uint64_data",
	"string_data"}

// dataTypes describes the types by their numbers. The name is that of ONNX's text.
var dataTypes = [...]struct {
	name  string
	dtype dlpack.DataType
	store store
}{
	Undefined:      {name: "undefined"},
	Float:          {"float", dlpack.Float32, inFloats},
	Uint8:          {"uint8", dlpack.UInt8, inInt32s},
	Int8:           {"int8", dlpack.Int8, inInt32s},
	Uint16:         {"uint16", dlpack.UInt16, inInt32s},
	Int16:          {"int16", dlpack.Int16, inInt32s},
	Int32:          {"int32", dlpack.Int32, inInt32s},
	Int64:          {"int64", dlpack.Int64, inInt64s},
	String:         {name: "string", store: inStrings},
	Bool:           {"bool", dlpack.Bool, inInt32s},
	Float16:        {"float16", dlpack.Float16, inInt32s},
	Double:         {"double", dlpack.Float64, inDoubles},
	Uint32:         {"uint32", dlpack.UInt32, inUint64s},
	Uint64:         {"uint64", dlpack.UInt64, inUint64s},
	Complex64:      {"complex64", dlpack.DataType{Code: dlpack.CodeComplex, Bits: 64, Lanes: 1}, inFloats},
	Complex128:     {"complex128", dlpack.DataType{Code: dlpack.CodeComplex, Bits: 128, Lanes: 1}, inDoubles},
	BFloat16:       {"bfloat16", dlpack.BFloat16, inInt32s},
	Float8E4M3FN:   {"float8e4m3fn", dlpack.Float8E4M3FN, inInt32s},
	Float8E4M3FNUZ: {"float8e4m3fnuz", dlpack.DataType{Code: dlpack.CodeFloat8E4M3FNUZ, Bits: 8, Lanes: 1}, inInt32s},
	Float8E5M2:     {"float8e5m2", dlpack.Float8E5M2, inInt32s},
	Float8E5M2FNUZ: {"float8e5m2fnuz", dlpack.DataType{Code: dlpack.CodeFloat8E5M2FNUZ, Bits: 8, Lanes: 1}, inInt32s},
	Uint4:          {"uint4", dlpack.DataType{Code: dlpack.CodeUInt, Bits: 4, Lanes: 1}, inInt32s},
	Int4:           {"int4", dlpack.DataType{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, inInt32s},
	Float4E2M1:     {"float4e2m1", dlpack.Float4E2M1FN, inInt32s},
	Float8E8M0:     {"float8e8m0", dlpack.DataType{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}, inInt32s},
	Uint2:          {"uint2", dlpack.DataType{Code: dlpack.CodeUInt, Bits: 2, Lanes: 1}, inInt32s},
	Int2:           {"int2", dlpack.DataType{Code: dlpack.CodeInt, Bits: 2, Lanes: 1}, inInt32s},
}

// known reports whether t is a number of the format.
func (t DataType) known() bool { return t >= 0 && int(t) < len(dataTypes) }

// String returns the name that ONNX's text uses: "float", "int64", "float8e4m3fn".
func (t DataType) String() string {
	if !t.known() {
		return fmt.Sprintf("type %d", int32(t))
	}
	return dataTypes[t].name
}

// DType returns the element type of package dlpack. Strings have none, nor have undefined and unknown numbers: the
// error names the type.
func (t DataType) DType() (dlpack.DataType, error) {
	switch {
	case !t.known():
		return dlpack.DataType{}, fmt.Errorf("the element type %d is unknown: the newest that is known is %d (%v)",
			int32(t), len(dataTypes)-1, DataType(len(dataTypes)-1))
	case t == Undefined:
		return dlpack.DataType{}, fmt.Errorf("the element type is undefined: set data_type or elem_type")
	case t == String:
		return dlpack.DataType{}, fmt.Errorf("elements of type string are not supported as tensors of numbers")
	}
	return dataTypes[t].dtype, nil
}

// DataTypeOf returns the number for an element type of package dlpack. The error says that the format has none.
func DataTypeOf(d dlpack.DataType) (DataType, error) {
	for t, known := range dataTypes {
		if known.dtype == d && known.store != inNone {
			return DataType(t), nil
		}
	}
	if d == dlpack.ClassicBool {
		return Bool, nil
	}
	return Undefined, fmt.Errorf("ONNX has no element type for %v: convert the tensor", d)
}
