package vmrun

import (
	"encoding/binary"
	"fmt"

	"tvmgo/dlpack"
)

// tensorArgument returns an argument that must be a tensor.
func tensorArgument(v Value) (*Tensor, error) {
	t, ok := v.(*Tensor)
	if !ok {
		return nil, fmt.Errorf("%s is no tensor", Format(v))
	}
	return t, nil
}

// tensor converts an argument of a builtin that TVM does not check for None.
func (m *Machine) tensor(v Value) (*Tensor, error) {
	if v == nil {
		return nil, m.leave("None is no tensor")
	}
	return tensorArgument(v)
}

// readIfCond returns a number as a bool, or the first element of a tensor of integers.
func readIfCond(m *Machine, args []Value) (Value, error) {
	if err := count(args, 1); err != nil {
		return nil, err
	}
	if n, err := asInt(args[0]); err == nil {
		return n != 0, nil
	}
	if args[0] == nil {
		return nil, m.leave("None is no condition")
	}
	t, err := tensorArgument(args[0])
	if err != nil {
		return nil, err
	}
	switch t.DType.Code {
	case dlpack.CodeInt, dlpack.CodeUInt, dlpack.CodeBool:
	default:
		return nil, fmt.Errorf("a condition of type %s", t.DType)
	}
	data, err := m.read(t)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, m.leave("a condition without elements")
	}
	m.differs(t.Offset != 0, "read_if_cond: TVM ignores the offset of a tensor")
	for _, b := range data[:t.DType.Bits/8] {
		if b != 0 {
			return true, nil
		}
	}
	return false, nil
}

func shapeOf(m *Machine, args []Value) (Value, error) {
	if err := count(args, 1); err != nil {
		return nil, err
	}
	t, err := m.tensor(args[0])
	if err != nil {
		return nil, err
	}
	return Shape(t.Shape), nil
}

// asShape converts an argument to a shape: of shapes and tuples of ints.
func (m *Machine) asShape(v Value) (Shape, error) {
	switch v := v.(type) {
	case Shape:
		return v, nil
	case *Tuple:
		return integers(v.Items...)
	case nil:
		return nil, m.leave("None is no shape")
	}
	return nil, fmt.Errorf("%s is no shape", Format(v))
}

// fits checks that a shape has no negative dimension and at most limit bytes.
func fits(shape Shape, dtype dlpack.DataType, limit int64) error {
	n := int64(dtype.Bits+7) / 8
	for _, d := range shape {
		if d < 0 || d > 1<<31 {
			return fmt.Errorf("a dimension of %d", d)
		}
		if n *= d; n > 1<<31 {
			break
		}
	}
	if n > limit {
		return fmt.Errorf("more than %d bytes", limit)
	}
	return nil
}

// reshape returns a view with another shape, which may be shorter.
func reshape(m *Machine, args []Value) (Value, error) {
	if err := count(args, 2); err != nil {
		return nil, err
	}
	t, err := m.tensor(args[0])
	if err != nil {
		return nil, err
	}
	shape, err := m.asShape(args[1])
	if err != nil {
		return nil, err
	}
	if err := fits(shape, t.DType, int64(len(t.Data()))); err != nil {
		return nil, err
	}
	return &Tensor{t.Memory, t.Offset, shape, t.DType}, nil
}

// tensorToShape reads a vector of int16, int32 or int64.
func tensorToShape(m *Machine, args []Value) (Value, error) {
	if err := count(args, 1); err != nil {
		return nil, err
	}
	t, err := m.tensor(args[0])
	if err != nil {
		return nil, err
	}
	if len(t.Shape) != 1 || t.DType.Code != dlpack.CodeInt {
		return nil, fmt.Errorf("a tensor of type %s with %d dimensions is no shape", t.DType, len(t.Shape))
	}
	data, err := m.read(t)
	if err != nil {
		return nil, err
	}
	m.differs(t.Offset != 0, "tensor_to_shape: TVM ignores the offset of a tensor")
	shape := make(Shape, t.Shape[0])
	for i := range shape {
		switch t.DType {
		case dlpack.Int16:
			shape[i] = int64(int16(binary.LittleEndian.Uint16(data[2*i:])))
		case dlpack.Int32:
			shape[i] = int64(int32(binary.LittleEndian.Uint32(data[4*i:])))
		case dlpack.Int64:
			shape[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		default:
			return nil, fmt.Errorf("a shape of %s", t.DType)
		}
	}
	return shape, nil
}

// allocStorage: machine, shape in bytes, index of the device, data type, scope.
func allocStorage(m *Machine, args []Value) (Value, error) {
	if err := count(args, 5); err != nil {
		return nil, err
	}
	if err := m.context(args[0]); err != nil {
		return nil, err
	}
	shape, err := m.asShape(args[1])
	if err != nil {
		return nil, err
	}
	device, err := asInt(args[2])
	if err != nil {
		return nil, err
	}
	if _, err := asDType(args[3]); err != nil {
		return nil, err
	}
	scope, ok := args[4].(string)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is no scope", Format(args[4]))
	case scope != "global" && scope != "":
		return nil, fmt.Errorf("no memory of scope %q on the host", scope)
	case device != 0 && device != -1:
		return nil, fmt.Errorf("no device with index %d", device)
	}
	m.differs(device == -1, "alloc_storage: the index of the host is an error in TVM's latest versions")
	if len(shape) != 1 {
		return nil, m.leave("the size %s of a storage is no number", formatShape(shape))
	}
	if shape[0] < 0 {
		return nil, fmt.Errorf("a storage of %d bytes", shape[0])
	}
	if shape[0] > 1<<16 {
		return nil, m.leave("a storage of %d bytes", shape[0])
	}
	return &Storage{memory(shape[0])}, nil
}

// allocTensor: storage, offset in bytes, shape, data type, and perhaps a scope.
func allocTensor(m *Machine, args []Value) (Value, error) {
	if len(args) != 4 && len(args) != 5 {
		return nil, m.leave("%d arguments, not 4 or 5", len(args))
	}
	if args[0] == nil {
		return nil, m.leave("None is no storage")
	}
	storage, ok := args[0].(*Storage)
	if !ok {
		return nil, fmt.Errorf("%s is no storage", Format(args[0]))
	}
	offset, err := asInt(args[1])
	if err != nil {
		return nil, err
	}
	shape, err := m.asShape(args[2])
	if err != nil {
		return nil, err
	}
	dtype, err := asDType(args[3])
	if err != nil {
		return nil, err
	}
	if len(args) == 5 {
		switch scope, ok := args[4].(string); {
		case !ok:
			return nil, fmt.Errorf("%s is no scope", Format(args[4]))
		case scope != "global" && scope != "":
			return nil, m.leave("no memory of scope %q on the host", scope)
		}
	}
	limit := int64(len(storage.Memory.Bytes)) - offset
	if offset < 0 || limit < 0 {
		return nil, m.leave("offset %d in a storage of %d bytes", offset, len(storage.Memory.Bytes))
	}
	if err := fits(shape, dtype, limit); err != nil { // TVM's storages have whole pages
		return nil, m.leave("%w", err)
	}
	return &Tensor{storage.Memory, offset, shape, dtype}, nil
}

// ensureZeroOffset returns the tensor, or a copy if it does not begin where its memory does. A machine may return a
// view instead, so neither may be written any more.
func ensureZeroOffset(m *Machine, args []Value) (Value, error) {
	if err := count(args, 1); err != nil {
		return nil, err
	}
	t, err := m.tensor(args[0])
	if err != nil || t.Offset == 0 {
		return t, err
	}
	data, err := m.read(t)
	t.Memory.Constant = true
	return &Tensor{&Memory{Bytes: append([]byte(nil), data...), Constant: true}, 0, t.Shape, t.DType}, err
}
