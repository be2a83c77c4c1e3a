package graph_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/graph"
)

// open makes a GraphModel of a factory.
func open(t testing.TB, factory *runtime.Module, devices ...any) *runtime.Module {
	t.Helper()
	m := call(t, factory, "tvmgo.open_model", devices...).(*runtime.Module)
	t.Cleanup(func() { m.Close() })
	require.Equal(t, graph.ModelKind, m.Kind())
	return m
}

// memory returns a number of tvmgo.memory.
func memory(t testing.TB, m *runtime.Module, key string) int64 {
	t.Helper()
	return field(t, call(t, m, "tvmgo.memory"), key).(int64)
}

func field(t testing.TB, v any, key string) any {
	t.Helper()
	for _, e := range v.(runtime.Map) {
		if e.Key == key {
			return e.Value
		}
	}
	require.Fail(t, "no such field", key)
	return nil
}

// result calls the model's function, and returns the elements of its only result.
func result[T dlpack.Scalar](t testing.TB, m *runtime.Module, args ...any) []T {
	t.Helper()
	out := call(t, m, "default", args...).(*runtime.Tensor)
	defer out.Close()
	return must.Get(runtime.ToSlice[T](out))(t)
}

func TestModel_MLP(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	require.NoError(t, m.Close(), "the model keeps what it needs")
	for range 3 {
		require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	}
	main := must.Open(model.Function("main"))(t)
	require.NoError(t, model.Close(), "a function keeps its model")
	out := must.Get(main.Call(m.in))(t).(*runtime.Tensor)
	require.InDeltaSlice(t, m.want, modules.Slice[float32](t, out), 1e-5)
	out.Close()
}

func TestModel_Signature(t *testing.T) {
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	require.Equal(t, []any{"default"}, call(t, model, "tvmgo.functions"))
	s := call(t, model, "tvmgo.signature", "default")
	params := field(t, s, "params").([]any)
	require.Len(t, params, 5)
	require.Equal(t, runtime.Map{{Key: "name", Value: "data"}, {Key: "kind", Value: "tensor"},
		{Key: "dtype", Value: "float32"}, {Key: "ndim", Value: int64(2)}, {Key: "shape", Value: []any{int64(4), int64(16)}},
		{Key: "dims", Value: []any{"4", "16"}}, {Key: "fields", Value: []any{}}, {Key: "device", Value: int64(0)},
		{Key: "bound", Value: false}, {Key: "text", Value: ""}}, params[0])
	require.Equal(t, "p3", field(t, params[4], "name"))
	require.Equal(t, true, field(t, params[4], "bound"))
	require.Equal(t, "tvmgen_default_fused_nn_softmax", field(t, field(t, s, "result"), "name"))
	require.ErrorContains(t, fails(t, model, "tvmgo.signature", "defualt"),
		`the model has no function "defualt", do you mean "default"?`)
}

// The memory of an executor is that of its intermediate data; results are the caller's.
func TestModel_Memory(t *testing.T) {
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	idle := memory(t, model, "live")
	require.Positive(t, idle)
	weights := int64(0)
	for _, p := range call(t, m.Module, "get_graph_params").(runtime.Map) {
		weights += p.Value.(*runtime.Tensor).Size()
	}
	require.Equal(t, weights, memory(t, model, "weights"))
	out := call(t, model, "default", m.in).(*runtime.Tensor)
	require.EqualValues(t, idle+4096, memory(t, model, "live"), "the result")
	out.Close()
	require.Equal(t, idle, memory(t, model, "live"))
	for range 10 {
		require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	}
	require.Equal(t, idle+4096, memory(t, model, "peak"))

	call(t, model, "tvmgo.set_memory_limit", 1)
	require.Zero(t, memory(t, model, "live"), "idle executors are freed")
	require.ErrorContains(t, fails(t, model, "default", m.in), "exceed the memory limit of the session")
	call(t, model, "tvmgo.set_memory_limit", idle+4096)
	require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	out = call(t, model, "default", m.in).(*runtime.Tensor)
	require.ErrorContains(t, fails(t, model, "default", m.in), "exceed the memory limit")
	out.Close()
	require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)

	call(t, model, "tvmgo.set_model_memory_limit", idle)
	require.ErrorContains(t, fails(t, model, "default", m.in), "exceed the memory limit of the model")
	other := fails(t, m.Module, "tvmgo.open_model", cpu)
	require.ErrorContains(t, other, "exceed the memory limit of the model")
	call(t, model, "tvmgo.set_model_memory_limit", 0)
	second := open(t, m.Module, cpu)
	require.EqualValues(t, 2*idle, field(t, call(t, model, "tvmgo.model_memory"), "live"))
	second.Close()
	require.EqualValues(t, idle, field(t, call(t, model, "tvmgo.model_memory"), "live"))
	require.ErrorContains(t, fails(t, model, "tvmgo.set_memory_limit", -1), "expected a number of bytes")
}

func TestModel_Bind(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	params := call(t, m.Module, "get_graph_params").(runtime.Map)
	zeros := func(like any) *runtime.Tensor {
		x := like.(*runtime.Tensor)
		return modules.Tensor(t, make([]float32, x.Len()), x.Shape()...)
	}
	// All parameters given: they hold for this call alone.
	all := []any{m.in}
	for _, p := range params {
		all = append(all, zeros(p.Value))
	}
	flat := result[float32](t, model, all...)
	for _, v := range flat {
		require.InDelta(t, 0.1, v, 1e-6, "the softmax of zeros")
	}
	require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)

	var none runtime.Map
	for i, p := range params {
		none = append(none, runtime.Entry{Key: p.Key, Value: all[i+1]})
	}
	call(t, model, "tvmgo.bind", none)
	require.Equal(t, flat, result[float32](t, model, m.in))
	m.check(t, session(t, m.Module, cpu)) // the factory's own are unchanged
	call(t, model, "tvmgo.bind", params)
	require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	require.InDeltaSlice(t, flat, result[float32](t, model, all...), 1e-6)
	require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)

	// Never half done.
	for want, bad := range map[string]runtime.Map{
		`"p9", do you mean "p0"?; "zzz"; it has: data, p0`: {none[0], {Key: "p9", Value: all[2]},
			{Key: "zzz", Value: all[2]}},
		`parameter "p1" is float32[2 16 16], but the input of the graph is`: {none[0], {Key: "p1", Value: all[1]}},
		"expected a map of names and tensors, got string and int64":         {none[0], {Key: "p1", Value: int64(1)}},
	} {
		require.ErrorContains(t, fails(t, model, "tvmgo.bind", bad), want)
		require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	}
	for _, p := range params {
		p.Value.(*runtime.Tensor).Close()
	}
	require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
}

// A session has the model's parameters, without a copy.
func TestModel_Session(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	require.Equal(t, []any{cpu}, call(t, model, "tvmgo.devices"))
	params := call(t, m.Module, "get_graph_params").(runtime.Map)
	session := func() *runtime.Module { return call(t, model, "tvmgo.session").(*runtime.Module) }
	idle := memory(t, model, "live")
	s := session()
	m.check(t, s)
	live := memory(t, s, "live")
	require.Positive(t, live)
	require.Positive(t, memory(t, s, "weights"))
	require.Equal(t, idle+live, memory(t, model, "live"), "sessions count for the model")
	require.ErrorContains(t, fails(t, s, "tvmgo.set_memory_limit", live-1), "the graph's plan has")
	require.ErrorContains(t, fails(t, s, "tvmgo.set_memory_limit", -1), "the limit is -1 bytes")
	call(t, s, "tvmgo.set_memory_limit", live)
	require.Equal(t, live, memory(t, s, "limit"))
	m.check(t, s)
	s.Close()
	require.Equal(t, idle, memory(t, model, "live"))
	call(t, model, "tvmgo.set_memory_limit", live-1)
	require.ErrorContains(t, fails(t, model, "tvmgo.session"), "limit")
	call(t, model, "tvmgo.set_memory_limit", 0)
	p1 := params[1].Value.(*runtime.Tensor)
	call(t, model, "tvmgo.bind", runtime.Map{{Key: "p1", Value: p1}})
	zero := modules.Tensor(t, make([]float32, p1.Len()), p1.Shape()...)
	s = session()
	m.check(t, s)
	call(t, s, "set_input", "p1", zero)
	require.NotEqual(t, make([]float32, p1.Len()), modules.Slice[float32](t, p1), "the session has its own now")
	require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	s.Close()
	for _, p := range params {
		p.Value.(*runtime.Tensor).Close()
	}
}

func TestModel_WrongCalls(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	wide := modules.Empty(t, dlpack.Float32, 4, 17)
	ints := modules.Empty(t, dlpack.Int32, 4, 16)
	for want, args := range map[string][]any{
		"default: expected 1 inputs (data), or with the bound ones 5 (data, p0, p1, p2, p3), got 0 arguments": {},
		"got 2 arguments": {m.in, m.in},
		`default: input "data" is float32[4, 16], the tensor is float32[4, 17]`: {wide},
		`default: input "data" is float32[4, 16], the tensor is int32[4, 16]`:   {ints},
		`input 0 "data": default: argument 0: expected a tensor, got`:           {"data"},
		`default: input "p0" is float32[2, 16, 16], the tensor is`:              {m.in, m.in, m.in, m.in, m.in},
	} {
		require.ErrorContains(t, fails(t, model, "default", args...), want)
		require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	}
	require.ErrorContains(t, fails(t, m.Module, "tvmgo.open_model"), "there is no device")
}

// Inputs that functions cannot read are copied.
func TestModel_CopiesInputs(t *testing.T) {
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	data := modules.Slice[float32](t, m.in)
	wide := modules.Tensor(t, append(append([]float32{0}, data...), make([]float32, 100)...))
	unaligned := must.Open(wide.View(dlpack.Float32, []int64{4, 16}, nil, 4))(t)
	require.InDeltaSlice(t, m.want, result[float32](t, model, unaligned), 1e-5)

	rows := modules.Tensor(t, make([]float32, 4*20), 4, 20)
	buf := make([]float32, 4*20)
	for r := range 4 {
		copy(buf[r*20:], data[r*16:r*16+16])
	}
	require.NoError(t, runtime.CopyFrom(rows, buf))
	strided := must.Open(rows.View(dlpack.Float32, []int64{4, 16}, []int64{20, 1}, 0))(t)
	require.InDeltaSlice(t, m.want, result[float32](t, model, strided), 1e-5)
}

// manyGraph is z = half(x) + y with the input y of shape [n], an input among the outputs, and an output twice.
func manyGraph(t testing.TB, n int64) string {
	return graphText(t, []node{
		{name: "x", out: f32(0, n)},
		{name: "y", out: f32(1, n)},
		{name: "half", fn: "half", in: []ref{{0, 0}}, out: f32(2, n)},
		{name: "sum", fn: "add", in: []ref{{2, 0}, {1, 0}}, out: f32(3, n)},
		{name: "again", fn: "__nop", in: []ref{{3, 0}}, out: f32(3, n)},
		{name: "more", fn: "add", in: []ref{{4, 0}, {4, 0}}, out: f32(2, n)},
	}, ref{3, 0}, ref{1, 0}, ref{4, 0}, ref{5, 0})
}

func manyLibrary(t testing.TB) *runtime.Module {
	return goLibrary(t, map[string]func(args []*runtime.Tensor) error{
		"half": elementwise(func(x float32) float32 {
			if x < 0 {
				panic("half of a negative number")
			}
			return x / 2
		}),
		"add": func(args []*runtime.Tensor) error {
			a, err := runtime.ToSlice[float32](args[0])
			if err != nil {
				return err
			}
			b, err := runtime.ToSlice[float32](args[1])
			if err != nil {
				return err
			}
			out := make([]float32, len(a))
			for i := range a {
				out[i] = a[i] + b[i]
			}
			return runtime.CopyFrom(args[2], out)
		},
	})
}

func TestModel_ManyOutputs(t *testing.T) {
	noLeaks(t)
	lib := manyLibrary(t)
	model := must.Open(graph.NewModel(manyGraph(t, 3), lib, cpu))(t)
	x, y := modules.Tensor(t, []float32{2, 4, 6}), modules.Tensor(t, []float32{10, 20, 30})
	check := func() {
		t.Helper()
		outs := call(t, model, "main", x, y).([]any)
		require.Len(t, outs, 4)
		addresses := map[uintptr]bool{address(x): true, address(y): true}
		for i, want := range [][]float32{{11, 22, 33}, {10, 20, 30}, {11, 22, 33}, {22, 44, 66}} {
			o := outs[i].(*runtime.Tensor)
			require.Equal(t, want, modules.Slice[float32](t, o), "output %d", i)
			require.False(t, addresses[address(o)], "output %d is memory of its own", i)
			addresses[address(o)] = true
		}
		for _, o := range outs {
			o.(*runtime.Tensor).Close()
		}
	}
	check()
	// The error names the function of the model, the node and its function; the model stays usable.
	err := fails(t, model, "default", modules.Tensor(t, []float32{-1, 0, 0}), y)
	require.ErrorContains(t, err, `default: node 2 "half" (function "half")`)
	check()
	result := field(t, call(t, model, "tvmgo.signature", "default"), "result")
	require.Equal(t, "tuple", field(t, result, "kind"))
	require.Len(t, field(t, result, "fields"), 4)

	call(t, model, "tvmgo.bind", runtime.Map{{Key: "y", Value: y}})
	outs := call(t, model, "default", x).([]any)
	require.Equal(t, []float32{11, 22, 33}, modules.Slice[float32](t, outs[0].(*runtime.Tensor)))
	for _, o := range outs {
		o.(*runtime.Tensor).Close()
	}
	check()
	_, err = graph.NewModel(manyGraph(t, 3), goLibrary(t, nil), cpu)
	require.ErrorContains(t, err, `node 2 "half" needs the function "half"`)
}

// A model does not keep the caller's tensors.
func TestModel_KeepsNoInput(t *testing.T) {
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	copied := modules.Slice[float32](t, m.in)
	before := runtime.Live().Tensors
	for range 3 {
		x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{4, 16}, cpu))(t)
		require.NoError(t, runtime.CopyFrom(x, copied))
		require.InDeltaSlice(t, m.want, result[float32](t, model, x), 1e-5)
		x.Close()
		require.Equal(t, before, runtime.Live().Tensors)
	}
}

func TestModel_ManyThreads(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	model := open(t, m.Module, cpu)
	idle := memory(t, model, "live")
	params := call(t, m.Module, "get_graph_params").(runtime.Map)
	zero := modules.Tensor(t, make([]float32, 2*16*16), 2, 16, 16)
	call(t, model, "tvmgo.bind", runtime.Map{{Key: "p0", Value: zero}})
	other := result[float32](t, model, m.in)
	f := must.Open(model.Function("default"))(t)
	var wg sync.WaitGroup
	for k := range 64 {
		wg.Go(func() {
			for i := range 20 {
				if k == 0 { // old or new parameters, never a mixture
					p := params[0].Value
					if i%2 == 0 {
						p = zero
					}
					if _, err := modules.Call(t, model, "tvmgo.bind", runtime.Map{{Key: "p0", Value: p}}); err != nil {
						t.Error(err)
					}
					continue
				}
				v, err := f.Call(m.in)
				if err != nil {
					t.Error(err)
					return
				}
				out := v.(*runtime.Tensor)
				got, err := runtime.ToSlice[float32](out)
				out.Close()
				if err != nil || !near(got, m.want) && !near(got, other) {
					t.Error("result of neither binding", got, err)
				}
			}
		})
	}
	wg.Wait()
	live := memory(t, model, "live")
	require.Zero(t, live%idle)
	require.GreaterOrEqual(t, memory(t, model, "peak"), live)
	for _, p := range params {
		p.Value.(*runtime.Tensor).Close()
	}
	f.Close()
}

func near(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if d := a[i] - b[i]; d > 1e-5 || d < -1e-5 {
			return false
		}
	}
	return true
}

// Functions of the graph may call the model again.
func TestModel_CallsItself(t *testing.T) {
	noLeaks(t)
	var model *runtime.Module
	lib := goLibrary(t, map[string]func(args []*runtime.Tensor) error{
		"down": func(args []*runtime.Tensor) error {
			in, err := runtime.ToSlice[float32](args[0])
			if err != nil {
				return err
			}
			if in[0] <= 0 {
				return runtime.CopyFrom(args[1], []float32{100})
			}
			x, err := runtime.FromSlice([]float32{in[0] - 1})
			if err != nil {
				return err
			}
			defer x.Close()
			v, err := modules.Call(t, model, "default", x)
			if err != nil {
				return fmt.Errorf("level %v: %w", in[0], err)
			}
			defer v.(*runtime.Tensor).Close()
			sub, err := runtime.ToSlice[float32](v.(*runtime.Tensor))
			if err != nil {
				return err
			}
			return runtime.CopyFrom(args[1], []float32{sub[0] + in[0]})
		},
	})
	text := graphText(t, []node{{name: "x", out: f32(0, 1)},
		{name: "down", fn: "down", in: []ref{{0, 0}}, out: f32(1, 1)}}, ref{1, 0})
	model = must.Open(graph.NewModel(text, lib, cpu))(t)
	require.Equal(t, []float32{110}, result[float32](t, model, modules.Tensor(t, []float32{4})))
}
