package vmrun

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tvmgo/dlpack"
)

// Value is what a register holds: nil (None), int64, float64, bool, string, dlpack.DataType, Shape, *Tensor, *Tuple,
// *Closure, *PackedFunction, *Storage or Context.
type Value any

// Shape is a shape value.
type Shape []int64

// Memory is host memory that tensors share.
type Memory struct {
	Bytes    []byte
	Unset    []bool // bytes that nobody has written since the memory was allocated; nil: none
	Constant bool   // programs must not write it: it belongs to the executable, or others may share it
}

// memory returns n new bytes, which nobody has written.
func memory(n int64) *Memory {
	m := &Memory{Bytes: make([]byte, n), Unset: make([]bool, n)}
	for i := range m.Unset {
		m.Unset[i] = true
	}
	return m
}

// Tensor is a compact tensor in host memory: its elements begin at Offset, in bytes.
type Tensor struct {
	Memory *Memory
	Offset int64
	Shape  []int64
	DType  dlpack.DataType
}

// Data returns the bytes of the elements, which share the tensor's memory.
func (t *Tensor) Data() []byte { return t.Memory.Bytes[t.Offset : t.Offset+size(t.Shape, t.DType)] }

// read returns the bytes of a tensor. Reading memory that nobody has written is undefined.
func (m *Machine) read(t *Tensor) ([]byte, error) {
	data := t.Data()
	if t.Memory.Unset != nil {
		for _, unset := range t.Memory.Unset[t.Offset:][:len(data)] {
			if unset {
				return nil, m.leave("memory is read before it is written")
			}
		}
	}
	return data, nil
}

// write returns the bytes of a tensor that the caller overwrites, all of them.
func (m *Machine) write(t *Tensor) ([]byte, error) {
	if t.Memory.Constant {
		return nil, m.leave("memory is written that is constant or perhaps shared")
	}
	data := t.Data()
	if t.Memory.Unset != nil {
		clear(t.Memory.Unset[t.Offset:][:len(data)])
	}
	return data, nil
}

// show is [Format] of a value whose tensors must have been written.
func (m *Machine) show(v Value) string {
	switch v := v.(type) {
	case *Tensor:
		m.read(v)
	case *Tuple:
		for _, item := range v.Items {
			m.show(item)
		}
	}
	return Format(v)
}

// Tuple is an array of values. It is a pointer because vm.builtin.tuple_reset_item changes it for everyone.
type Tuple struct{ Items []Value }

// Closure is a function of the executable whose last arguments are bound. Packed is set instead of Function when a
// packed function is bound.
type Closure struct {
	Function int // index of Executable.Functions
	Bound    []Value
	Of       *Closure // set instead of Function: the closure that is bound further
	Packed   *PackedFunction
}

// PackedFunction is a packed function as a value.
type PackedFunction struct{ Name string }

// Storage is a block of memory for tensors.
type Storage struct{ Memory *Memory }

// Context is the machine as a value.
type Context struct{}

// size returns the number of bytes of a compact tensor.
func size(shape []int64, t dlpack.DataType) int64 {
	n := int64(t.Bits+7) / 8
	for _, d := range shape {
		n *= d
	}
	return n
}

// Format prints a value, with all its contents: two values that a program cannot tell apart have the same text.
func Format(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return fmt.Sprintf("f%016x", math.Float64bits(v))
	case string:
		return "'" + v + "'"
	case dlpack.DataType:
		return formatDType(v)
	case Shape:
		return formatShape(v)
	case *Tensor:
		return fmt.Sprintf("tensor%s%s%x", formatDType(v.DType), formatShape(v.Shape), v.Data())
	case *Tuple:
		items := make([]string, len(v.Items))
		for i, item := range v.Items {
			items[i] = Format(item)
		}
		return "(" + strings.Join(items, ", ") + ")"
	case *Closure:
		return "closure"
	case *PackedFunction:
		return "function"
	case *Storage:
		return "storage"
	case Context:
		return "context"
	}
	panic(fmt.Sprintf("vmrun: no value of the machine: %T", v))
}

func formatDType(t dlpack.DataType) string { return fmt.Sprintf("<%d.%d.%d>", t.Code, t.Bits, t.Lanes) }

func formatShape(shape []int64) string {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.FormatInt(d, 10)
	}
	return "[" + strings.Join(dims, " ") + "]"
}
