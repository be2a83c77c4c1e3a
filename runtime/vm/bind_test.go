package vm_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// annotated is a program of functions that return their arguments as a tuple, with annotations of parameters, as TVM's
// compiler stores them, in the order of the parameters; "" is none.
func annotated(functions map[string][][2]string, order ...string) *vmcode.Executable {
	e := &vmcode.Executable{Functions: []vmcode.Function{{Kind: vmcode.Packed, Name: "vm.builtin.make_tuple"}}}
	for _, name := range order {
		var names []string
		var all []vmcode.Operand
		for i, p := range functions[name] {
			names = append(names, p[0])
			all = append(all, reg(int64(i)))
			if p[1] != "" {
				text := "ErrorContext(fn=" + name + ", loc=param[" + string(rune('0'+i)) + "], param=" + p[0] + ", annotation=" +
					p[1] + ") "
				e.Constants = append(e.Constants, vmcode.Constant{Kind: vmcode.StringConstant, Text: text})
			}
		}
		n, begin := len(names), len(e.Code)
		e.Code = append(e.Code, invoke(int64(n), 0, all...), ret(int64(n)))
		e.Functions = append(e.Functions, vmcode.Function{Kind: vmcode.Bytecode, Name: name, Begin: begin,
			End: begin + 2, Arity: n, Registers: n + 1, Parameters: names})
	}
	return e
}

// layers has two functions that share the parameter w.
func layers() *vmcode.Executable {
	return annotated(map[string][][2]string{
		"main": {{"x", `R.Tensor((n, 2), dtype="float32")`}, {"w", `R.Tensor((2, 3), dtype="float32")`},
			{"b", `R.Tensor(dtype="float32", ndim=1)`}},
		"other": {{"w", `R.Tensor((2, 3), dtype="float32")`}, {"s", `R.Shape([n, 4])`}, {"free", ""}},
	}, "main", "other")
}

func floats(t testing.TB, shape ...int64) *runtime.Tensor {
	return modules.Empty(t, dlpack.Float32, shape...)
}

// values makes a Map of names and values.
func values(m map[string]any) runtime.Map {
	var list runtime.Map
	for name, v := range m {
		list = append(list, runtime.Entry{Key: name, Value: v})
	}
	return list
}

// asMaps replaces each Map in a value by a Go map.
func asMaps(v any) any {
	switch v := v.(type) {
	case runtime.Map:
		m := map[string]any{}
		for _, e := range v {
			m[e.Key.(string)] = asMaps(e.Value)
		}
		return m
	case []any:
		for i := range v {
			v[i] = asMaps(v[i])
		}
	}
	return v
}

func TestSignature(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, layers()))
	require.Equal(t, []any{"main", "other"}, must.Get(modules.Call(t, s, "tvmgo.functions"))(t))
	info := func(name, kind, dtype, text string, ndim int64, shape, dims []any, more ...any) map[string]any {
		m := map[string]any{"name": name, "kind": kind, "dtype": dtype, "ndim": ndim, "shape": shape, "dims": dims,
			"fields": []any{}, "device": int64(0), "bound": false, "text": text}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	n := int64(-1)
	main := asMaps(must.Get(modules.Call(t, s, "tvmgo.signature", "main"))(t))
	require.Equal(t, map[string]any{"name": "main", "params": []any{
		info("x", "tensor", "float32", `R.Tensor((n, 2), dtype="float32")`, 2, []any{n, int64(2)}, []any{"n", "2"}),
		info("w", "tensor", "float32", `R.Tensor((2, 3), dtype="float32")`, 2, []any{int64(2), int64(3)}, []any{"2", "3"}),
		info("b", "tensor", "float32", `R.Tensor(dtype="float32", ndim=1)`, 1, []any{n}, []any{"?"}),
	}, "result": info("", "any", "", "", -1, []any{}, []any{})}, main)
	_, err := modules.Call(t, s, "tvmgo.bind", values(map[string]any{"w": floats(t, 2, 3)}))
	require.NoError(t, err)
	require.Equal(t, []any{
		info("w", "tensor", "float32", `R.Tensor((2, 3), dtype="float32")`, 2, []any{int64(2), int64(3)}, []any{"2", "3"},
			"bound", true),
		info("s", "shape", "", "R.Shape([n, 4])", 2, []any{n, int64(4)}, []any{"n", "4"}),
		info("free", "any", "", "", -1, []any{}, []any{}),
	}, asMaps(must.Get(modules.Call(t, s, "tvmgo.signature", "other"))(t)).(map[string]any)["params"])
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "tvmgo.signature", "man")), "did you mean main?")
}

// Annotations that contradict themselves are no errors.
func TestSignature_OfAnyText(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, annotated(map[string][][2]string{"main": {
		{"x", `R.Tensor((2,), ndim=3)`}, {"y", `R.Tensor(ndim=70000)`}, {"z", "R.Tuple(R.Tensor((-1, 2)), R.Object)"},
	}}, "main")))
	params := asMaps(must.Get(modules.Call(t, s, "tvmgo.signature", "main"))(t)).(map[string]any)["params"].([]any)
	require.Equal(t, []any{"?", "?", "?"}, params[0].(map[string]any)["dims"])
	require.Equal(t, int64(-1), params[1].(map[string]any)["ndim"])
	fields := params[2].(map[string]any)["fields"].([]any)
	require.Equal(t, []any{int64(-1), int64(2)}, fields[0].(map[string]any)["shape"])
	require.Equal(t, "any", fields[1].(map[string]any)["kind"])
}

func TestBind(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, layers()))
	x, w, b := floats(t, 5, 2), floats(t, 2, 3), floats(t, 7)
	fails := func(text, name string, args ...any) {
		t.Helper()
		require.ErrorContains(t, must.Fail(modules.Call(t, s, name, args...)), text)
	}
	is := func(want []*runtime.Tensor, args ...any) {
		t.Helper()
		got := must.Get(modules.Call(t, s, "main", args...))(t).([]any)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i].Data(), got[i].(*runtime.Tensor).Data(), i)
		}
		closeAll(got)
	}
	bind := func(m map[string]any) {
		t.Helper()
		require.NoError(t, must.Fail(modules.Call(t, s, "tvmgo.bind", values(m))))
	}
	fails("expects 3 arguments (x, w, b), but 1 was given; missing: w, b", "main", x)
	for _, c := range []struct {
		name  string
		value any
		text  string
	}{
		{"w", floats(t, 2, 4), `"main": expected R.Tensor((2, 3), dtype="float32"), got (2, 4) of float32`},
		{"w", modules.Empty(t, dlpack.Float16, 2, 3), `got (2, 3) of float16`},
		{"b", x, `expected R.Tensor(dtype="float32", ndim=1), got (5, 2) of float32`},
		{"w", 3, `parameter "w" of function "main": expected a Tensor, got int`},
		{"s", w, `parameter "s" of function "other": expected no value: only tensors can be bound`},
		{"ww", w, `no function has a parameter "ww" (did you mean "w"?): nothing was bound`},
		{"surplus", w, `no function has a parameter "surplus": nothing was bound`},
	} {
		fails(c.text, "tvmgo.bind", values(map[string]any{"b": b, c.name: c.value}))
		fails("missing: w, b", "main", x) // nothing is bound by halves
	}
	fails("must be Map, got int", "tvmgo.bind", 1)
	bind(map[string]any{"w": w, "b": b})
	is([]*runtime.Tensor{x, w, b}, x)
	is([]*runtime.Tensor{x, w, w}, x, w, w) // all of them, which hides the bound ones
	fails("but 0 were given; 2 of them are bound: give the others (x), or all; missing: x", "main")
	fails("but 2 were given; 2 of them are bound: give the others (x), or all", "main", x, w)
	fails("expects 3 arguments (w, s, free), but 1 was given; 1 of them are bound", "other", runtime.Shape{1})
	other := floats(t, 1)
	bind(map[string]any{"b": other}) // again, and w stays
	is([]*runtime.Tensor{x, w, other}, x)

	must.Get(modules.Call(t, s, "set_input", "main", x))(t)
	must.Get(modules.Call(t, s, "invoke_stateful", "main"))(t)
	got := must.Get(modules.Call(t, s, "get_output", "main", 2))(t).(*runtime.Tensor)
	require.Equal(t, other.Data(), got.Data())
	got.Close()

	bind(map[string]any{"x": x})
	is([]*runtime.Tensor{x, w, other})
	fails("but 1 was given; 3 of them are bound: give none, or all", "main", x)
	must.Get(modules.Call(t, s, "vm_initialization", 1, 0, 2))(t)
	fails("missing: w, b", "main", x)
	uninitialized := must.Get(modules.Call(t, loaded(t, layers()), "vm_load_executable"))(t).(*runtime.Module)
	defer uninitialized.Close()
	require.ErrorContains(t, must.Fail(modules.Call(t, uninitialized, "tvmgo.bind", runtime.Map{})), "vm_initialization")
}

// A call during bindings sees the parameters of one of them.
func TestBind_ManyThreads(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, layers()))
	x, one, two := floats(t, 5, 2), []any{floats(t, 2, 3), floats(t, 7)}, []any{floats(t, 2, 3), floats(t, 8)}
	bind := must.Open(s.Function("tvmgo.bind"))(t)
	must.Get(bind.Call(values(map[string]any{"w": one[0], "b": one[1]})))(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				out := must.Get(modules.Call(t, s, "main", x))(t).([]any)
				first := out[1].(*runtime.Tensor).Data() == one[0].(*runtime.Tensor).Data()
				require.Equal(t, map[bool]int64{true: 7, false: 8}[first], out[2].(*runtime.Tensor).Shape()[0])
				closeAll(out)
			}
		})
		group.Go(func() {
			for i := range 100 {
				p := [][]any{one, two}[i%2]
				must.Get(bind.Call(values(map[string]any{"w": p[0], "b": p[1]})))(t)
			}
		})
	}
	group.Wait()
}

func TestBind_Model(t *testing.T) {
	noLeaks(t)
	s, params, in, want, batch := mlp(t)
	named := map[string]any{}
	for i, p := range params {
		named[must.Get(modules.Call(t, s, "get_function_param_name", "forward", i+1))(t).(string)] = p
	}
	must.Get(modules.Call(t, s, "tvmgo.bind", values(named)))(t)
	out := must.Get(modules.Call(t, s, "forward", modules.Tensor(t, in, batch, 16)))(t).(*runtime.Tensor)
	defer out.Close()
	require.InDeltaSlice(t, want, modules.Slice[float32](t, out), 1e-5)
}
