package tir

import (
	"fmt"

	"tvmgo/dlpack"
)

// Type is the type of an expression: the kind of number, its number of bits, and the number of lanes.
type Type = dlpack.DataType

// Types of scalars.
var (
	Int8     = dlpack.Int8
	Int16    = dlpack.Int16
	Int32    = dlpack.Int32
	Int64    = dlpack.Int64
	UInt8    = dlpack.UInt8
	UInt16   = dlpack.UInt16
	UInt32   = dlpack.UInt32
	UInt64   = dlpack.UInt64
	Float16  = dlpack.Float16
	BFloat16 = dlpack.BFloat16
	Float32  = dlpack.Float32
	Float64  = dlpack.Float64
	Bool     = dlpack.Bool
	Handle   = dlpack.Handle // an address or an object
	Void     = dlpack.Void   // the type of calls without a result
)

// Vector returns a type with the given number of lanes; if t is a vector, its element's type is used. If lanes is
// negative or greater than [MaxLanes], the result has 0 lanes, which is not valid for expressions.
func Vector(t Type, lanes int) Type {
	if lanes < 0 || lanes > MaxLanes {
		lanes = 0
	}
	t.Lanes = uint16(lanes)
	return t
}

// Element returns the type of one lane.
func Element(t Type) Type { return Vector(t, 1) }

// IsInt reports whether t is an integer type, signed or unsigned, with any number of lanes.
func IsInt(t Type) bool { return t.Code == dlpack.CodeInt || t.Code == dlpack.CodeUInt }

// IsSigned reports whether t is a signed integer type.
func IsSigned(t Type) bool { return t.Code == dlpack.CodeInt }

// IsFloat reports whether t is a floating-point type, including those of 16 bits and less.
func IsFloat(t Type) bool {
	return t.Code == dlpack.CodeFloat || t.Code == dlpack.CodeBFloat || t.Code >= dlpack.CodeFloat8E3M4 &&
		t.Code <= dlpack.CodeFloat4E2M1FN
}

// IsBool reports whether t is a boolean type.
func IsBool(t Type) bool { return t.Code == dlpack.CodeBool }

// IsHandle reports whether t is a type of addresses.
func IsHandle(t Type) bool { return t.Code == dlpack.CodeHandle && t.Bits > 0 }

// MaxLanes is the maximum number of lanes of a vector.
const MaxLanes = 1024

// SharesBytes reports whether several elements of a type share one byte in memory of parameters. Elements of uint1, an
// older form of bool, do not.
func SharesBytes(t Type) bool {
	return t.Bits < 8 && Element(t) != Type{Code: dlpack.CodeUInt, Bits: 1, Lanes: 1}
}

// TypeName returns a type as errors write it, with names for void and for vectors of addresses.
func TypeName(t Type) string {
	switch {
	case t == Void:
		return "void"
	case IsHandle(t) && t.Lanes != 1:
		return fmt.Sprintf("%sx%d", Element(t), t.Lanes)
	}
	return t.String()
}

// CheckType returns an error if t is not a valid type of an expression.
func CheckType(t Type) error {
	if t == Void {
		return nil
	}
	switch {
	case t.Lanes < 1 || t.Lanes > MaxLanes:
		return fmt.Errorf("type %s has %d lanes: want 1 to %d", TypeName(t), t.Lanes, MaxLanes)
	case IsInt(t) && (t.Bits == 8 || t.Bits == 16 || t.Bits == 32 || t.Bits == 64 || t.Bits == 4 || t.Bits == 2 ||
		t.Bits == 1),
		t.Code == dlpack.CodeFloat && (t.Bits == 16 || t.Bits == 32 || t.Bits == 64), t.Code == dlpack.CodeBFloat &&
			t.Bits == 16,
		IsBool(t) && t.Bits == 8, IsHandle(t) && t.Bits == 64 && t.Lanes == 1,
		t.Code >= dlpack.CodeFloat8E3M4 && t.Code <= dlpack.CodeFloat8E8M0FNU && t.Bits == 8,
		(t.Code == dlpack.CodeFloat6E2M3FN || t.Code == dlpack.CodeFloat6E3M2FN) && t.Bits == 6,
		t.Code == dlpack.CodeFloat4E2M1FN && t.Bits == 4:
		return nil
	}
	return fmt.Errorf("expressions cannot have type %s", TypeName(t))
}

// intRange returns the least and the greatest value of an integer type; for uint64 the greatest is that of int64, since
// constants are int64.
func intRange(t Type) (least, greatest int64) {
	switch {
	case t.Code == dlpack.CodeUInt && t.Bits >= 64:
		return 0, 1<<63 - 1
	case t.Code == dlpack.CodeUInt:
		return 0, 1<<t.Bits - 1
	}
	return -1 << (t.Bits - 1), 1<<(t.Bits-1) - 1
}
