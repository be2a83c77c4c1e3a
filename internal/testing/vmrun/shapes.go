package vmrun

import (
	"encoding/binary"
	"fmt"

	"tvmgo/dlpack"
)

// The codes of match_shape and match_prim_value, and of make_shape and make_prim_value.
const (
	equalsImmediate, storeToHeap, ignore, equalsHeap = 0, 1, 2, 3
	useImmediate, loadFromHeap                       = 0, 1
)

func allocShapeHeap(m *Machine, args []Value) (Value, error) {
	if err := count(args, 2); err != nil {
		return nil, err
	}
	if err := m.context(args[0]); err != nil { // without which a heap on the host can be made as well
		return nil, m.leave("%w", err)
	}
	n, err := asInt(args[1])
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("a heap with %d cells", n)
	}
	if n > 1<<16 {
		return nil, m.leave("a heap with %d cells", n)
	}
	return &Tensor{Memory: memory(8 * n), Shape: []int64{n}, DType: dlpack.Int64}, nil
}

// heap checks that an argument is a heap, or None where no code may need one. TVM looks at it when a code does.
func (m *Machine) heap(v Value) error {
	if t, ok := v.(*Tensor); v != nil && (!ok || t.DType != dlpack.Int64 || len(t.Shape) != 1) {
		return m.leave("%s is no heap", Format(v))
	}
	return nil
}

// cell returns a cell of a heap, as a tensor without dimensions. TVM checks neither the heap nor the index.
func (m *Machine) cell(heap Value, index int64) (*Tensor, error) {
	if err := m.heap(heap); err != nil || heap == nil {
		return nil, m.leave("%s is no heap", Format(heap))
	}
	t := heap.(*Tensor)
	if index < 0 || index >= t.Shape[0] {
		return nil, m.leave("cell %d of a heap with %d", index, t.Shape[0])
	}
	return &Tensor{t.Memory, t.Offset + 8*index, nil, dlpack.Int64}, nil
}

// load returns the number in a cell of a heap.
func (m *Machine) load(heap Value, index int64) (int64, error) {
	cell, err := m.cell(heap, index)
	if err != nil {
		return 0, err
	}
	bytes, err := m.read(cell)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(bytes)), nil
}

// match executes a match code for one number.
func (m *Machine) match(value int64, heap Value, code, operand int64) error {
	switch code {
	case equalsImmediate:
		if value != operand {
			return fmt.Errorf("%d is not %d", value, operand)
		}
	case storeToHeap:
		cell, err := m.cell(heap, operand)
		if err != nil {
			return err
		}
		bytes, err := m.write(cell)
		if err == nil {
			binary.LittleEndian.PutUint64(bytes, uint64(value))
		}
		return err
	case equalsHeap:
		stored, err := m.load(heap, operand)
		if err == nil && value != stored {
			err = fmt.Errorf("%d is not %d, which an earlier match stored", value, stored)
		}
		return err
	case ignore:
	default:
		return fmt.Errorf("no match code %d", code)
	}
	return nil
}

// matchShape: tensor or shape, heap, n, n × (code, operand), text.
func matchShape(m *Machine, args []Value) (Value, error) {
	if err := m.atLeast(args, 3); err != nil {
		return nil, err
	}
	if err := m.heap(args[1]); err != nil {
		return nil, err
	}
	var dims []int64
	switch v := args[0].(type) {
	case *Tensor:
		dims = v.Shape
	case Shape:
		dims = v
	case *Tuple:
		items, err := integers(v.Items...)
		if err != nil {
			return nil, err
		}
		dims = items
	case nil:
		return nil, m.leave("None is no tensor or shape")
	default:
		return nil, fmt.Errorf("%s is no tensor or shape", Format(v))
	}
	n, err := asInt(args[2])
	if err != nil {
		return nil, err
	}
	if n < 0 || int64(len(args)) < 4+2*n {
		return nil, m.leave("%d arguments for %d dimensions", len(args), n)
	}
	if _, err := message(args[3+2*n]); err != nil {
		return nil, err
	}
	m.differs(args[3+2*n] == nil, "match_shape: TVM wants a text")
	if n != int64(len(dims)) {
		return nil, fmt.Errorf("%d dimensions, not %d", len(dims), n)
	}
	for i := range n {
		code, err := integers(args[3+2*i], args[4+2*i])
		if err != nil {
			return nil, err
		}
		if err := m.match(dims[i], args[1], code[0], code[1]); err != nil {
			return nil, fmt.Errorf("dimension %d: %w", i, err)
		}
	}
	return nil, nil
}

// matchPrimValue: value, heap, code, operand, text.
func matchPrimValue(m *Machine, args []Value) (Value, error) {
	if err := count(args, 5); err != nil {
		return nil, err
	}
	numbers, err := integers(args[0], args[2], args[3])
	if err != nil {
		return nil, err
	}
	if _, ok := args[1].(*Tensor); !ok {
		return nil, fmt.Errorf("%s is no heap", Format(args[1]))
	}
	if err := m.heap(args[1]); err != nil {
		return nil, err
	}
	if _, err := message(args[4]); err != nil {
		return nil, err
	}
	return nil, m.match(numbers[0], args[1], numbers[1], numbers[2])
}

// build executes a make code.
func (m *Machine) build(heap Value, code, operand int64) (int64, error) {
	switch code {
	case useImmediate:
		return operand, nil
	case loadFromHeap:
		return m.load(heap, operand)
	}
	return 0, fmt.Errorf("no make code %d", code)
}

// makeShape: heap, n, n × (code, operand).
func makeShape(m *Machine, args []Value) (Value, error) {
	if err := m.atLeast(args, 2); err != nil {
		return nil, err
	}
	n, err := asInt(args[1])
	if err != nil {
		return nil, err
	}
	if n < 0 || int64(len(args)) < 2+2*n {
		return nil, m.leave("%d arguments for %d dimensions", len(args), n)
	}
	if err := m.heap(args[0]); err != nil {
		return nil, err
	}
	shape := make(Shape, n)
	for i := range shape {
		code, err := integers(args[2+2*i], args[3+2*i])
		if err != nil {
			return nil, err
		}
		if shape[i], err = m.build(args[0], code[0], code[1]); err != nil {
			return nil, err
		}
	}
	return shape, nil
}

// makePrimValue: heap, code, operand.
func makePrimValue(m *Machine, args []Value) (Value, error) {
	if err := count(args, 3); err != nil {
		return nil, err
	}
	code, err := integers(args[1], args[2])
	if err != nil {
		return nil, err
	}
	if _, ok := args[0].(*Tensor); !ok {
		return nil, fmt.Errorf("%s is no heap", Format(args[0]))
	}
	if err := m.heap(args[0]); err != nil {
		return nil, err
	}
	return m.build(args[0], code[0], code[1])
}
