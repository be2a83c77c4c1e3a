package vmrun

import (
	"errors"
	"fmt"
	"strings"

	"tvmgo/dlpack"
)

// builtins are the functions vm.builtin.* that need no device. They follow docs/abi.md G.3.
var builtins map[string]Function

func init() {
	builtins = map[string]Function{}
	for name, f := range map[string]Function{
		"alloc_shape_heap": allocShapeHeap, "match_shape": matchShape, "match_prim_value": matchPrimValue,
		"make_shape": makeShape, "make_prim_value": makePrimValue,
		"check_tensor_info": checkTensorInfo, "check_shape_info": checkShapeInfo,
		"check_prim_value_info": checkPrimValueInfo, "check_tuple_info": checkTupleInfo,
		"check_func_info": checkFuncInfo, "check_string_info": checkStringInfo,
		"make_tuple": makeTuple, "tuple_getitem": tupleGetItem, "tuple_reset_item": tupleResetItem,
		"read_if_cond": readIfCond, "shape_of": shapeOf, "reshape": reshape, "tensor_to_shape": tensorToShape,
		"copy": copyValue, "null_value": nullValue, "to_device": toDevice, "call_tir_dyn": callTIRDyn,
		"make_closure": makeClosure, "invoke_closure": invokeClosure,
		"alloc_storage": allocStorage, "alloc_tensor": allocTensor, "ensure_zero_offset": ensureZeroOffset,
	} {
		builtins["vm.builtin."+name] = f
	}
}

// count checks the number of arguments.
func count(args []Value, n int) error {
	if len(args) != n {
		return fmt.Errorf("%d arguments, not %d", len(args), n)
	}
	return nil
}

// atLeast checks the number of arguments of a builtin for which TVM does not check it.
func (m *Machine) atLeast(args []Value, n int) error {
	if len(args) < n {
		return m.leave("%d arguments, not %d", len(args), n)
	}
	return nil
}

// message returns the text that a check puts before its error: a string, or None.
func message(v Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("%s is no text for errors", Format(v))
}

// integers converts arguments to ints.
func integers(args ...Value) ([]int64, error) {
	out := make([]int64, len(args))
	for i, a := range args {
		n, err := asInt(a)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// asDType converts an argument to a data type: of data types and their names.
func asDType(v Value) (dlpack.DataType, error) {
	switch v := v.(type) {
	case dlpack.DataType:
		return v, nil
	case string:
		return dlpack.ParseDataType(v)
	}
	return dlpack.DataType{}, fmt.Errorf("%s is no data type", Format(v))
}

// object refuses None where TVM reads an object without a check.
func (m *Machine) object(v Value) error {
	switch v.(type) {
	case nil:
		return m.leave("None is no object")
	case *Tensor, *Tuple, *Closure, *PackedFunction, *Storage, Shape, string:
		return nil
	}
	return fmt.Errorf("%s is no object", Format(v))
}

func checkTensorInfo(m *Machine, args []Value) (Value, error) {
	if err := m.atLeast(args, 3); err != nil {
		return nil, err
	}
	rank, err := asInt(args[1])
	if err != nil {
		return nil, err
	}
	var want Value
	text := args[2]
	if len(args) > 3 {
		want, text = args[2], args[3]
	}
	if _, err := message(text); err != nil {
		return nil, err
	}
	t, ok := args[0].(*Tensor)
	if !ok {
		return nil, fmt.Errorf("%s is no tensor", Format(args[0]))
	}
	if rank != -1 && rank != int64(len(t.Shape)) {
		return nil, fmt.Errorf("the tensor has %d dimensions, not %d", len(t.Shape), rank)
	}
	if want != nil {
		dtype, err := asDType(want)
		if err != nil {
			return nil, err
		}
		if t.DType != dtype {
			return nil, fmt.Errorf("the tensor has type %s, not %s", t.DType, dtype)
		}
	}
	return nil, nil
}

func checkShapeInfo(m *Machine, args []Value) (Value, error) {
	if err := count(args, 3); err != nil {
		return nil, err
	}
	rank, err := asInt(args[1])
	if err != nil {
		return nil, err
	}
	if _, err := message(args[2]); err != nil {
		return nil, err
	}
	if err := m.object(args[0]); err != nil {
		return nil, err
	}
	s, ok := args[0].(Shape)
	if !ok {
		return nil, fmt.Errorf("%s is no shape", Format(args[0]))
	}
	if rank != -1 && rank != int64(len(s)) {
		return nil, fmt.Errorf("the shape has %d dimensions, not %d", len(s), rank)
	}
	return nil, nil
}

func checkPrimValueInfo(m *Machine, args []Value) (Value, error) {
	if err := count(args, 3); err != nil {
		return nil, err
	}
	dtype, err := asDType(args[1])
	if err != nil {
		return nil, err
	}
	if _, err := message(args[2]); err != nil {
		return nil, err
	}
	if args[0] == nil {
		return nil, m.leave("None is no number")
	}
	_, notInt := asInt(args[0])
	switch _, float := args[0].(float64); {
	case dtype.IsBool(), dtype.Code == dlpack.CodeInt, dtype.Code == dlpack.CodeUInt:
		return nil, notInt
	case dtype.Code == dlpack.CodeFloat && (float || notInt == nil):
		return nil, nil
	}
	return nil, fmt.Errorf("%s is no %s", Format(args[0]), dtype)
}

func checkTupleInfo(m *Machine, args []Value) (Value, error) {
	if err := count(args, 3); err != nil {
		return nil, err
	}
	n, err := asInt(args[1])
	if err != nil {
		return nil, err
	}
	if _, err := message(args[2]); err != nil {
		return nil, err
	}
	if err := m.object(args[0]); err != nil {
		return nil, err
	}
	t, ok := args[0].(*Tuple)
	if !ok {
		return nil, fmt.Errorf("%s is no tuple", Format(args[0]))
	}
	if n != int64(len(t.Items)) {
		return nil, fmt.Errorf("the tuple has %d items, not %d", len(t.Items), n)
	}
	return nil, nil
}

func checkFuncInfo(m *Machine, args []Value) (Value, error) {
	if err := count(args, 2); err != nil {
		return nil, err
	}
	if _, err := message(args[1]); err != nil {
		return nil, err
	}
	if err := m.object(args[0]); err != nil {
		return nil, err
	}
	switch args[0].(type) {
	case *Closure, *PackedFunction:
		return nil, nil
	}
	return nil, fmt.Errorf("%s is no function", Format(args[0]))
}

func checkStringInfo(m *Machine, args []Value) (Value, error) {
	if err := count(args, 2); err != nil {
		return nil, err
	}
	if _, err := message(args[1]); err != nil {
		return nil, err
	}
	if _, ok := args[0].(string); !ok {
		return nil, fmt.Errorf("%s is no string", Format(args[0]))
	}
	return nil, nil
}

func makeTuple(m *Machine, args []Value) (Value, error) {
	return &Tuple{append([]Value(nil), args...)}, nil
}

// item returns the tuple and the index of the two tuple builtins.
func item(args []Value) (*Tuple, int64, error) {
	if err := count(args, 2); err != nil {
		return nil, 0, err
	}
	t, ok := args[0].(*Tuple)
	if !ok {
		return nil, 0, fmt.Errorf("%s is no tuple", Format(args[0]))
	}
	i, err := asInt(args[1])
	if err == nil && (i < 0 || i >= int64(len(t.Items))) {
		err = fmt.Errorf("item %d of a tuple with %d", i, len(t.Items))
	}
	return t, i, err
}

func tupleGetItem(m *Machine, args []Value) (Value, error) {
	t, i, err := item(args)
	if err != nil {
		return nil, err
	}
	return t.Items[i], nil
}

func tupleResetItem(m *Machine, args []Value) (Value, error) {
	if len(args) > 0 && args[0] == nil {
		return nil, m.leave("None is no tuple")
	}
	t, i, err := item(args)
	if err == nil {
		t.Items[i] = nil
	}
	return nil, err
}

func copyValue(m *Machine, args []Value) (Value, error) {
	if err := count(args, 1); err != nil {
		return nil, err
	}
	return args[0], nil
}

func nullValue(m *Machine, args []Value) (Value, error) { return nil, count(args, 0) }

func makeClosure(m *Machine, args []Value) (Value, error) {
	if len(args) == 0 {
		return nil, m.leave("no function")
	}
	bound := append([]Value(nil), args[1:]...)
	switch f := args[0].(type) {
	case *Closure:
		return &Closure{Of: f, Bound: bound}, nil
	case *PackedFunction:
		return &Closure{Packed: f, Bound: bound}, nil
	case nil:
		return nil, m.leave("None is no function")
	}
	return nil, fmt.Errorf("%s is no function", Format(args[0]))
}

// context checks that an argument is the machine.
func (m *Machine) context(v Value) error {
	switch v.(type) {
	case Context:
		return nil
	case nil:
		return m.leave("None is not the machine")
	}
	return fmt.Errorf("%s is not the machine", Format(v))
}

func invokeClosure(m *Machine, args []Value) (Value, error) {
	if err := m.atLeast(args, 2); err != nil {
		return nil, err
	}
	if err := m.context(args[0]); err != nil {
		return nil, err
	}
	return m.Invoke(args[1], args[2:])
}

// callTIRDyn calls a packed function with the tensors, then with the dimensions of the shape that is the last argument.
func callTIRDyn(m *Machine, args []Value) (Value, error) {
	if err := m.atLeast(args, 2); err != nil {
		return nil, err
	}
	f, ok := args[0].(*PackedFunction)
	if !ok {
		return nil, fmt.Errorf("%s is no packed function", Format(args[0]))
	}
	dims, ok := args[len(args)-1].(Shape)
	if !ok {
		return nil, fmt.Errorf("%s is no shape", Format(args[len(args)-1]))
	}
	all := append([]Value(nil), args[1:len(args)-1]...)
	for _, d := range dims {
		all = append(all, d)
	}
	return nil, errors.Join(second(m.Invoke(f, all)))
}

func second(_ Value, err error) error { return err }

func toDevice(m *Machine, args []Value) (Value, error) {
	if len(args) != 3 && len(args) != 4 {
		return nil, fmt.Errorf("%d arguments, not 3 or 4", len(args))
	}
	t, ok := args[0].(*Tensor)
	if !ok {
		return nil, fmt.Errorf("%s is no tensor", Format(args[0]))
	}
	if device, err := integers(args[1:3]...); err != nil || device[0] != int64(dlpack.CPU) || device[1] != 0 {
		return nil, fmt.Errorf("no device %s", strings.Join([]string{Format(args[1]), Format(args[2])}, ", "))
	}
	return t, nil
}
