package vmrun

import (
	"fmt"
	"strings"

	"tvmgo/dlpack"
)

// TestFunctions are the packed functions that random programs call beside the builtins. A machine under test needs
// functions with the same names and effects:
//
//	vmrun.add(a, b int) int               a + b, modulo 2^64
//	vmrun.less(a, b int) bool             a < b
//	vmrun.addf(a, b float) float          a + b
//	vmrun.sum(x tensor) int               the sum of its bytes
//	vmrun.fill(x tensor, n int)           sets each byte to the low byte of n
//	vmrun.mix(x, y tensor, n... int)      byte i of y = byte i%len(x) of x + i + the sum of n; nothing if x is empty
//	vmrun.bytes(s shape, t dtype) shape   the number of bytes of a tensor, as a shape
//	vmrun.pick(n int, v...) any           v[n % len(v)], for n >= 0
//	vmrun.invoke(machine, f, args...) any what vm.builtin.invoke_closure returns for the same arguments
//	vmrun.fail(text string)               fails with this text
//	vmrun.log(v...)                       appends Format of a tuple of v to the trace
//
// Where they pass tuples on, they pass copies, as functions in Go do.
var TestFunctions map[string]Function

func init() {
	TestFunctions = map[string]Function{
		"vmrun.add": func(_ *Machine, args []Value) (Value, error) {
			n, err := numbers(args, 2)
			if err != nil {
				return nil, err
			}
			return n[0] + n[1], nil
		},
		"vmrun.less": func(_ *Machine, args []Value) (Value, error) {
			n, err := numbers(args, 2)
			if err != nil {
				return nil, err
			}
			return n[0] < n[1], nil
		},
		"vmrun.addf": func(_ *Machine, args []Value) (Value, error) {
			if err := count(args, 2); err != nil {
				return nil, err
			}
			a, ok1 := args[0].(float64)
			b, ok2 := args[1].(float64)
			if !ok1 || !ok2 {
				return nil, fmt.Errorf("%s or %s is no float", Format(args[0]), Format(args[1]))
			}
			return a + b, nil
		},
		"vmrun.sum":   sum,
		"vmrun.fill":  fill,
		"vmrun.mix":   mix,
		"vmrun.bytes": bytesOf,
		"vmrun.pick":  pick,
		"vmrun.invoke": func(m *Machine, args []Value) (Value, error) {
			result, err := invokeClosure(m, copyTuples(args))
			return copyTuples([]Value{result})[0], err
		},
		"vmrun.fail": func(_ *Machine, args []Value) (Value, error) {
			text, _ := args[0].(string)
			return nil, fmt.Errorf("%s", text)
		},
		"vmrun.log": func(m *Machine, args []Value) (Value, error) {
			m.Trace = append(m.Trace, m.show(&Tuple{args}))
			return nil, nil
		},
	}
}

// numbers returns n arguments that must be ints; these functions don't take bools.
func numbers(args []Value, n int) ([]int64, error) {
	if err := count(args, n); err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i, a := range args {
		v, ok := a.(int64)
		if !ok {
			return nil, fmt.Errorf("%s is no integer", Format(a))
		}
		out[i] = v
	}
	return out, nil
}

func sum(m *Machine, args []Value) (Value, error) {
	if err := count(args, 1); err != nil {
		return nil, err
	}
	t, err := tensorArgument(args[0])
	if err != nil {
		return nil, err
	}
	data, err := m.read(t)
	n := int64(0)
	for _, b := range data {
		n += int64(b)
	}
	return n, err
}

func fill(m *Machine, args []Value) (Value, error) {
	if err := count(args, 2); err != nil {
		return nil, err
	}
	n, err := numbers(args[1:], 1)
	if err != nil {
		return nil, err
	}
	t, err := tensorArgument(args[0])
	if err != nil {
		return nil, err
	}
	data, err := m.write(t)
	for i := range data {
		data[i] = byte(n[0])
	}
	return nil, err
}

func mix(m *Machine, args []Value) (Value, error) {
	if len(args) < 2 {
		return nil, count(args, 2)
	}
	numbers, err := numbers(args[2:], len(args)-2)
	if err != nil {
		return nil, err
	}
	x, err := tensorArgument(args[0])
	if err != nil {
		return nil, err
	}
	y, err := tensorArgument(args[1])
	if err != nil {
		return nil, err
	}
	from, err := m.read(x)
	if err != nil || len(from) == 0 {
		return nil, err
	}
	from = append([]byte(nil), from...) // x and y may share memory
	to, err := m.write(y)
	salt := int64(0)
	for _, n := range numbers {
		salt += n
	}
	for i := range to {
		to[i] = from[i%len(from)] + byte(i) + byte(salt)
	}
	return nil, err
}

func bytesOf(_ *Machine, args []Value) (Value, error) {
	if err := count(args, 2); err != nil {
		return nil, err
	}
	shape, ok1 := args[0].(Shape)
	dtype, ok2 := args[1].(dlpack.DataType)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%s or %s is no shape and data type", Format(args[0]), Format(args[1]))
	}
	return Shape{size(shape, dtype)}, nil
}

func pick(_ *Machine, args []Value) (Value, error) {
	if len(args) < 2 {
		return nil, count(args, 2)
	}
	n, err := numbers(args[:1], 1)
	if err != nil || n[0] < 0 {
		return nil, fmt.Errorf("%s is no index", strings.TrimSpace(Format(args[0])))
	}
	return copyTuples(args[1:])[n[0]%int64(len(args)-1)], nil
}

// copyTuples returns the values with new tuples, which contain the same tensors.
func copyTuples(values []Value) []Value {
	out := make([]Value, len(values))
	for i, v := range values {
		if t, ok := v.(*Tuple); ok {
			v = &Tuple{copyTuples(t.Items)}
		}
		out[i] = v
	}
	return out
}
