package model_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/graph"
	"tvmgo/graph/onnx/file"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/serve/model"
	"tvmgo/tir"
)

func TestLoad_Relax(t *testing.T) {
	noLeaks(t)
	m := mlp(t)
	require.Equal(t, "forward", m.Function())
	require.Equal(t, "tvmgo_relax", m.Platform())
	require.Equal(t, runtime.CPU, m.Device())
	require.True(t, m.Batches())
	require.Equal(t, []model.Value{{Name: "x", DType: dlpack.Float32, Shape: []int64{-1, 16},
		Symbols: []string{"batch", ""}}}, m.Inputs())
	require.Equal(t, []model.Value{{Name: "output_0", DType: dlpack.Float32, Shape: []int64{-1, 10},
		Symbols: []string{"batch", ""}}}, m.Outputs())
	in, shape := modules.NPY(t, artifacts+"modern/relax_mlp_in0.npy")
	want, _ := modules.NPY(t, artifacts+"modern/relax_mlp_out.npy")
	x := modules.Tensor(t, in, shape...)
	out := must.Get(m.Run(ctx, tensors(x)))(t)
	require.Equal(t, []int64{shape[0], 10}, out[0].Shape())
	require.InDeltaSlice(t, want, floats(t, out)[0], 1e-5)
	require.Positive(t, must.Get(m.Memory())(t).Peak)

	m.Inputs()[0].Shape[0] = 7
	require.EqualValues(t, -1, m.Inputs()[0].Shape[0], "a copy")
	require.NoError(t, m.Close())
	require.ErrorIs(t, must.Fail(m.Run(ctx, tensors(x))), runtime.ErrClosed)
}

func TestLoad_Graph(t *testing.T) {
	noLeaks(t)
	m := load(t, artifacts+"classic/graph_mlp.so", model.Options{})
	require.Equal(t, "tvmgo_graph", m.Platform())
	require.False(t, m.Batches())
	require.Equal(t, []model.Value{{Name: "data", DType: dlpack.Float32, Shape: []int64{4, 16},
		Symbols: []string{"", ""}}}, m.Inputs())
	require.Equal(t, "tvmgen_default_fused_nn_softmax", m.Outputs()[0].Name)
	in, shape := modules.NPY(t, artifacts+"classic/graph_mlp_in0.npy")
	want, _ := modules.NPY(t, artifacts+"classic/graph_mlp_out.npy")
	x := modules.Tensor(t, in, shape...)
	for _, out := range must.Get(m.RunBatch(ctx, [][]*runtime.Tensor{{x}, {x}}))(t) {
		require.InDeltaSlice(t, want, floats(t, out)[0], 1e-5)
	}
	key, rows := m.Key(tensors(x))
	require.Empty(t, key)
	require.Zero(t, rows)
}

// Requests of one key run in one call, and each gets its rows.
func TestModel_RunBatch(t *testing.T) {
	noLeaks(t)
	m := mlp(t)
	in, _ := modules.NPY(t, artifacts+"modern/relax_mlp_in0.npy")
	var requests [][]*runtime.Tensor
	var want [][]float32
	for rows := range int64(4) {
		x := modules.Tensor(t, in[len(in)-int(rows)*16:], rows, 16)
		key, n := m.Key(tensors(x))
		require.NotEmpty(t, key)
		require.EqualValues(t, rows, n)
		requests = append(requests, tensors(x))
		want = append(want, floats(t, must.Get(m.Run(ctx, tensors(x)))(t))[0])
	}
	for i, out := range must.Get(m.RunBatch(ctx, requests))(t) {
		require.InDeltaSlice(t, want[i], floats(t, out)[0], 1e-6)
	}
	wrong := modules.Tensor(t, make([]float32, 8), 1, 8)
	key, _ := m.Key(tensors(wrong))
	require.Empty(t, key)
	require.ErrorContains(t, must.Fail(m.RunBatch(ctx, append(requests, tensors(wrong)))), "request 4: input x: expected")
}

// Any number of goroutines call one model; each gets the answer to its own request.
func TestModel_Concurrent(t *testing.T) {
	noLeaks(t)
	m := mlp(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				in := make([]float32, 16)
				in[(g+i)%16] = float32(g)
				x, err := runtime.FromSlice(in, 1, 16)
				if err != nil {
					t.Error(err)
					return
				}
				first, err1 := m.Run(ctx, tensors(x))
				both, err2 := m.RunBatch(ctx, [][]*runtime.Tensor{{x}, {x}})
				x.Close()
				if err1 != nil || err2 != nil {
					t.Error(err1, err2)
					return
				}
				want := floats(t, first)[0]
				for _, out := range both {
					if got := floats(t, out)[0]; !almost(want, got) {
						t.Errorf("%v instead of %v", got, want)
					}
				}
			}
		})
	}
	wg.Wait()
}

func almost(a, b []float32) bool {
	for i := range a {
		if d := a[i] - b[i]; d > 1e-5 || d < -1e-5 {
			return false
		}
	}
	return len(a) == len(b)
}

func TestModel_Order(t *testing.T) {
	m := load(t, library(t, axpy(t)), model.Options{})
	for _, c := range []struct {
		names []string
		want  []int
		says  string
	}{
		{[]string{"x", "scale", "shift"}, []int{0, 1, 2}, ""},
		{[]string{"shift", "x", "scale"}, []int{1, 2, 0}, ""},
		{[]string{"x", "x", "scale"}, nil, `input "x" is given twice`},
		{[]string{"x"}, nil, "missing inputs: scale, shift"},
		{[]string{"x", "scael"}, nil, `there is no input "scael"; did you mean "scale"?: the model has x, scale, shift`},
	} {
		order, err := m.Order(c.names)
		require.Equal(t, c.want, order)
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			require.ErrorIs(t, err, runtime.ErrInvalidArgument)
		}
	}
}

func TestModel_Check(t *testing.T) {
	noLeaks(t)
	m := load(t, library(t, axpy(t)), model.Options{})
	x, s := modules.Tensor(t, []float32{1, 2, 3, 4}, 2, 2), modules.Tensor(t, []float32{1, 2})
	require.NoError(t, m.Check(tensors(x, s, s)))
	closed := modules.Tensor(t, []float32{1, 2})
	require.NoError(t, closed.Close())
	column := must.Open(x.View(dlpack.Float32, []int64{2}, []int64{2}, 0))(t)
	for _, c := range []struct {
		inputs []*runtime.Tensor
		says   string
	}{
		{tensors(x, s), "expected 3 inputs (x, scale, shift), got 2"},
		{tensors(s, s, s), "input x: expected float32[n, m], got float32[2]: 1 dimensions, not 2"},
		{tensors(x, modules.Tensor(t, []int32{1, 2}), s),
			"input scale: expected float32[m], got int32[2]: the dtype differs"},
		{tensors(x, s, modules.Tensor(t, []float32{1, 2, 3})),
			"input shift: expected float32[m], got float32[3]: dimension 0 must be 2, because m is 2 in input x"},
		{tensors(x, s, column), "input shift: float32[2] on cpu:0 is not compact memory of the CPU"},
	} {
		err := m.Check(c.inputs)
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
		require.ErrorContains(t, must.Fail(m.Run(ctx, c.inputs)), c.says)
	}
	require.ErrorIs(t, m.Check(tensors(x, s, closed)), runtime.ErrClosed)
	require.ErrorIs(t, m.Check(tensors(x, s, nil)), runtime.ErrClosed)

	require.NoError(t, m.CheckInput(0, dlpack.Float32, []int64{5, 0}))
	require.ErrorContains(t, m.CheckInput(0, dlpack.Float32, []int64{5}),
		"input x: expected float32[n, m], got float32[5]")
	require.ErrorContains(t, m.CheckInput(1, dlpack.Float16, []int64{5}), "the dtype differs")
	require.ErrorContains(t, m.CheckInput(1, dlpack.Float32, []int64{-1}), "input scale: dimension 0 is -1")
	require.ErrorContains(t, m.CheckInput(3, dlpack.Float32, nil), "there is no input 3")
}

// axpy is x * scale + shift, whose rows are computed alone, and the number of the rows.
func axpy(t testing.TB) *graph.Function {
	f := graph.NewFunction("main")
	add := func(op string, in ...*graph.Value) *graph.Value { return must.Get(f.Add(op, nil, in...))(t)[0] }
	x := f.Param("x", tir.Float32, f.Symbol("n"), f.Symbol("m"))
	scale, shift := f.Param("scale", tir.Float32, f.Symbol("m")), f.Param("shift", tir.Float32, f.Symbol("m"))
	f.Return(add("add", add("mul", x, scale), shift), add("relu", x))
	return f
}

// Tensors that are not stacked are compared by their elements, if they are small.
func TestModel_Key(t *testing.T) {
	noLeaks(t)
	m := load(t, library(t, axpy(t)), model.Options{})
	require.True(t, m.Batches())
	row := func(v ...float32) *runtime.Tensor { return modules.Tensor(t, v, 1, int64(len(v))) }
	vector := func(v ...float32) *runtime.Tensor { return modules.Tensor(t, v) }
	key, rows := m.Key(tensors(row(1, 2), vector(3, 4), vector(5, 6)))
	require.NotEmpty(t, key)
	require.Equal(t, 1, rows)
	same, _ := m.Key(tensors(row(7, 8), vector(3, 4), vector(5, 6)))
	require.Equal(t, key, same)
	for _, other := range [][]*runtime.Tensor{
		tensors(row(1, 2), vector(3, 5), vector(5, 6)), tensors(row(1, 2), vector(3, 4), vector(5, 7)),
		tensors(row(1), vector(3), vector(5)),
	} {
		k, _ := m.Key(other)
		require.NotEmpty(t, k)
		require.NotEqual(t, key, k)
	}
	large := make([]float32, 65)
	k, _ := m.Key(tensors(row(large...), vector(large...), vector(large...)))
	require.Empty(t, k)

	before := must.Get(m.Memory())(t).Taken
	outs := must.Get(m.RunBatch(ctx, [][]*runtime.Tensor{
		{row(1, 2), vector(3, 4), vector(5, 6)}, {row(1, 1), vector(3, 4), vector(5, 6)},
	}))(t)
	batched := must.Get(m.Memory())(t).Taken - before
	require.Equal(t, [][]float32{{8, 14}, {1, 2}}, floats(t, outs[0]))
	require.Equal(t, [][]float32{{8, 10}, {1, 1}}, floats(t, outs[1]))
	outs = must.Get(m.RunBatch(ctx, [][]*runtime.Tensor{
		{row(1, 2), vector(3, 4), vector(5, 6)}, {row(1, 1), vector(2, 4), vector(5, 6)},
	}))(t)
	require.Equal(t, [][]float32{{8, 14}, {1, 2}}, floats(t, outs[0]))
	require.Equal(t, [][]float32{{7, 10}, {1, 1}}, floats(t, outs[1]))
	require.Equal(t, 2*batched, must.Get(m.Memory())(t).Taken-before-batched, "other keys run apart")
}

func TestModel_Devices(t *testing.T) {
	path := library(t, axpy(t), "c", "opencl", "vulkan")
	for _, dev := range []dlpack.Device{runtime.CPU, {Type: dlpack.OpenCL}, {Type: dlpack.Vulkan}} {
		t.Run(dev.Type.String(), func(t *testing.T) {
			if !runtime.DeviceExists(dev) {
				gputest.Missing(t, dev.Type, "there is no device")
			}
			noLeaks(t)
			m := load(t, path, model.Options{Device: dev})
			require.Equal(t, dev, m.Device())
			before := leaks.Settled(func() int64 { return runtime.Live().Tensors })
			require.NoError(t, m.Warm(ctx))
			require.Equal(t, before, runtime.Live().Tensors, "closed, without the garbage collector")
			x, v := modules.Tensor(t, []float32{1, -2}, 1, 2), modules.Tensor(t, []float32{3, 4})
			out := must.Get(m.Run(ctx, tensors(x, v, v)))(t)
			require.Equal(t, [][]float32{{6, -4}, {1, 0}}, floats(t, out))
			outs := must.Get(m.RunBatch(ctx, [][]*runtime.Tensor{{x, v, v}, {x, v, v}}))(t)
			for _, out := range outs {
				require.Equal(t, [][]float32{{6, -4}, {1, 0}}, floats(t, out))
			}
		})
	}
	_, err := model.Load(ctx, path, model.Options{Device: dlpack.Device{Type: dlpack.OpenCL, ID: 99}})
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, path)
}

func TestModel_Memory(t *testing.T) {
	noLeaks(t)
	o := withParams
	o.Memory = 4096
	m := load(t, artifacts+"modern/relax_mlp.so", o)
	_, err := m.Run(ctx, tensors(modules.Tensor(t, make([]float32, 1000*16), 1000, 16)))
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)
	require.EqualValues(t, 4096, must.Get(m.Memory())(t).Limit)
}

func TestModel_Cancelled(t *testing.T) {
	noLeaks(t)
	m := mlp(t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	x := modules.Tensor(t, make([]float32, 16), 1, 16)
	require.ErrorIs(t, must.Fail(m.Run(cancelled, tensors(x))), context.Canceled)
	require.ErrorIs(t, must.Fail(m.RunBatch(cancelled, [][]*runtime.Tensor{{x}, {x}})), context.Canceled)
	require.NoError(t, m.Wait(ctx))
}

func TestModel_Warm(t *testing.T) {
	noLeaks(t)
	m := mlp(t)
	require.NoError(t, m.Warm(ctx))
	require.Positive(t, must.Get(m.Memory())(t).Taken)
	require.NoError(t, m.Close())
	require.ErrorIs(t, m.Warm(ctx), runtime.ErrClosed)
}

func TestLoad_Errors(t *testing.T) {
	noLeaks(t)
	relax := artifacts + "modern/relax_mlp.so"
	machine.Need(t, relax)
	for _, c := range []struct {
		path string
		o    model.Options
		kind error
		says string
	}{
		{"none.so", model.Options{}, runtime.ErrNotFound, "none.so"},
		{relax, model.Options{}, runtime.ErrInvalidArgument,
			relax + ": function forward: input fc1.weight has no type in the file"},
		{relax, model.Options{Function: "forwrad", Params: withParams.Params}, runtime.ErrNotFound,
			`there is no function "forwrad"; did you mean "forward"?`},
		{relax, model.Options{Params: withParams.Params, Outputs: []string{"y"}}, runtime.ErrInvalidArgument,
			"the outputs y are named, but the functions of a whole model return theirs"},
		{relax, model.Options{Params: artifacts + "none.params"}, runtime.ErrNotFound, "none.params"},
		{artifacts + "modern/multi_llvm.so", model.Options{}, runtime.ErrNotFound,
			"no function is named main: choose one of its functions: addone, matmul, softmax, vadd, wsfunc"},
		{artifacts + "modern/multi_llvm.so", model.Options{Function: "vadd", Params: "w.params"},
			runtime.ErrInvalidArgument, "only whole models have parameters"},
		{artifacts + "classic/multi_llvm.so", model.Options{Function: "vadd"}, runtime.ErrNotFound,
			"function vadd has no signature, which the inputs and outputs come from: pack its kernels with a signature"},
	} {
		_, err := model.Load(ctx, c.path, c.o)
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, err, c.kind, c.says)
	}
}

// The outputs of a compiled ONNX file have the names that the file gives them, whatever the compiler makes of them.
func TestLoad_ONNX(t *testing.T) {
	noLeaks(t)
	rows, numbers := file.TensorType(file.Float, file.Symbol("N"), file.Size(2)), file.TensorType(file.Int64, file.Size(2))
	x := &file.ValueInfo{Name: "x", Type: rows}
	for _, c := range []struct {
		nodes   []*file.Node
		outputs []*file.ValueInfo
		want    []string
	}{
		{[]*file.Node{{OpType: "Relu", Inputs: []string{"x"}, Outputs: []string{"y"}}}, []*file.ValueInfo{{Name: "y",
			Type: rows}}, []string{"y"}},
		{[]*file.Node{{OpType: "Relu", Inputs: []string{"x"}, Outputs: []string{"h"}},
			{OpType: "Identity", Inputs: []string{"h"}, Outputs: []string{"probabilities"}},
			{OpType: "Identity", Inputs: []string{"h"}, Outputs: []string{"same"}},
			{OpType: "Shape", Inputs: []string{"x"}, Outputs: []string{"size"}}},
			[]*file.ValueInfo{{Name: "probabilities", Type: rows}, {Name: "size", Type: numbers}, {Name: "same", Type: rows}},
			[]string{"probabilities", "size", "same"}},
	} {
		m := &file.Model{IRVersion: 10, OpsetImports: []file.Opset{{Version: 21}}, Graph: &file.Graph{Name: "main",
			Inputs: []*file.ValueInfo{x}, Outputs: c.outputs, Nodes: c.nodes}}
		built := must.Get(compile.Model(t.Context(), bytes.NewReader(m.Encode()), compile.Options{}))(t)
		path := t.TempDir() + "/m.so"
		require.NoError(t, export.Library(t.Context(), built.Module, path))
		require.NoError(t, built.Close())
		loaded := load(t, path, model.Options{})
		var got []string
		for _, v := range loaded.Outputs() {
			got = append(got, v.Name)
		}
		require.Equal(t, c.want, got)
		require.NoError(t, loaded.Warm(ctx))
	}
}
