package dlpack

import (
	"fmt"
	"math/bits"
	"reflect"
)

// DataType is the type of a tensor element (DLDataType, 4 bytes). If Lanes, interpreted as an int16, is less than -1,
// the type is a scalable vector: -4 means 4 × vscale lanes.
type DataType struct {
	Code  uint8
	Bits  uint8 // of one lane
	Lanes uint16
}

// Type codes (DLDataTypeCode). Codes from CodeCustomBegin on get names by [RegisterCustomType].
const (
	CodeInt               uint8 = 0
	CodeUInt              uint8 = 1
	CodeFloat             uint8 = 2
	CodeHandle            uint8 = 3
	CodeBFloat            uint8 = 4
	CodeComplex           uint8 = 5
	CodeBool              uint8 = 6
	CodeFloat8E3M4        uint8 = 7
	CodeFloat8E4M3        uint8 = 8
	CodeFloat8E4M3B11FNUZ uint8 = 9
	CodeFloat8E4M3FN      uint8 = 10
	CodeFloat8E4M3FNUZ    uint8 = 11
	CodeFloat8E5M2        uint8 = 12
	CodeFloat8E5M2FNUZ    uint8 = 13
	CodeFloat8E8M0FNU     uint8 = 14
	CodeFloat6E2M3FN      uint8 = 15
	CodeFloat6E3M2FN      uint8 = 16
	CodeFloat4E2M1FN      uint8 = 17
	CodeCustomBegin       uint8 = 129
)

// The common scalar types. They must not be changed.
var (
	Int8         = DataType{CodeInt, 8, 1}
	Int16        = DataType{CodeInt, 16, 1}
	Int32        = DataType{CodeInt, 32, 1}
	Int64        = DataType{CodeInt, 64, 1}
	UInt8        = DataType{CodeUInt, 8, 1}
	UInt16       = DataType{CodeUInt, 16, 1}
	UInt32       = DataType{CodeUInt, 32, 1}
	UInt64       = DataType{CodeUInt, 64, 1}
	Float16      = DataType{CodeFloat, 16, 1}
	Float32      = DataType{CodeFloat, 32, 1}
	Float64      = DataType{CodeFloat, 64, 1}
	BFloat16     = DataType{CodeBFloat, 16, 1}
	Bool         = DataType{CodeBool, 8, 1} // modern: one byte
	ClassicBool  = DataType{CodeUInt, 1, 1} // classic: one bit in name, one byte in memory
	Handle       = DataType{CodeHandle, 64, 1}
	Void         = DataType{CodeHandle, 0, 0}
	Float8E4M3FN = DataType{CodeFloat8E4M3FN, 8, 1}
	Float8E5M2   = DataType{CodeFloat8E5M2, 8, 1}
	Float4E2M1FN = DataType{CodeFloat4E2M1FN, 4, 1}
)

// Scalar is the constraint of [DataTypeOf]: Go's numeric and boolean types. [Float16Bits] and [BFloat16Bits] stand for
// the float types that Go does not have.
type Scalar interface {
	~bool | ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// DataTypeOf returns the element type with the memory layout of T; bool is the modern [Bool]. [Float16Bits] is
// [Float16] and [BFloat16Bits] is [BFloat16]; every other type over uint16 is [UInt16].
func DataTypeOf[T Scalar]() DataType {
	switch any(*new(T)).(type) {
	case Float16Bits:
		return Float16
	case BFloat16Bits:
		return BFloat16
	}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Bool:
		return Bool
	case reflect.Int:
		return DataType{CodeInt, bits.UintSize, 1}
	case reflect.Int8:
		return Int8
	case reflect.Int16:
		return Int16
	case reflect.Int32:
		return Int32
	case reflect.Int64:
		return Int64
	case reflect.Uint:
		return DataType{CodeUInt, bits.UintSize, 1}
	case reflect.Uint8:
		return UInt8
	case reflect.Uint16:
		return UInt16
	case reflect.Uint32:
		return UInt32
	case reflect.Uint64:
		return UInt64
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.Complex64:
		return DataType{CodeComplex, 64, 1}
	default: // by the constraint, only complex128 is left
		return DataType{CodeComplex, 128, 1}
	}
}

// IsVoid reports whether t is void, {3,0,0}.
func (t DataType) IsVoid() bool { return t == Void }

// IsBool reports whether t is the boolean type of either generation, with any number of lanes.
func (t DataType) IsBool() bool {
	return t.Code == CodeBool && t.Bits == 8 || t.Code == CodeUInt && t.Bits == 1
}

// IsScalable reports whether the number of lanes is a multiple of the hardware's vector length.
func (t DataType) IsScalable() bool { return int16(t.Lanes) < 0 }

// VScale returns the factor of a scalable vector: 4 for "float32xvscalex4". It is 0 for other types.
func (t DataType) VScale() int {
	if !t.IsScalable() {
		return 0
	}
	return -int(int16(t.Lanes))
}

// Check returns an error if t cannot be the element type of a tensor.
func (t DataType) Check() error {
	switch {
	case t.Code > CodeFloat4E2M1FN && t.Code < CodeCustomBegin:
		return fmt.Errorf("data type %s: unknown type code %d", t, t.Code)
	case t.IsVoid():
		return fmt.Errorf("data type void has no elements")
	case t.Bits == 0:
		return fmt.Errorf("data type %s: zero bits", t)
	case t.Lanes == 0:
		return fmt.Errorf("data type %s: zero lanes", t)
	case t.IsScalable():
		return fmt.Errorf("data type %s: a scalable vector has no size", t)
	}
	return nil
}
