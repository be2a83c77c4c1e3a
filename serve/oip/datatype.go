package oip

import (
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/nearest"
)

// kind is how the elements of a datatype are read and written.
type kind uint8

const (
	boolean kind = iota
	signed
	unsigned
	half
	brain
	single
	double
)

// datatypes are those of the protocol that this package can send, the most frequent ones first.
var datatypes = [...]struct {
	name  string
	dtype dlpack.DataType
	kind  kind
}{
	{"FP32", dlpack.Float32, single},
	{"INT64", dlpack.Int64, signed},
	{"INT32", dlpack.Int32, signed},
	{"UINT8", dlpack.UInt8, unsigned},
	{"INT8", dlpack.Int8, signed},
	{"FP16", dlpack.Float16, half},
	{"BF16", dlpack.BFloat16, brain},
	{"FP64", dlpack.Float64, double},
	{"BOOL", dlpack.Bool, boolean},
	{"INT16", dlpack.Int16, signed},
	{"UINT16", dlpack.UInt16, unsigned},
	{"UINT32", dlpack.UInt32, unsigned},
	{"UINT64", dlpack.UInt64, unsigned},
	{"BOOL", dlpack.ClassicBool, boolean}, // after the modern one: it has one byte in memory, too
}

// DatatypeName returns the protocol's name of an element type: BOOL, UINT8 to UINT64, INT8 to INT64, FP16, FP32, FP64
// or BF16. BOOL is the name of both dlpack.Bool and dlpack.ClassicBool. The result is false for every other type: the
// protocol has no name for it.
func DatatypeName(t dlpack.DataType) (string, bool) {
	for i := range datatypes {
		if datatypes[i].dtype == t {
			return datatypes[i].name, true
		}
	}
	return "", false
}

// ParseDatatype returns the element type of a name of the protocol; BOOL is dlpack.Bool. Case matters. For BYTES, the
// tensors of strings, the error has the code Unimplemented, for unknown names InvalidArgument.
func ParseDatatype(name string) (dlpack.DataType, error) {
	for i := range datatypes {
		if datatypes[i].name == name {
			return datatypes[i].dtype, nil
		}
	}
	return dlpack.DataType{}, badDatatype(name)
}

func badDatatype(name string) *Error {
	if name == "BYTES" {
		return Errorf(Unimplemented,
			"datatype BYTES: tensors of strings are not supported: send numbers, such as the UINT8 of an encoded text")
	}
	var names []string
	for _, d := range datatypes[:len(datatypes)-1] {
		names = append(names, d.name)
	}
	if near := nearest.Name(name, names); near != "" && len(name) < 20 {
		return Errorf(InvalidArgument, "datatype %s is unknown: do you mean %s?", Quoted(name), near)
	}
	return Errorf(InvalidArgument, "datatype %s is unknown: use one of %s", Quoted(name), strings.Join(names, ", "))
}

// kindOf returns the kind of an element type that has a name.
func kindOf(t dlpack.DataType) kind {
	for i := range datatypes {
		if datatypes[i].dtype == t {
			return datatypes[i].kind
		}
	}
	return boolean
}
