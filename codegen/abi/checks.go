package abi

import (
	"fmt"
	"math"

	"tvmgo/dlpack"
)

// Prefixes of the symbols that a library exports for a function: the function, its metadata and its documentation.
const (
	FunctionPrefix = "__tvm_ffi_"
	MetadataPrefix = "__tvm_ffi__metadata_"
	DocPrefix      = "__tvm_ffi__doc_"
)

// Checks writes the statements of a C function that take and check its arguments. Each returns -1 from the function,
// with the thread's error set, if an argument is wrong. Parameters count from 0. The function has these variables:
//
//   - args, num_args: the arguments; by the classic convention type_codes, too;
//   - p: the table of its parameters ([Parameter]).
type Checks struct {
	Classic bool
	Need    func(snippets ...string)         // gets the snippets that the statements call
	Line    func(format string, args ...any) // writes a line of C
}

// Parameter is the entry of parameter i in the table p. index is less than 0 for a function without parameters.
func Parameter(function string, i int, name, typ string) string {
	argument := ""
	if i >= 0 {
		argument = Argument(i, name)
	}
	return fmt.Sprintf("{%s, %s, %s, %s},", Literal(function), Literal(argument), Literal(name), Literal(typ))
}

// Argument returns the name of an argument in error messages. The argument's own name may be empty.
func Argument(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("argument %d", i)
	}
	return fmt.Sprintf("argument %d (%s)", i, name)
}

// check writes a call of the snippet's function, whose arguments are given in C.
func (c *Checks) check(snippet, format string, args ...any) {
	c.Need(snippet)
	c.Line("if (tvmgo_%s(%s) != 0) return -1;", snippet, fmt.Sprintf(format, args...))
}

// value returns the parameter and the value of an argument.
func (c *Checks) value(i int) string {
	if c.Classic {
		return fmt.Sprintf("&p[%d], &args[%d], type_codes[%d]", i, i, i)
	}
	return fmt.Sprintf("&p[%d], &args[%d]", i, i)
}

// dataType returns a data type in C.
func dataType(t dlpack.DataType) string {
	return fmt.Sprintf("(DLDataType){%d, %d, %d}", t.Code, t.Bits, t.Lanes)
}

// Count checks the number of arguments. function and signature are C expressions.
func (c *Checks) Count(function, signature string, n int) {
	c.check("count", "%s, %s, args, num_args, %d", function, signature, n)
}

// Int takes an integer that fits type t, as the int64_t variable to.
func (c *Checks) Int(i int, t dlpack.DataType, to string) {
	least, most := IntRange(t)
	c.check("int", "%s, %s, %s, &%s", c.value(i), least, most, to)
}

// Float takes a number, as the double variable to.
func (c *Checks) Float(i int, to string) { c.check("float", "%s, &%s", c.value(i), to) }

// Pointer takes an address, as the void* variable to.
func (c *Checks) Pointer(i int, to string) { c.check("pointer", "%s, &%s", c.value(i), to) }

// Tensor takes a tensor of the CPU with ndim dimensions, as the const DLTensor* variable to. The address of its first
// element is a multiple of alignment. Sizes and strides remain to be checked.
func (c *Checks) Tensor(i int, t dlpack.DataType, ndim, alignment int, to string) {
	c.check("tensor", "%s, %s, %d, %d, &%s", c.value(i), dataType(t), ndim, alignment, to)
}

// Place describes where a tensor must be: on the device of another parameter's tensor, or on any device of a type.
type Place struct {
	Type  string // in C; "0" for any type
	First int    // the other parameter
	Other string // its tensor, in C; "" if there is none
}

func (p Place) text() string {
	if p.Other == "" {
		return p.Type + ", NULL, NULL"
	}
	return fmt.Sprintf("%s, &p[%d], %s", p.Type, p.First, p.Other)
}

// DeviceTensor is [Checks.Tensor] for a tensor that is elsewhere. Its offset remains to be checked.
func (c *Checks) DeviceTensor(i int, t dlpack.DataType, ndim int, at Place, to string) {
	c.check("device_tensor", "%s, %s, %d, %s, &%s", c.value(i), dataType(t), ndim, at.text(), to)
}

// AnyTensor is [Checks.DeviceTensor] for a tensor of any type and shape.
func (c *Checks) AnyTensor(i int, at Place, to string) {
	c.check("any_tensor", "%s, %s, &%s", c.value(i), at.text(), to)
}

// Starts checks that a device's tensor starts at the beginning of its memory or, if unit is not 0, at a multiple of
// unit bytes.
func (c *Checks) Starts(i int, tensor string, unit int) {
	c.Need("starts")
	c.Line("if (%s->byte_offset != 0 && tvmgo_starts(&p[%d], %s, %d) != 0) return -1;", tensor, i, tensor, unit)
}

// Offset checks that the runtime can pass kernels a tensor that starts inside its buffer: see snippet offset. found is
// a variable of type tvmgo_import for the function name, which returns the alignment.
func (c *Checks) Offset(i int, tensor, found, name string) {
	c.Need("offset")
	c.Line("if (%s->byte_offset != 0 && tvmgo_offset(&p[%d], %s, &%s, %s) != 0) return -1;", tensor, i, tensor, found,
		Literal(name))
}

// Aligned checks that the address of a tensor's first element is a multiple of alignment.
func (c *Checks) Aligned(i int, tensor string, alignment int) {
	c.check("aligned", "&p[%d], %s, %d", i, tensor, alignment)
}

// Contiguous checks the strides of a tensor.
func (c *Checks) Contiguous(i int, tensor string) { c.check("contiguous", "&p[%d], %s", i, tensor) }

// Same compares a number of parameter i's tensor, such as "shape[0]", with the expected one. got and want are int64_t
// in C. name is the expected expression, and by the arguments on which it depends; both are empty for a constant. If
// condition, in C, is not empty, the numbers are compared only if it is true.
func (c *Checks) Same(i int, what, got, want, name, by, condition string) {
	c.Need("same")
	expected := "NULL, NULL"
	if name != "" {
		expected = Literal(name) + ", " + Literal(by)
	}
	if condition != "" {
		condition += " && "
	}
	c.Line("if (%stvmgo_same(&p[%d], %s, %s, %s, %s) != 0) return -1;", condition, i, Literal(what), got, want, expected)
}

// Fits checks that a number of parameter i's tensor fits an integer type, in which the code keeps it.
func (c *Checks) Fits(i int, what, got string, t dlpack.DataType) {
	least, most := IntRange(t)
	c.check("fits", "&p[%d], %s, %s, %s, %s, %s", i, Literal(what), got, least, most, Literal(t.String()))
}

// IntRange returns the least and the greatest value of an integer type that an argument can have, in C.
func IntRange(t dlpack.DataType) (least, most string) {
	switch {
	case t.Code == dlpack.CodeBool, t == dlpack.ClassicBool:
		return "0", "1"
	case t.Code == dlpack.CodeInt:
		return fmt.Sprintf("INT%d_MIN", t.Bits), fmt.Sprintf("INT%d_MAX", t.Bits)
	case t.Bits == 64:
		return "0", "INT64_MAX" // arguments are int64_t
	}
	return "0", fmt.Sprint(uint64(math.MaxUint64) >> (64 - t.Bits))
}
