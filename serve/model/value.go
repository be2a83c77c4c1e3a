package model

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// Value describes an input or an output of a model: a tensor.
type Value struct {
	Name  string
	DType dlpack.DataType
	// Shape is in elements; a dimension that a request decides is -1.
	Shape []int64
	// Symbols has, for each dimension of Shape that is -1, what the model calls it: "n", "n * 2", or "" if it has no name.
	// Equal symbols stand for equal numbers in one request.
	Symbols []string
	// AnyRank is true if the number of dimensions is not fixed; then Shape is [-1].
	AnyRank bool
}

// form is how the function takes or returns a value.
type form int

const (
	asTensor form = iota
	asShape       // a runtime.Shape: the elements of an int64 tensor
	asNumber      // an int64, a float64 or a bool: the element of a tensor
)

// port is an input or an output with its form.
type port struct {
	Value
	form form
}

// tensorPort describes a tensor with these dimensions: numbers, symbols, expressions, or "" for what is not known.
func tensorPort(name string, dtype dlpack.DataType, shape []int64, dims []string) port {
	v := Value{Name: name, DType: plain(dtype), Shape: slices.Clone(shape), Symbols: make([]string, len(shape))}
	for i, n := range shape {
		if n < 0 && i < len(dims) {
			v.Symbols[i] = dims[i]
		}
	}
	return port{Value: v}
}

func numberPort(name string, dtype dlpack.DataType) port {
	return port{Value{Name: name, DType: plain(dtype), Shape: []int64{1}, Symbols: []string{""}}, asNumber}
}

// plain returns the one dtype for both boolean dtypes.
func plain(t dlpack.DataType) dlpack.DataType {
	if t.IsBool() {
		return dlpack.Bool
	}
	return t
}

// number reads the element of a tensor for a parameter that is a number. Numbers beyond int64 keep their bits.
func (p *port) number(t *runtime.Tensor) (any, error) {
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	var bits uint64
	for i := len(b) - 1; i >= 0; i-- {
		bits = bits<<8 | uint64(b[i])
	}
	size := 8 * len(b)
	switch d := p.DType; {
	case d.IsBool():
		return bits != 0, nil
	case d.Code == dlpack.CodeUInt:
		return int64(bits), nil
	case d.Code == dlpack.CodeInt:
		return int64(bits<<(64-size)) >> (64 - size), nil
	case d == dlpack.Float32:
		return float64(math.Float32frombits(uint32(bits))), nil
	case d == dlpack.Float64:
		return math.Float64frombits(bits), nil
	case d == dlpack.Float16:
		return float64(dlpack.Float16Bits(bits).Float32()), nil
	default: // bfloat16, by canBeNumber
		return float64(dlpack.BFloat16Bits(bits).Float32()), nil
	}
}

// canBeNumber reports whether number knows the dtype.
func canBeNumber(t dlpack.DataType) bool {
	if t.Lanes != 1 {
		return false
	}
	switch t.Code {
	case dlpack.CodeInt, dlpack.CodeUInt:
		return slices.Contains([]uint8{8, 16, 32, 64}, t.Bits) || t.IsBool()
	}
	return t.IsBool() || slices.Contains([]dlpack.DataType{dlpack.Float16, dlpack.Float32, dlpack.Float64,
		dlpack.BFloat16}, t)
}

// integers reads a tensor for a parameter that is a shape.
func integers(t *runtime.Tensor) (runtime.Shape, error) {
	list, err := runtime.ToSlice[int64](t)
	return runtime.Shape(list), err
}

// host returns a result as a compact tensor in CPU memory, and takes the result over.
func (p *port) host(v any) (*runtime.Tensor, error) {
	switch v := v.(type) {
	case *runtime.Tensor:
		if p.form == asTensor {
			return hostTensor(v)
		}
	case runtime.Shape:
		if p.form == asShape {
			return runtime.FromSlice([]int64(v))
		}
	case int64, float64, bool:
		if p.form == asNumber {
			return p.ofNumber(v)
		}
	}
	value.Close(v)
	return nil, fault.New("", runtime.ErrFailed, "output %s is a %T, which is not what the signature says", p.Name, v)
}

func hostTensor(t *runtime.Tensor) (*runtime.Tensor, error) {
	if t.Device() == runtime.CPU && t.IsContiguous() {
		return t, nil
	}
	defer t.Close()
	out, err := runtime.NewTensor(t.DType(), t.Shape(), runtime.CPU)
	if err != nil {
		return nil, err
	}
	b, err := out.Bytes()
	if err == nil {
		err = t.CopyToBytes(b)
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// ofNumber makes the tensor of a number.
func (p *port) ofNumber(v any) (*runtime.Tensor, error) {
	var bits uint64
	isFloat := p.DType.Code == dlpack.CodeFloat || p.DType.Code == dlpack.CodeBFloat
	switch v := v.(type) {
	case bool:
		if v {
			bits = 1
		}
		if isFloat {
			bits = p.ofFloat(float64(bits))
		}
	case int64:
		bits = uint64(v)
		if isFloat {
			bits = p.ofFloat(float64(v))
		}
	case float64:
		if !isFloat {
			return nil, fault.New("", runtime.ErrFailed, "output %s is the number %v, not of type %v", p.Name, v, p.DType)
		}
		bits = p.ofFloat(v)
	}
	t, err := runtime.NewTensor(p.DType, p.Shape, runtime.CPU)
	if err != nil {
		return nil, err
	}
	b, err := t.Bytes()
	if err != nil {
		t.Close()
		return nil, err
	}
	copy(b, binary.LittleEndian.AppendUint64(nil, bits))
	return t, nil
}

func (p *port) ofFloat(v float64) uint64 {
	switch p.DType {
	case dlpack.Float64:
		return math.Float64bits(v)
	case dlpack.Float32:
		return uint64(math.Float32bits(float32(v)))
	case dlpack.Float16:
		return uint64(dlpack.Float16Of(v))
	}
	return uint64(dlpack.BFloat16Of(v))
}

// names gives out names that no other value of a list has.
type names map[string]bool

// pick returns the name that a file has, or else, or if an earlier value has it, word_number.
func (n names) pick(name, word string, number int) string {
	if name == "" || n[name] {
		name = fmt.Sprintf("%s_%d", word, number)
	}
	for n[name] {
		name += "_"
	}
	n[name] = true
	return name
}
