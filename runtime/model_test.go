package runtime_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// fakeModel is a model written in Go, with the functions that every model's module has.
type fakeModel struct {
	functions map[string]runtime.PackedFunc // by name
	order     []string
	infos     map[string]runtime.Map
	bound     runtime.Map
	limit     int64
	session   *runtime.Module
}

// info is a description of a value; dims are texts.
func info(name, kind, dtype string, dims []string, more ...runtime.Entry) runtime.Map {
	shape, texts, ndim := runtime.Shape{}, []any{}, int64(-1)
	if dims != nil {
		ndim = int64(len(dims))
	}
	for _, d := range dims {
		n := int64(-1)
		fmt.Sscan(d, &n)
		shape, texts = append(shape, n), append(texts, d)
	}
	m := runtime.Map{{Key: "name", Value: name}, {Key: "kind", Value: kind}, {Key: "dtype", Value: dtype},
		{Key: "ndim", Value: ndim}, {Key: "shape", Value: shape}, {Key: "dims", Value: texts},
		{Key: "fields", Value: []any{}}, {Key: "device", Value: 0}, {Key: "bound", Value: false},
		{Key: "text", Value: "R." + kind}}
	for _, e := range more {
		for i := range m {
			if m[i].Key == e.Key {
				m[i].Value = e.Value
			}
		}
	}
	return m
}

func floats(name string, dims ...string) runtime.Map { return info(name, "tensor", "float32", dims) }

func tuple(name string, fields ...any) runtime.Map {
	return info(name, "tuple", "", nil, runtime.Entry{Key: "fields", Value: fields})
}

func isBound(m runtime.Map) runtime.Map {
	for i := range m {
		if m[i].Key == "bound" {
			m[i].Value = true
		}
	}
	return m
}

func (m *fakeModel) add(name string, f runtime.PackedFunc, result runtime.Map, params ...any) *fakeModel {
	if m.functions == nil {
		m.functions, m.infos = map[string]runtime.PackedFunc{}, map[string]runtime.Map{}
	}
	m.functions[name], m.order = f, append(m.order, name)
	m.infos[name] = runtime.Map{{Key: "name", Value: name}, {Key: "params", Value: params}, {Key: "result", Value: result}}
	return m
}

// module returns a module with the functions of the contract.
func (m *fakeModel) module(t testing.TB) *runtime.Module {
	t.Helper()
	all := map[string]runtime.PackedFunc{
		"tvmgo.functions": func(...any) (any, error) {
			var names []any
			for _, n := range m.order {
				names = append(names, n)
			}
			return names, nil
		},
		"tvmgo.signature": func(args ...any) (any, error) { return m.infos[args[0].(string)], nil },
		"tvmgo.devices":   func(...any) (any, error) { return []any{fakeDevice(t), runtime.CPU}, nil },
		"tvmgo.bind": func(args ...any) (any, error) {
			m.bound = nil
			for _, e := range args[0].(runtime.Map) {
				m.bound = append(m.bound, runtime.Entry{Key: e.Key, Value: fmt.Sprint(e.Value)})
				for _, f := range m.infos {
					for _, p := range f[1].Value.([]any) {
						if p.(runtime.Map)[0].Value == e.Key {
							isBound(p.(runtime.Map))
						}
					}
				}
			}
			return nil, nil
		},
		"tvmgo.set_model_memory_limit": func(args ...any) (any, error) { m.limit = args[0].(int64); return nil, nil },
		"tvmgo.model_memory": func(...any) (any, error) {
			return runtime.Map{{Key: "live", Value: 1}, {Key: "peak", Value: 2}, {Key: "storages", Value: 3},
				{Key: "taken", Value: 4}, {Key: "limit", Value: m.limit}, {Key: "weights", Value: 6}}, nil
		},
	}
	if m.session != nil {
		all["tvmgo.session"] = func(...any) (any, error) { return m.session, nil }
	}
	for name, f := range m.functions {
		all[name] = f
	}
	return must.Open(runtime.NewModule("fake.Model", runtime.Runnable, &goModule{functions: all}))(t)
}

func (m *fakeModel) open(t testing.TB, opts ...runtime.ModelOption) *runtime.Model {
	t.Helper()
	return must.Open(runtime.NewModel(m.module(t), opts...))(t)
}

// rows is a model whose functions compute each row alone: main adds up the elements of each row and a bias; the count
// of calls is stored.
func rows(t testing.TB, calls *int) *fakeModel {
	sum := func(args ...any) (any, error) {
		*calls++
		x, bias := args[0].(*runtime.Tensor), float32(0)
		if len(args) > 1 {
			bias = must.Get(runtime.ToSlice[float32](args[1].(*runtime.Tensor)))(t)[0]
		}
		y := make([]float32, x.Shape()[0])
		for i, v := range must.Get(runtime.ToSlice[float32](x))(t) {
			y[i/int(x.Shape()[1])] += v
		}
		for i := range y {
			y[i] += bias
		}
		out, err := runtime.FromSlice(y)
		return []any{out}, err
	}
	return new(fakeModel).add("main", sum, tuple("", floats("", "n")), floats("x", "n", "2"), floats("bias", "1"))
}

func TestModel_Functions(t *testing.T) {
	noLeaks(t)
	none := func(...any) (any, error) { return nil, nil }
	m := new(fakeModel).add("first", none, tuple("", floats("", "n", "8"), info("", "number", "int64", nil)),
		floats("x", "n", "16"), isBound(floats("w", "16", "8")), floats("", []string{}...)).
		add("second", none, info("", "any", "", nil), info("s", "shape", "", []string{"n", "n * 2"}),
			info("t", "tensor", "", nil), info("u", "tensor", "int8", nil), info("f", "function", "", nil),
			info("p", "number", "", nil), info("q", "tensor", "", []string{"", "3"}), info("r", "shape", "", nil)).open(t)
	var texts []string
	for _, f := range m.Functions() {
		texts = append(texts, f.String())
	}
	require.Equal(t, []string{
		"first(x: float32[n, 16], w: float32[16, 8] (bound), float32[]) -> (float32[n, 8], int64)",
		"second(s: shape[n, n * 2], t: tensor, u: int8[...], f: function, p: number, q: tensor[?, 3], r: shape) -> any",
	}, texts)
	f := must.Get(m.Function("first"))(t)
	require.Equal(t, runtime.ValueInfo{Name: "x", Kind: runtime.TensorValue, DType: dlpack.Float32, NDim: 2,
		Shape: []int64{-1, 16}, Dims: []string{"n", "16"}, Text: "R.tensor"}, f.Params[0])
	require.Len(t, f.Result.Fields, 2)
	f.Params[0].Shape[0] = 7 // belongs to the caller
	require.Equal(t, int64(-1), must.Get(m.Function("first"))(t).Params[0].Shape[0])
	requireError(t, must.Fail(m.Function("frist")), runtime.ErrNotFound, `did you mean "first"?`, "first, second")
	requireError(t, must.Fail(m.Run(ctx, nil)), runtime.ErrNotFound, "RunFunction: first, second")
	requireError(t, must.Fail(m.RunFunction(ctx, "secand", nil)), runtime.ErrNotFound, `did you mean "second"?`)

	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	require.Nil(t, m.Functions())
	requireError(t, must.Fail(m.Function("first")), runtime.ErrClosed, "model")
	requireError(t, must.Fail(m.RunFunction(ctx, "first", nil)), runtime.ErrClosed, "model")
	requireError(t, must.Fail(m.Session()), runtime.ErrClosed, "model")
	requireError(t, must.Fail(m.Memory()), runtime.ErrClosed, "model")
}

// A nil model, such as that of a failed load, is a closed one.
func TestModel_Nil(t *testing.T) {
	for _, m := range []*runtime.Model{nil, {}} {
		require.Nil(t, m.Functions())
		require.Nil(t, m.Devices())
		for _, err := range []error{
			must.Fail(m.Function("f")), must.Fail(m.Run(ctx, nil)), must.Fail(m.RunFunction(ctx, "f", nil)),
			must.Fail(m.RunBatch(ctx, nil)), must.Fail(m.RunFunctionBatch(ctx, "f", nil)), must.Fail(m.Session()),
			must.Fail(m.Memory()), m.SetMemoryLimit(1),
		} {
			requireError(t, err, runtime.ErrClosed, "the model is closed")
		}
		require.NoError(t, m.Wait(ctx))
		require.NoError(t, m.Close())
	}
	requireError(t, must.Fail(runtime.LoadModel(ctx, multiC, nil)), runtime.ErrInvalidArgument, "an option is nil")
}

func TestProfile_Empty(t *testing.T) {
	nothing := func() error { return nil }
	for _, p := range []*runtime.Profile{nil, {}} {
		for _, err := range []error{
			p.Do(nothing), must.Fail(p.Recording()), must.Fail(p.Operators()), p.WriteTrace(io.Discard),
		} {
			requireError(t, err, runtime.ErrInvalidArgument, "the profile is empty: make one with NewProfile")
		}
	}
	p := must.Get(runtime.NewProfile())(t)
	requireError(t, p.Do(nil), runtime.ErrInvalidArgument, "the function to record is nil")
}

func TestModel_BadSignatures(t *testing.T) {
	noLeaks(t)
	none := func(...any) (any, error) { return nil, nil }
	for says, bad := range map[string]runtime.Map{
		`there is no kind of value "tensr"`: info("", "tensr", "", nil),
		`floot32`:                           info("", "tensor", "floot32", nil),
		`there is no "kind"`:                {{Key: "name", Value: ""}},
		`"name" is a int64, not a string`:   {{Key: "name", Value: 7}},
	} {
		module := new(fakeModel).add("f", none, bad).module(t)
		requireError(t, must.Fail(runtime.NewModel(module)), runtime.ErrFailed, "load model", says)
	}
}

func TestModel_Run(t *testing.T) {
	noLeaks(t)
	calls := 0
	m := rows(t, &calls).open(t)
	x, bias := tensor(t, []float32{1, 2, 3, 4}, 2, 2), tensor(t, []float32{10})
	for _, in := range []runtime.Inputs{runtime.Ordered{x, bias}, runtime.Named{"bias": bias, "x": x}} {
		cancellable, cancel := context.WithCancel(ctx)
		for _, c := range []context.Context{ctx, cancellable} {
			out := must.Get(m.Run(c, in))(t)
			require.Len(t, out, 1)
			y := must.Get(out.Tensor(0))(t)
			require.Equal(t, []float32{13, 17}, slice[float32](t, y))
			requireError(t, must.Fail(out.Tensor(1)), runtime.ErrInvalidArgument, "there is no output 1: the call returned 1")
			require.NoError(t, out.Close())
			require.Nil(t, y.Shape(), "closed")
		}
		cancel()
		require.ErrorIs(t, must.Fail(m.Run(cancellable, in)), context.Canceled)
	}
	require.Equal(t, 4, calls)
	requireError(t, must.Fail(runtime.Outputs{int64(3)}.Tensor(0)), runtime.ErrInvalidArgument,
		"output 0 is a int64, not a tensor")
}

func TestModel_RunChecksInputs(t *testing.T) {
	noLeaks(t)
	calls := 0
	m := rows(t, &calls).open(t)
	x, bias := tensor(t, []float32{1, 2, 3, 4}, 2, 2), tensor(t, []float32{10})
	closed := tensor(t, []float32{1})
	closed.Close()
	for says, in := range map[string]runtime.Inputs{
		`run main: there is no parameter "biass"; did you mean "bias"?: it has x, bias`: runtime.Named{"x": x, "biass": bias},
		`run main: missing inputs: bias`:                                                runtime.Named{"x": x},
		`run main: missing inputs: expected 2 (x, bias), got 1`:                         runtime.Ordered{x},
		`run main: surplus inputs: expected 2 (x, bias), got 3`:                         runtime.Ordered{x, bias, bias},
		`run main: missing inputs: expected 2 (x, bias), got 0`:                         nil,
		`run main: parameter x: expected float32[n, 2], got float32[1]: 1 dimensions`:   runtime.Ordered{bias, bias},
		`run main: parameter bias: expected float32[1], got int`:                        runtime.Ordered{x, 3},
		`run main: parameter bias: a []float32 cannot be passed: make a *Tensor`:        runtime.Ordered{x, []float32{1}},
		`parameter x: expected float32[n, 2], got float32[2, 1]: dimension 1 must be 2`: runtime.Ordered{
			tensor(t, []float32{1, 2}, 2, 1), bias},
		`parameter x: expected float32[n, 2], got int64[1, 2]: the dtype differs`: runtime.Ordered{
			tensor(t, []int64{1, 2}, 1, 2), bias},
	} {
		requireError(t, must.Fail(m.Run(ctx, in)), runtime.ErrInvalidArgument, says)
	}
	requireError(t, must.Fail(m.Run(ctx, runtime.Ordered{x, closed})), runtime.ErrClosed, "parameter bias", "closed")
	require.Zero(t, calls)
}

func TestModel_Memory(t *testing.T) {
	noLeaks(t)
	calls := 0
	m := rows(t, &calls).open(t, runtime.WithMemoryLimit(100))
	require.Equal(t, runtime.ModelMemory{Live: 1, Peak: 2, Storages: 3, Taken: 4, Limit: 100, Weights: 6},
		must.Get(m.Memory())(t))
	require.NoError(t, m.SetMemoryLimit(0))
	require.Zero(t, must.Get(m.Memory())(t).Limit)
	requireError(t, m.SetMemoryLimit(-1), runtime.ErrInvalidArgument, "-1 is negative")
	requireError(t, must.Fail(runtime.NewModel(rows(t, &calls).module(t), runtime.WithMemoryLimit(-1))),
		runtime.ErrInvalidArgument, "-1 is negative")
}

func TestModel_Session(t *testing.T) {
	noLeaks(t)
	calls := 0
	requireError(t, must.Fail(rows(t, &calls).open(t).Session()), runtime.ErrNotSupported, "fake.Model", "tvmgo.session")
	of := rows(t, &calls)
	of.session = must.Open(runtime.NewModule("session", 0, &goModule{}))(t)
	s := must.Open(of.open(t).Session())(t)
	require.Equal(t, "session", s.Kind())
}

func TestNewModel_Options(t *testing.T) {
	noLeaks(t)
	calls := 0
	m := rows(t, &calls).module(t)
	requireError(t, must.Fail(runtime.NewModel(m, runtime.Name("x"))), runtime.ErrInvalidArgument, "options of loading")
	requireError(t, must.Fail(runtime.NewModel(m, runtime.OnDevices(runtime.CPU))), runtime.ErrInvalidArgument,
		"has its devices already")
	requireError(t, must.Fail(runtime.NewModel(nil)), runtime.ErrClosed)
	requireError(t, must.Fail(runtime.NewModel(m, runtime.WithParams("no/file.npz"))), runtime.ErrNotFound, "no/file.npz")
}

// The model has its own reference to the module.
func TestNewModel_OutlivesItsModule(t *testing.T) {
	noLeaks(t)
	calls := 0
	module := rows(t, &calls).module(t)
	m := must.Open(runtime.NewModel(module))(t)
	require.NoError(t, module.Close())
	out := must.Get(m.Run(ctx, runtime.Ordered{tensor(t, []float32{1, 2}, 1, 2), tensor(t, []float32{0})}))(t)
	require.NoError(t, out.Close())
}

func TestLoadModel_NotAModel(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	requireError(t, must.Fail(runtime.LoadModel(ctx, multiC)), runtime.ErrInvalidArgument, "load model "+multiC,
		`it is not a model but a module of kind "library" with the functions`, "runtime.Load")
	requireError(t, must.Fail(runtime.LoadModel(ctx, "absent.so")), runtime.ErrNotFound, "absent.so")
	requireError(t, must.Fail(runtime.LoadModelBytes(ctx, readFile(t, multiC), runtime.Name("mine"))),
		runtime.ErrInvalidArgument, "load model mine")
}

// This program does not import the packages that run models.
func TestLoadModel_MissingImport(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	for file, says := range map[string]string{
		"modern/relax_mlp.so":  "import tvmgo/runtime/vm",
		"classic/graph_mlp.so": "import tvmgo/runtime/graph",
	} {
		requireError(t, must.Fail(runtime.LoadModel(ctx, artifacts+file)), runtime.ErrNotSupported, file, says)
	}
}

func TestLoadModel_CancelledContext(t *testing.T) {
	noLeaks(t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, must.Fail(runtime.LoadModel(cancelled, multiC)), context.Canceled)
}

func modelTensors(t testing.TB, out []runtime.Outputs) (all [][]float32) {
	t.Helper()
	for _, o := range out {
		require.Len(t, o, 1)
		all = append(all, modules.Slice[float32](t, must.Get(o.Tensor(0))(t)))
		require.NoError(t, o.Close())
	}
	return all
}
