package graph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/graph"
)

// ---- graphs that are made by hand ----

type ref = [3]int

// entry describes an output of a node.
type entry struct {
	dtype string
	shape []int64
	sid   int
	dev   dlpack.DeviceType
}

type node struct {
	name, fn string // fn "" is an input
	in       []ref
	out      []entry
	flatten  bool
}

func f32(sid int, shape ...int64) []entry { return []entry{{"float32", shape, sid, dlpack.CPU}} }

// graphText is the JSON of a graph.
func graphText(t testing.TB, nodes []node, heads ...ref) string {
	t.Helper()
	var list []any
	var inputs, rows, sids, devs []int
	var types []string
	var shapes [][]int64
	rows = append(rows, 0)
	for i, n := range nodes {
		in := n.in
		if in == nil {
			in = []ref{}
		}
		o := map[string]any{"op": "null", "name": n.name, "inputs": in}
		if n.fn == "" {
			inputs = append(inputs, i)
		} else {
			flatten := "0"
			if n.flatten {
				flatten = "1"
			}
			o["op"] = "tvm_op"
			o["attrs"] = map[string]string{"func_name": n.fn, "num_inputs": fmt.Sprint(len(n.in)),
				"num_outputs": fmt.Sprint(len(n.out)), "flatten_data": flatten}
		}
		list = append(list, o)
		for _, e := range n.out {
			types, sids, devs = append(types, e.dtype), append(sids, e.sid), append(devs, int(e.dev))
			shapes = append(shapes, e.shape)
		}
		rows = append(rows, len(types))
	}
	text, err := json.Marshal(map[string]any{"nodes": list, "arg_nodes": inputs, "heads": heads, "node_row_ptr": rows,
		"attrs": map[string]any{"dltype": []any{"list_str", types}, "storage_id": []any{"list_int", sids},
			"device_index": []any{"list_int", devs}, "shape": []any{"list_shape", shapes}}})
	require.NoError(t, err)
	return string(text)
}

// goModule is a module of Go functions.
type goModule struct {
	runtime.ModuleBase
	functions map[string]func(args []*runtime.Tensor) error
}

func (m goModule) Function(name string) (*runtime.Function, error) {
	f := m.functions[name]
	if f == nil {
		return nil, runtime.ErrNotFound
	}
	return runtime.NewFunction(func(args ...any) (any, error) {
		var tensors []*runtime.Tensor
		for _, a := range args {
			tensors = append(tensors, a.(*runtime.Tensor))
		}
		return nil, f(tensors)
	})
}

func (m goModule) Functions() []string {
	var names []string
	for name := range m.functions {
		names = append(names, name)
	}
	return names
}

func goLibrary(t testing.TB, functions map[string]func(args []*runtime.Tensor) error) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewModule("go", runtime.Runnable, goModule{functions: functions}))(t)
}

// elementwise makes a function of one input and one output.
func elementwise[A, B dlpack.Scalar](f func(A) B) func(args []*runtime.Tensor) error {
	return func(args []*runtime.Tensor) error {
		in, err := runtime.ToSlice[A](args[0])
		if err != nil {
			return err
		}
		out := make([]B, len(in))
		for i, x := range in {
			out[i] = f(x)
		}
		return runtime.CopyFrom(args[1], out)
	}
}

func double(x float32) float32 { return 2 * x }

func create(t testing.TB, text string, lib *runtime.Module, devices ...dlpack.Device) *runtime.Module {
	t.Helper()
	return must.Open(graph.Create(text, lib, devices...))(t)
}

func address(x *runtime.Tensor) uintptr { return x.Data() + uintptr(x.ByteOffset()) }

// Functions with several outputs, data that share storage, vectors, and every kind of element.
func TestGraph_OutputsStorageAndTypes(t *testing.T) {
	noLeaks(t)
	flat := 0
	lib := goLibrary(t, map[string]func(args []*runtime.Tensor) error{
		"split": func(args []*runtime.Tensor) error { // signs and absolute values
			in, err := runtime.ToSlice[int32](args[0])
			if err != nil {
				return err
			}
			signs, sizes := make([]bool, len(in)), make([]int32, len(in))
			for i, x := range in {
				signs[i], sizes[i] = x < 0, max(x, -x)
			}
			return errors.Join(runtime.CopyFrom(args[1], signs), runtime.CopyFrom(args[2], sizes))
		},
		"half":  elementwise(func(x int32) dlpack.Float16Bits { return dlpack.Float16Of(float64(x) / 2) }),
		"wide":  elementwise(func(x int32) int64 { return int64(x) << 40 }),
		"twice": elementwise(func(x int32) int32 { return 2 * x }),
		"flat": func(args []*runtime.Tensor) error {
			flat = len(args[0].Shape())*10 + len(args[1].Shape())
			return elementwise(func(x int32) int32 { return x + 1 })(args)
		},
	})
	i32 := func(sid int, shape ...int64) []entry { return []entry{{"int32", shape, sid, dlpack.CPU}} }
	text := graphText(t, []node{
		{name: "x", out: i32(0, 2, 3)},
		{name: "parts", fn: "split", in: []ref{{0, 0}}, out: []entry{{"bool", []int64{2, 3}, 1, dlpack.CPU},
			{"int32", []int64{2, 3}, 2, dlpack.CPU}}},
		{name: "vector", fn: "__nop", in: []ref{{1, 1}}, out: i32(2, 6)},
		{name: "half", fn: "half", in: []ref{{2, 0}}, out: []entry{{"float16", []int64{6}, 3, dlpack.CPU}}},
		{name: "a", fn: "twice", in: []ref{{2, 0}}, out: i32(4, 6)},
		{name: "b", fn: "flat", in: []ref{{1, 1}}, out: i32(5, 3, 2), flatten: true},
		{name: "c", fn: "twice", in: []ref{{5, 0}}, out: i32(4, 6)}, // in the storage of a, which no one needs any more
		{name: "wide", fn: "wide", in: []ref{{6, 0}}, out: []entry{{"int64", []int64{6}, 6, dlpack.CPU}}},
	}, ref{1, 0}, ref{3, 0}, ref{6, 0}, ref{7, 0})
	s := create(t, text, lib, cpu)
	x := modules.Tensor(t, []int32{1, -2, 3, -4, 5, -6}, 2, 3)
	call(t, s, "set_input", "x", x)
	call(t, s, "run")
	require.EqualValues(t, 4, call(t, s, "get_num_outputs"))
	require.Equal(t, []bool{false, true, false, true, false, true}, output[bool](t, s, 0))
	var halves []float32
	for _, h := range output[dlpack.Float16Bits](t, s, "half") {
		halves = append(halves, h.Float32())
	}
	require.Equal(t, []float32{0.5, 1, 1.5, 2, 2.5, 3}, halves)
	require.Equal(t, []int32{4, 6, 8, 10, 12, 14}, output[int32](t, s, 2))
	require.Equal(t, []int64{4 << 40, 6 << 40, 8 << 40, 10 << 40, 12 << 40, 14 << 40}, output[int64](t, s, 3))
	require.Equal(t, 11, flat, "flatten_data: vectors")

	// The value of a node that another one overwrites later.
	a := modules.Empty(t, dlpack.Int32, 6)
	call(t, s, "debug_get_output", "a", a)
	require.Equal(t, []int32{2, 4, 6, 8, 10, 12}, modules.Slice[int32](t, a))
	call(t, s, "execute_node", "c")
	c := call(t, s, "get_node_output", "c", 0).(*runtime.Tensor)
	require.Equal(t, []int32{4, 6, 8, 10, 12, 14}, modules.Slice[int32](t, c))
	c.Close()
	require.ErrorContains(t, fails(t, s, "get_node_output", 1, 2), "there is no output of this node 2")
	require.ErrorContains(t, fails(t, s, "execute_node", "d"), `the graph has no node "d"`)
}

// chain is a graph y = f(x), z = f(y) with a reshape of x before it.
func chain(t testing.TB) string {
	return graphText(t, []node{
		{name: "x", out: f32(0, 2, 16)},
		{name: "flat", fn: "__nop", in: []ref{{0, 0}}, out: f32(0, 32)},
		{name: "y", fn: "double", in: []ref{{1, 0}}, out: f32(1, 32)},
		{name: "z", fn: "double", in: []ref{{2, 0}}, out: f32(2, 32)},
	}, ref{3, 0}, ref{0, 0})
}

func doubles(t testing.TB) *runtime.Module {
	return goLibrary(t, map[string]func(args []*runtime.Tensor) error{"double": elementwise(double)})
}

// Memory of the caller is read and written in place; a strided or misplaced tensor is an error and changes nothing.
func TestGraph_ZeroCopy(t *testing.T) {
	noLeaks(t)
	s := create(t, chain(t), doubles(t), cpu)
	in, out := modules.Tensor(t, make([]float32, 32), 2, 16), modules.Empty(t, dlpack.Float32, 32)
	call(t, s, "set_input_zero_copy", "x", in)
	call(t, s, "set_output_zero_copy", 0, out)
	for round := range 3 {
		data := must.Get(runtime.Elements[float32](in))(t)
		for i := range data {
			data[i] = float32(round + i) // without set_input
		}
		call(t, s, "run")
		result := must.Get(runtime.Elements[float32](out))(t)
		for i := range result {
			require.Equal(t, 4*float32(round+i), result[i])
		}
	}
	got := call(t, s, "get_output", 0).(*runtime.Tensor)
	require.Equal(t, address(out), address(got))
	got.Close()
	mine := call(t, s, "get_input", "x").(*runtime.Tensor)
	require.Equal(t, address(in), address(mine))
	mine.Close()

	// The executor keeps the memory alive.
	require.NoError(t, in.Close())
	call(t, s, "run")

	long := modules.Empty(t, dlpack.Float32, 64)
	part := must.Open(long.View(dlpack.Float32, []int64{2, 16}, nil, 64))(t)
	call(t, s, "set_input_zero_copy", "x", part)
	for _, c := range []struct {
		what string
		x    *runtime.Tensor
	}{
		{"the input of the graph", nil},
		{`input "x" is float32[2, 16], the tensor is float32[32]`, out},
		{`input "x" is float32[2, 16], the tensor is int32[2, 16]`, modules.Empty(t, dlpack.Int32, 2, 16)},
		{"is not aligned to 64 bytes", must.Open(long.View(dlpack.Float32, []int64{2, 16}, nil, 4))(t)},
		{"is not contiguous", must.Open(long.View(dlpack.Float32, []int64{2, 16}, []int64{32, 1}, 0))(t)},
	} {
		if c.x == nil {
			require.ErrorContains(t, fails(t, s, "set_output_zero_copy", 1, part), "an input of the graph")
			continue
		}
		require.ErrorContains(t, fails(t, s, "set_input_zero_copy", "x", c.x), c.what)
	}
	call(t, s, "set_input", "x", must.Open(long.View(dlpack.Float32, []int64{2, 16}, []int64{32, 1}, 0))(t))
	same := call(t, s, "get_input", "x").(*runtime.Tensor)
	require.Equal(t, address(part), address(same), "set_input copies to the caller's memory")
	same.Close()
}

func TestGraph_WrongArguments(t *testing.T) {
	noLeaks(t)
	s := create(t, chain(t), doubles(t), cpu)
	x := modules.Tensor(t, make([]float32, 32), 2, 16)
	flat := modules.Tensor(t, make([]float32, 32), 32)
	for _, c := range []struct {
		want string
		call []any
	}{
		{`the graph has no input "X", do you mean "x"?; it has: x`, []any{"set_input", "X", x}},
		{`the graph has no input "nothing"; it has: x`, []any{"get_input", "nothing"}},
		{`the graph has no output "zz", do you mean "z"?; it has: z, x`, []any{"get_output", "zz"}},
		{`there is no input 1: the graph has 1`, []any{"set_input", 1, x}},
		{`there is no input -1`, []any{"set_input", -1, x}},
		{`there is no output 2: the graph has 2`, []any{"get_output", 2}},
		{`set_input: input "x" is float32[2, 16], the tensor is float32[32]`, []any{"set_input", "x", flat}},
		{`set_input: argument 1: expected a tensor, got`, []any{"set_input", "x", 1}},
		{`set_input`, []any{"set_input", "x"}},
		{`set_input`, []any{"set_input", 1.5, x}},
		{`run`, []any{"run", 1}},
		{`get_output`, []any{"get_output"}},
		{`output "z" is float32[32], the tensor is float32[2, 16]`, []any{"get_output", 0, x}},
		{`run_from_inputs: 3 arguments`, []any{"run_from_inputs", 1, 0, "x"}},
		{`run_from_inputs`, []any{"run_from_inputs", 99, 0, "x", x}},
		{`the graph has no input "y"`, []any{"run_from_inputs", 1, 0, "y", x}},
		{`expected the bytes of a parameter dictionary`, []any{"load_params", 1}},
		{`load_params`, []any{"load_params", []byte("nonsense")}},
		{`argument 0: expected a graph executor`, []any{"share_params", 1, []byte{}}},
		{`no run was recorded`, []any{"run_cuda_graph"}},
		{`no run is being recorded`, []any{"end_capture"}},
		{`start_capture`, []any{"start_capture"}}, // the CPU cannot record
	} {
		require.ErrorContains(t, fails(t, s, c.call[0].(string), c.call[1:]...), c.want)
	}
	require.NotContains(t, s.Functions(), "__data")
	_, err := s.Function("__data")
	require.ErrorIs(t, err, runtime.ErrNotFound)

	call(t, s, "set_input", "x", x) // the session is usable
	call(t, s, "run")

	_, err = graph.Create(chain(t), doubles(t))
	require.ErrorContains(t, err, "there is no device")
	_, err = graph.Create(chain(t), doubles(t), dlpack.Device{Type: dlpack.OpenCL})
	require.ErrorContains(t, err, `node 0 "x" is on a device of type cpu, and the executor has only [opencl:0]`)
	_, err = graph.Create(chain(t), goLibrary(t, map[string]func(args []*runtime.Tensor) error{"doubles": nil}), cpu)
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.ErrorContains(t, err, `node 2 "y" needs the function "double", which is in none of its modules (go), `+
		`do you mean "doubles"?`)
}

// An error of a function names the node, and its cause is found.
func TestGraph_ErrorOfFunction(t *testing.T) {
	mine := errors.New("out of paper")
	bad := true
	lib := goLibrary(t, map[string]func(args []*runtime.Tensor) error{"double": func(args []*runtime.Tensor) error {
		if bad {
			return mine
		}
		return elementwise(double)(args)
	}})
	s := create(t, chain(t), lib, cpu)
	err := fails(t, s, "run")
	require.ErrorIs(t, err, mine)
	require.ErrorContains(t, err, `node 2 "y" (function "double"): `)
	bad = false
	call(t, s, "run")
}

// A call during another one is an error, and does not disturb that one.
func TestGraph_OneCallAtATime(t *testing.T) {
	var s *runtime.Module
	var inner error
	lib := goLibrary(t, map[string]func(args []*runtime.Tensor) error{"double": func(args []*runtime.Tensor) error {
		_, inner = modules.Call(t, s, "get_output", 0)
		return elementwise(double)(args)
	}})
	s = create(t, chain(t), lib, cpu)
	call(t, s, "run")
	require.ErrorContains(t, inner, "another call of this graph executor is in progress")
}
