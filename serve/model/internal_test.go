package model

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// info describes a value as modules of models do; dims are numbers, or -1 for d0, d1, ….
func info(name, kind, dtype string, shape []int64, fields ...any) runtime.Map {
	ndim, texts := int64(-1), []any{}
	if shape != nil {
		ndim = int64(len(shape))
	}
	for i, n := range shape {
		text := "d" + string(rune('0'+i))
		if n >= 0 {
			text = fmt.Sprint(n)
		}
		texts = append(texts, text)
	}
	if fields == nil {
		fields = []any{}
	}
	return runtime.Map{{Key: "name", Value: name}, {Key: "kind", Value: kind}, {Key: "dtype", Value: dtype},
		{Key: "ndim", Value: ndim}, {Key: "shape", Value: runtime.Shape(shape)}, {Key: "dims", Value: texts},
		{Key: "fields", Value: fields}, {Key: "device", Value: 0}, {Key: "bound", Value: false},
		{Key: "text", Value: "R." + kind}}
}

// fake is the module of a model with one function.
type fake struct {
	runtime.ModuleBase
	signature runtime.Map
	main      runtime.PackedFunc
}

func (f *fake) Function(name string) (*runtime.Function, error) {
	answers := map[string]any{"tvmgo.functions": []any{"main"}, "tvmgo.signature": f.signature,
		"tvmgo.devices": []any{runtime.CPU}}
	if name == "main" {
		return runtime.NewFunction(f.main)
	}
	answer, ok := answers[name]
	if !ok {
		return nil, runtime.Errorf(runtime.ErrNotFound, "no function %s", name)
	}
	return runtime.NewFunction(func(...any) (any, error) { return answer, nil })
}

func open(t *testing.T, f runtime.PackedFunc, result runtime.Map, params ...any) (*Model, error) {
	t.Helper()
	signature := runtime.Map{{Key: "name", Value: "main"}, {Key: "params", Value: params}, {Key: "result", Value: result}}
	module := must.Open(runtime.NewModule("test.model", runtime.Runnable, &fake{signature: signature, main: f}))(t)
	return loadWhole(module, false, &Options{})
}

func noLeaks(t *testing.T) {
	t.Helper()
	leaks.Check(t, func() [2]int64 { l := runtime.Live(); return [2]int64{l.Tensors, l.Functions} })
}

func valueNames(list []Value) (all []string) {
	for _, v := range list {
		all = append(all, v.Name)
	}
	return all
}

// Numbers, shapes and tuples become tensors, and tensors become them.
func TestWhole_Forms(t *testing.T) {
	noLeaks(t)
	var got []any
	x := modules.Tensor(t, []float32{1, 2})
	result := []any{runtime.Shape{4, 5}, []any{int64(-7), 0.5, true}, 2.5, int64(3)}
	m, err := open(t, func(args ...any) (any, error) { got = args[1:]; return result, nil },
		info("", "tuple", "", nil, info("size", "shape", "", []int64{-1, -1}), info("", "tuple", "", nil,
			info("", "number", "int64", nil), info("", "number", "float64", nil), info("", "number", "bool", nil)),
			info("size", "number", "float16", nil), info("x", "number", "bfloat16", nil)),
		info("x", "tensor", "float32", []int64{-1}), info("n", "number", "int64", nil), info("", "number", "float32", nil),
		info("b", "number", "bool", nil), info("u", "number", "uint8", nil), info("s", "shape", "", []int64{-1, 3}),
		info("t", "tuple", "", nil, info("", "shape", "", nil), info("", "tuple", "", nil, info("", "number", "float16", nil),
			info("", "number", "int8", nil))), info("n", "number", "bfloat16", nil))
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, []string{"x", "n", "input_2", "b", "u", "s", "t.0", "t.1.0", "t.1.1",
		"input_7"}, valueNames(m.Inputs()))
	require.Equal(t, []string{"size", "output_1.0", "output_1.1", "output_1.2", "output_2", "x"}, valueNames(m.Outputs()))
	require.False(t, m.Batches())
	require.Equal(t, Value{Name: "s", DType: dlpack.Int64, Shape: []int64{2}, Symbols: []string{""}}, m.Inputs()[5])
	require.Equal(t, []int64{-1}, m.Inputs()[6].Shape)
	require.Equal(t, []int64{1}, m.Inputs()[3].Shape)
	in := []*runtime.Tensor{x, modules.Tensor(t, []int64{-5}, 1), must.Open(runtime.NewTensor(dlpack.Float32, []int64{},
		runtime.CPU))(t), modules.Tensor(t, []bool{true}), modules.Tensor(t, []uint8{200}), modules.Tensor(t, []int64{2, 3}),
		modules.Tensor(t, []int64{9, 8, 7}), modules.Tensor(t, []dlpack.Float16Bits{dlpack.Float16Of(1.5)}),
		modules.Tensor(t, []int8{-1}), modules.Tensor(t, []dlpack.BFloat16Bits{dlpack.BFloat16Of(-2)})}
	require.NoError(t, runtime.CopyFrom(in[2], []float32{0.25}))
	out := must.Get(m.Run(context.Background(), in))(t)
	require.Equal(t, []any{int64(-5), 0.25, true, int64(200), runtime.Shape{2, 3},
		[]any{runtime.Shape{9, 8, 7}, []any{1.5, int64(-1)}}, -2.0}, got)
	for i, want := range []any{[]int64{4, 5}, []int64{-7}, []float64{0.5}, []bool{true},
		[]dlpack.Float16Bits{dlpack.Float16Of(2.5)}, []dlpack.BFloat16Bits{dlpack.BFloat16Of(3)}} {
		var have any
		switch want.(type) {
		case []int64:
			have = modules.Slice[int64](t, out[i])
		case []float64:
			have = modules.Slice[float64](t, out[i])
		case []bool:
			have = modules.Slice[bool](t, out[i])
		case []dlpack.Float16Bits:
			have = modules.Slice[dlpack.Float16Bits](t, out[i])
		default:
			have = modules.Slice[dlpack.BFloat16Bits](t, out[i])
		}
		require.Equal(t, want, have, "output %d", i)
	}
	closeAll(out)
	for i, says := range map[int]string{
		1: "input n: expected int64[1], got float32[2]", 5: "input s: expected int64[2], got float32[2]",
		6: "input t.0: expected int64[?], got float32[2]",
	} {
		wrong := append([]*runtime.Tensor{}, in...)
		wrong[i] = x
		require.ErrorContains(t, m.Check(wrong), says)
		require.ErrorContains(t, m.CheckInput(i, x.DType(), x.Shape()), says)
	}
	three := append([]*runtime.Tensor{}, in...)
	three[5] = modules.Tensor(t, []int64{2, 4})
	require.ErrorContains(t, m.Check(three), "input s: expected shape[d0, 3], got shape[2, 4]")
	require.ErrorContains(t, m.Warm(context.Background()), "warm main: input t.0 has no fixed number of dimensions")

	for _, bad := range [][]any{nil, {runtime.Shape{1}}, {runtime.Shape{4, 5}, []any{int64(-7), 0.5, true}, 2.5, "no"},
		{runtime.Shape{4, 5}, []any{0.5, 0.5, true}, 2.5, int64(3)}, {x, []any{int64(-7), 0.5, true}, 2.5, 3}} {
		result = bad
		_, err := m.Run(context.Background(), in)
		require.ErrorIs(t, err, runtime.ErrFailed, "%v", bad)
		require.ErrorContains(t, err, "run main: ")
	}
}

func TestWhole_Unknown(t *testing.T) {
	noLeaks(t)
	good := info("", "tensor", "float32", []int64{2})
	for _, c := range []struct {
		result, param runtime.Map
		says          string
	}{
		{good, info("f", "function", "", nil), "function main: input f is a function"},
		{good, info("o", "any", "", nil), "input o has no type in the file"},
		{good, info("t", "tuple", "", nil, info("", "any", "", nil)), "input t.0 has no type in the file"},
		{good, info("x", "tensor", "", []int64{2}), "input x is a tensor without a fixed dtype"},
		{good, info("n", "number", "", nil), "input n is a number of a type that is not known here"},
		{info("", "function", "", nil), good, "output output_0 is a function"},
		{info("", "tuple", "", nil, good, info("o", "any", "", nil)), good, "output o has no type in the file"},
	} {
		_, err := open(t, func(...any) (any, error) { return nil, nil }, c.result, c.param)
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	}
	m, err := open(t, func(args ...any) (any, error) { return args[1], nil }, info("", "tensor", "int4", nil),
		info("x", "tensor", "int4", nil))
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, Value{Name: "x", DType: must.Get(dlpack.ParseDataType("int4"))(t), Shape: []int64{-1},
		Symbols: []string{""}, AnyRank: true}, m.Inputs()[0])
	require.ErrorContains(t, m.checkTypes(), "has elements of type int4, which the protocol has no name for")
	err = m.Warm(context.Background())
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, "warm main: input x has no fixed number of dimensions")
}

// What a call says about sizes of 1 says nothing about others, if they are open.
func TestModel_WarmErrors(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		shape []int64
		fails error
		kind  error
	}{
		{[]int64{-1}, runtime.Errorf(runtime.ErrFailed, "no"), runtime.ErrNotSupported},
		{[]int64{-1}, runtime.Errorf(runtime.ErrInvalidArgument, "no"), runtime.ErrNotSupported},
		{[]int64{-1}, runtime.Errorf(runtime.ErrOutOfMemory, "no"), runtime.ErrOutOfMemory},
		{[]int64{2}, runtime.Errorf(runtime.ErrFailed, "no"), runtime.ErrFailed},
	} {
		m, err := open(t, func(...any) (any, error) { return nil, c.fails }, info("", "tensor", "float32", []int64{2}),
			info("x", "tensor", "float32", c.shape))
		require.NoError(t, err)
		err = m.Warm(context.Background())
		require.ErrorIs(t, err, c.kind)
		require.Equal(t, c.kind == runtime.ErrNotSupported, errors.Is(err, runtime.ErrNotSupported))
		require.NoError(t, m.Close())
	}
}

// A call whose context ends goes on, and drops its outputs; the caller may close the inputs before.
func TestPlain_Left(t *testing.T) {
	noLeaks(t)
	before := leaks.Settled(func() int64 { return runtime.Live().Tensors })
	started, proceed := make(chan bool), make(chan bool)
	fn := must.Get(runtime.NewFunction(func(args ...any) (any, error) {
		started <- true
		<-proceed
		in := modules.Slice[float32](t, args[0].(*runtime.Tensor))
		return nil, runtime.CopyFrom(args[1].(*runtime.Tensor), in)
	}))(t)
	f := &plainFunction{op: "run f", fn: fn, dev: runtime.CPU}
	s := &plainSignature{args: []argument{
		{name: "x", tensor: true, dtype: dlpack.Float32, dims: []string{"n"}, isIn: true},
		{name: "y", tensor: true, dtype: dlpack.Float32, dims: []string{"n"}, isOut: true}}}
	m := &Model{function: "f", impl: f}
	require.NoError(t, f.describe(m, s))
	defer m.Close()
	x := must.Get(runtime.FromSlice([]float32{1, 2}))(t)

	go func() { <-started; proceed <- true }()
	out := must.Get(m.Run(t.Context(), []*runtime.Tensor{x}))(t)
	require.Equal(t, []float32{1, 2}, modules.Slice[float32](t, out[0]))
	closeAll(out)

	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-started; cancel() }()
	_, err := m.Run(ctx, []*runtime.Tensor{x})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "run f: ")
	require.NoError(t, x.Close())
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, m.Wait(ended), context.Canceled, "the call goes on")
	close(proceed)
	require.NoError(t, m.Wait(context.Background()))
	require.Equal(t, before, runtime.Live().Tensors, "closed, without the garbage collector")
}

// A function that does not write its output returns zeros, not what was in the memory before.
func TestPlain_Zeros(t *testing.T) {
	fn := must.Get(runtime.NewFunction(func(...any) (any, error) { return nil, nil }))(t)
	f := &plainFunction{op: "run f", fn: fn, dev: runtime.CPU}
	s := &plainSignature{args: []argument{
		{name: "y", tensor: true, dtype: dlpack.UInt8, dims: []string{"1000"}, isOut: true}}}
	m := &Model{function: "f", impl: f}
	require.NoError(t, f.describe(m, s))
	defer m.Close()
	secret := make([]byte, 1000)
	for i := range secret {
		secret[i] = 7
	}
	for range 100 {
		x := must.Get(runtime.FromSlice(secret))(t)
		require.NoError(t, x.Close())
		out := must.Get(m.Run(context.Background(), nil))(t)
		require.Equal(t, make([]byte, 1000), modules.Slice[uint8](t, out[0]))
		closeAll(out)
	}
}

// Tensors in tuples are not stacked.
func TestWhole_TuplesDoNotBatch(t *testing.T) {
	rows := func(name string) runtime.Map { return info(name, "tensor", "float32", []int64{-1}) }
	main := func(args ...any) (any, error) { return args[1], nil }
	m := must.Open(open(t, main, rows(""), rows("x")))(t)
	require.True(t, m.Batches())
	m = must.Open(open(t, main, rows(""), rows("x"), info("t", "tuple", "", nil, rows(""))))(t)
	require.False(t, m.Batches())
	m = must.Open(open(t, main, rows(""), info("t", "tuple", "", nil, rows(""))))(t)
	require.False(t, m.Batches())
}
