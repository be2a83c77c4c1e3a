package vm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
)

// value is an argument or a result in the form of testdata/wheel.py: an object with one entry, whose key is the type.
type value map[string]any

var (
	none    = value{"none": 0}
	context = value{"str": "main, x"}
)

func integer(i int) value         { return value{"int": i} }
func shape(dims ...int64) value   { return value{"shape": append([]int64{}, dims...)} }
func dtype(name string) value     { return value{"dtype": name} }
func array(items ...value) value  { return value{"array": append([]value{}, items...)} }
func function(name string) value  { return value{"function": name} }
func intTensor(data ...int) value { return tensor("int64", []int64{int64(len(data))}, data...) }

func tensor(dtype string, shape []int64, data ...int) value {
	return value{"tensor": []any{dtype, append([]int64{}, shape...), append([]int{}, data...)}}
}

// wheelCall is a call of a builtin. swap lists the arguments that may be replaced by values of any other type: with
// others, Apache TVM would access memory that is not its own.
type wheelCall struct {
	name string
	args []value
	swap []int
}

// goValue makes the value for a call of the runtime. Tensors are closed when the test ends.
func goValue(t *testing.T, v value) any {
	for kind, x := range v {
		switch kind {
		case "none":
			return nil
		case "shape":
			return runtime.Shape(x.([]int64))
		case "dtype":
			return must.Get(dlpack.ParseDataType(x.(string)))(t)
		case "function":
			return must.Open(runtime.Global(x.(string)))(t)
		case "array":
			list := []any{}
			for _, e := range x.([]value) {
				list = append(list, goValue(t, e))
			}
			return list
		case "tensor":
			parts := x.([]any)
			dt := must.Get(dlpack.ParseDataType(parts[0].(string)))(t)
			a := must.Open(runtime.NewTensor(dt, parts[1].([]int64), dlpack.Device{Type: dlpack.CPU}))(t)
			require.NoError(t, a.CopyFromBytes(tensorBytes(dt, parts[2].([]int))))
			return a
		default:
			return x
		}
	}
	return nil
}

// tensorBytes are elements as integers of the width of a type, which must not be a float unless all are 0.
func tensorBytes(dt dlpack.DataType, data []int) []byte {
	raw := []byte{}
	for _, x := range data {
		for b := range int(dt.Bits) / 8 {
			raw = append(raw, byte(x>>(8*b)))
		}
	}
	return raw
}

// wheelText is the inverse of goValue; it closes what it is given.
func wheelText(t *testing.T, x any) value {
	switch x := x.(type) {
	case nil:
		return none
	case bool:
		return value{"bool": x}
	case int:
		return value{"int": x}
	case int64:
		return value{"int": x}
	case float64:
		return value{"float": x}
	case string:
		return value{"str": x}
	case runtime.Shape:
		return shape(x...)
	case dlpack.DataType:
		return value{"dtype": x.String()}
	case *runtime.Function:
		x.Close()
		return function("")
	case []any:
		list := []value{}
		for _, e := range x {
			list = append(list, wheelText(t, e))
		}
		return array(list...)
	case *runtime.Tensor:
		raw := make([]byte, x.Size())
		require.NoError(t, x.CopyToBytes(raw))
		data, width := []int{}, int(x.DType().Bits)/8
		for i := 0; i < len(raw); i += width {
			e := 0
			for b := range width {
				e |= int(raw[i+b]) << (8 * b)
			}
			if shift := 64 - 8*width; strings.HasPrefix(x.DType().String(), "int") {
				e = e << shift >> shift
			}
			data = append(data, e)
		}
		v := tensor(x.DType().String(), x.Shape(), data...)
		x.Close()
		return v
	}
	t.Fatalf("no value of type %T was expected", x)
	return nil
}

// ours is the answer of the runtime in the form of wheel.py, without the kind of an error.
func ours(t *testing.T, c wheelCall) string {
	args := []any{}
	for _, a := range c.args {
		args = append(args, goValue(t, a))
	}
	result, err := must.Open(runtime.Global(c.name))(t).Call(args...)
	if err != nil {
		require.ErrorContains(t, err, c.name)
		return "an error"
	}
	after := []value{}
	r := wheelText(t, result)
	for i, a := range args {
		if _, isTuple := a.([]any); isTuple {
			after = append(after, c.args[i]) // a copy was passed
			continue
		}
		after = append(after, wheelText(t, a))
	}
	return text(t, map[string]any{"ok": r, "args": after})
}

func text(t *testing.T, v any) string { return string(must.Get(json.Marshal(v))(t)) }

// compareWithWheel checks that each call gives the same result and leaves the same values in its tensors as in Apache
// TVM, or fails in both. Where Apache TVM crashes, ours fails.
func compareWithWheel(t *testing.T, calls []wheelCall) (succeeded int) {
	questions := []any{}
	for _, c := range calls {
		questions = append(questions, []any{c.name, c.args})
	}
	answers := bytes.Split(bytes.TrimSpace(wheel.Run(t, strings.NewReader(text(t, questions)), "testdata/wheel.py")),
		[]byte("\n"))
	require.Len(t, answers, len(calls))
	for i, c := range calls {
		var theirs map[string]any
		require.NoError(t, json.Unmarshal(answers[i], &theirs))
		expected := "an error"
		if theirs["ok"] != nil {
			for k, a := range c.args {
				if a["array"] != nil { // tuples are compared by what the call returned
					theirs["args"].([]any)[k] = a
				}
				if a["function"] != nil {
					theirs["args"].([]any)[k] = function("")
				}
			}
			expected = text(t, theirs)
			succeeded++
		}
		got := ours(t, c)
		if expected != "an error" && got != "an error" {
			assert.JSONEq(t, expected, got, "%s%s", c.name, text(t, c.args))
		} else {
			assert.Equal(t, expected, got, "%s%s: Apache TVM says %s", c.name, text(t, c.args), answers[i])
		}
	}
	return succeeded
}

// swapped are values of every type, which take the place of arguments.
func swapped(r *rand.Rand) value {
	all := []value{none, integer(-1), integer(2), {"bool": true}, {"float": 1.5}, {"str": "s"}, shape(2, 3), shape(),
		array(integer(1), integer(2)), array(), dtype("int64"), dtype("float32"), intTensor(2, 3),
		tensor("float32", []int64{2, 2}, 0, 0, 0, 0), {"str": "a text that is longer than seven bytes"},
		function("vm.builtin.copy")}
	return all[r.IntN(len(all))]
}

// pairs are codes with operands that are in the heap of three slots, for a shape; few of them do not match.
func pairs(r *rand.Rand, heap []int, dims []int64) []value {
	list := []value{}
	for _, d := range dims {
		code := r.IntN(4)
		operand := r.IntN(len(heap))
		if code == 0 {
			operand = int(d)
		}
		if code == 3 {
			heap[operand] = int(d)
		}
		if r.IntN(12) == 0 && code == 0 {
			operand++
		}
		if r.IntN(40) == 0 {
			code = 4 + r.IntN(3)
		}
		list = append(list, integer(code), integer(operand))
	}
	return list
}

func randomDims(r *rand.Rand, least int64) []int64 {
	dims := make([]int64, r.IntN(4))
	for i := range dims {
		dims[i] = least + r.Int64N(4)
	}
	return dims
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func randomTensor(r *rand.Rand, dt string, dims []int64) value {
	n := 1
	for _, d := range dims {
		n *= int(d)
	}
	data := make([]int, n)
	for i := range data {
		if dt == "bool" {
			data[i] = r.IntN(2)
		} else if !strings.HasPrefix(dt, "float") {
			data[i] = r.IntN(3)
		}
	}
	return tensor(dt, dims, data...)
}

// randomCall makes a call that mostly succeeds.
func randomCall(r *rand.Rand) wheelCall {
	heap := []int{r.IntN(5), r.IntN(5), r.IntN(5)}
	dims := randomDims(r, 1)
	dt := pick(r, "float32", "int64", "int32", "int16", "int8", "uint8", "bool", "uint32")
	x := randomTensor(r, dt, dims)
	number := pick(r, integer(3), value{"bool": true}, value{"float": 2.5})
	ndim := integer(pick(r, len(dims), len(dims), -1, 2))
	tuple := []value{number, x, shape(dims...), none, {"str": "a text that is longer than seven bytes"}}[:r.IntN(6)]
	switch pick(r, "match_shape", "match_shape", "make_shape", "make_shape", "match_prim_value", "make_prim_value",
		"check_tensor_info", "check_tensor_info", "check_shape_info", "check_prim_value_info", "check_string_info",
		"check_tuple_info", "check_func_info", "shape_of", "reshape", "reshape", "copy", "null_value", "read_if_cond",
		"tensor_to_shape", "make_tuple", "tuple_getitem", "tuple_reset_item", "to_device", "ensure_zero_offset",
		"call_tir_dyn") {
	case "match_shape":
		codes := pairs(r, heap, dims)
		first := pick(r, shape(dims...), x)
		size := integer(pick(r, len(dims), len(dims), len(dims), len(dims)+1))
		args := append(append([]value{first, intTensor(heap...), size}, codes...), context)
		return wheelCall{"match_shape", args, []int{0, len(args) - 1}}
	case "make_shape":
		args := []value{intTensor(heap...), integer(len(dims))}
		for range dims {
			args = append(args, integer(pick(r, 0, 1, 1, 1, 1, 1, r.IntN(4))), integer(r.IntN(3)))
		}
		return wheelCall{"make_shape", args, nil}
	case "match_prim_value":
		args := []value{integer(r.IntN(5)), intTensor(heap...), integer(r.IntN(5)), integer(r.IntN(3)), context}
		return wheelCall{"match_prim_value", args, []int{0, 4}}
	case "make_prim_value":
		args := []value{intTensor(heap...), integer(pick(r, 0, 1, 1, 2)), integer(r.IntN(3))}
		return wheelCall{"make_prim_value", args, nil}
	case "check_tensor_info":
		if r.IntN(2) == 0 {
			return wheelCall{"check_tensor_info", []value{x, ndim, context}, []int{0, 1, 2}}
		}
		of := pick(r, dtype(dt), dtype(dt), dtype("float32"), none)
		return wheelCall{"check_tensor_info", []value{x, ndim, of, context}, []int{0, 1, 2, 3}}
	case "check_shape_info":
		return wheelCall{"check_shape_info", []value{shape(dims...), ndim, context}, []int{0, 1, 2}}
	case "check_prim_value_info":
		of := dtype(pick(r, "int64", "int1", "uint8", "bool", "float16", "float64", "bfloat16", "float8_e4m3fn"))
		return wheelCall{"check_prim_value_info", []value{number, of, context}, []int{0, 1, 2}}
	case "check_string_info":
		return wheelCall{"check_string_info", []value{{"str": "s"}, context}, []int{0, 1}}
	case "check_tuple_info":
		size := integer(pick(r, len(tuple), len(tuple), 2, -1))
		return wheelCall{"check_tuple_info", []value{array(tuple...), size, context}, []int{0, 1, 2}}
	case "check_func_info":
		return wheelCall{"check_func_info", []value{function("vm.builtin.copy"), context}, []int{0, 1}}
	case "reshape":
		to := randomDims(r, pick[int64](r, 0, 1))
		if len(to) > 0 && r.IntN(6) == 0 {
			to = append([]int64{-1}, to...)
			for i := range to[1:] {
				to[i+1] = 1 // one negative dimension: with two, Apache TVM multiplies them
			}
		}
		return wheelCall{"reshape", []value{x, shape(to...)}, []int{0}}
	case "null_value":
		return wheelCall{"null_value", []value{none}[:r.IntN(2)], nil}
	case "read_if_cond":
		return wheelCall{"read_if_cond", []value{pick(r, x, x, number, integer(0))}, []int{0}}
	case "tensor_to_shape":
		return wheelCall{"tensor_to_shape", []value{randomTensor(r, dt, []int64{1 + r.Int64N(12)})}, []int{0}}
	case "make_tuple":
		return wheelCall{"make_tuple", tuple, nil}
	case "tuple_getitem":
		return wheelCall{"tuple_getitem", []value{array(tuple...), integer(r.IntN(7) - 1)}, []int{0, 1}}
	case "tuple_reset_item":
		return wheelCall{"tuple_reset_item", []value{array(tuple...), integer(r.IntN(7) - 1)}, []int{0, 1}}
	case "to_device":
		args := []value{x, integer(1), integer(0), {"str": pick(r, "global", "", "texture")}}
		return wheelCall{"to_device", args[:3+r.IntN(2)], []int{0}}
	case "call_tir_dyn":
		args := append(append([]value{function("vm.builtin.make_tuple")}, tuple...), shape(dims...))
		return wheelCall{"call_tir_dyn", args, []int{0, len(args) - 1}}
	case "copy":
		return wheelCall{"copy", []value{pick(r, x, number, shape(dims...))}, []int{0}}
	case "shape_of":
		return wheelCall{"shape_of", []value{x}, []int{0}}
	default:
		return wheelCall{"ensure_zero_offset", []value{x}, []int{0}}
	}
}

func TestBuiltins_LikeApacheTVM(t *testing.T) {
	r := testseed.Rand(t)
	calls := []wheelCall{}
	names := map[string]int{}
	for range 1000 {
		c := randomCall(r)
		c.name = "vm.builtin." + c.name
		if len(c.swap) > 0 && r.IntN(5) == 0 {
			i := pick(r, c.swap...)
			c.args[i] = swapped(r)
			if c.name == "vm.builtin.match_shape" && i > 0 && c.args[i]["none"] != nil {
				c.args[i] = context // None is no text for errors only in Apache TVM
			}
		}
		names[c.name]++
		calls = append(calls, c)
	}
	require.Greater(t, len(names), 20, fmt.Sprint(names))
	require.Greater(t, compareWithWheel(t, calls), len(calls)/2)
}
