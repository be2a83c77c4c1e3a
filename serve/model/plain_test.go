package model_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/serve/model"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

const addSource = "void add(const float* a, const float* b, float* c, int n) { for (int i = 0; i < n; i++) c[i] = " +
	"a[i] + b[i]; }\n"

const clSource = "__kernel void add(__global const float* a, __global const float* b, __global float* c, int n) {\n" +
	"  int i = get_global_id(0);\n  if (i < n) c[i] = a[i] + b[i];\n}\n"

const addSignature = "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32) launch " +
	"blockIdx.x=ceildiv(n, 64), threadIdx.x=64"

func TestLoad_Packed(t *testing.T) {
	path := packed(t, map[string]string{"k.c": addSource, "k.cl": clSource}, addSignature)
	for _, dev := range []dlpack.Device{runtime.CPU, {Type: dlpack.OpenCL}, {}} {
		if dev != (dlpack.Device{}) && !runtime.DeviceExists(dev) {
			gputest.Missing(t, dev.Type, "there is no device")
		}
		m := load(t, path, model.Options{Device: dev})
		if dev != (dlpack.Device{}) {
			require.Equal(t, dev, m.Device())
		}
		require.Equal(t, "tvmgo_packed", m.Platform())
		require.False(t, m.Batches())
		n := func(name string) model.Value {
			return model.Value{Name: name, DType: dlpack.Float32, Shape: []int64{-1}, Symbols: []string{"n"}}
		}
		require.Equal(t, []model.Value{n("a"), n("b")}, m.Inputs(), "n is the size of a")
		require.Equal(t, []model.Value{n("c")}, m.Outputs())
		before := leaks.Settled(func() int64 { return runtime.Live().Tensors })
		require.NoError(t, m.Warm(ctx))
		require.Equal(t, before, runtime.Live().Tensors, "closed, without the garbage collector")
		a, b := modules.Tensor(t, []float32{1, 2, 3}), modules.Tensor(t, []float32{10, 20, 30})
		require.Equal(t, [][]float32{{11, 22, 33}}, floats(t, must.Get(m.Run(ctx, tensors(a, b)))(t)))
		for _, out := range must.Get(m.RunBatch(ctx, [][]*runtime.Tensor{{a, b}, {b, b}}))(t) {
			require.Len(t, floats(t, out)[0], 3)
		}
		short := modules.Tensor(t, []float32{1})
		require.ErrorContains(t, must.Fail(m.Run(ctx, tensors(a, short))),
			"input b: expected float32[n], got float32[1]: dimension 0 must be 3, because n is 3 in input a")
		memory := must.Get(m.Memory())(t)
		require.Zero(t, memory.Live)
		require.Positive(t, memory.Peak)
	}
}

// Numbers are inputs, arguments that are read and written are both, and an integer is the size of an output.
func TestLoad_PackedForms(t *testing.T) {
	noLeaks(t)
	path := packed(t, map[string]string{"k.c": `
#include <stdint.h>
void main_(float* x, float f, int64_t k, _Bool b, double* y, int32_t m, int32_t n) {
  for (int i = 0; i < n; i++) x[i] = x[i] * f + (float)k;
  for (int i = 0; i < m; i++) if (b) y[i] = i + 1;
}
`}, "main=main_(x: inout float32[n], f: float32, k: int64, b: bool, y: out float64[m, 2], m: int32, n: int32)")
	m := load(t, path, model.Options{})
	var list []string
	for _, v := range m.Inputs() {
		list = append(list, v.Name+" "+v.DType.String())
	}
	require.Equal(t, []string{"x float32", "f float32", "k int64", "b bool", "m int32"}, list)
	require.Equal(t, "x", m.Outputs()[0].Name)
	require.Equal(t, []int64{-1, 2}, m.Outputs()[1].Shape)
	require.NoError(t, m.Warm(ctx))
	x := modules.Tensor(t, []float32{1, 2})
	for _, rows := range []int32{0, 3} {
		in := tensors(x, scalar(t, float32(2)), scalar(t, int64(-1)), scalar(t, true), scalar(t, rows))
		for _, c := range []context.Context{ctx, t.Context()} {
			out := must.Get(m.Run(c, in))(t)
			require.Equal(t, []float32{1, 3}, modules.Slice[float32](t, out[0]))
			require.Equal(t, []int64{int64(rows), 2}, out[1].Shape())
			want := []float64{1, 2, 3, 0, 0, 0} // what the function does not write is 0
			require.Equal(t, want[:2*rows], modules.Slice[float64](t, out[1]))
			require.NoError(t, out[0].Close())
			require.NoError(t, out[1].Close())
		}
		require.Equal(t, []float32{1, 2}, modules.Slice[float32](t, x), "the input is copied")
	}
	one := must.Open(runtime.FromSlice([]bool{false}, 1))(t)
	for _, c := range []struct {
		i    int
		with *runtime.Tensor
		says string
	}{
		{1, scalar(t, 1.0), "input f: expected float32[1], got float64[1]"},
		{2, modules.Tensor(t, []int64{1, 2}), "input k: expected int64[1], got int64[2]"},
		{3, scalar(t, uint8(1)), "input b: expected bool[1], got uint8[1]"},
		{4, scalar(t, int32(-1)), "dimension 0, m, has no value"},
	} {
		in := tensors(x, scalar(t, float32(2)), scalar(t, int64(-1)), one, scalar(t, int32(1)))
		require.NoError(t, m.Check(in))
		in[c.i] = c.with
		require.ErrorContains(t, must.Fail(m.Run(ctx, in)), c.says)
	}
	o := model.Options{Memory: 1000}
	limited := load(t, path, o)
	in := tensors(x, scalar(t, float32(2)), scalar(t, int64(-1)), scalar(t, true), scalar(t, int32(100)))
	err := must.Fail(limited.Run(t.Context(), in))
	require.ErrorIs(t, err, runtime.ErrOutOfMemory)
	require.ErrorContains(t, err, "run main: output y: 1600 bytes are needed, and the calls of the model have 8 of 1000")
	require.Zero(t, must.Get(limited.Memory())(t).Live)
	require.NoError(t, limited.Close())
	require.ErrorIs(t, must.Fail(limited.Run(t.Context(), in)), runtime.ErrClosed)
}

// Libraries of Apache TVM have the signatures of their functions as text, and outputs come last.
func TestLoad_PlainTVM(t *testing.T) {
	noLeaks(t)
	for _, file := range []string{"multi_llvm.so", "multi_c.so", "gpu_opencl.so"} {
		dev := dlpack.Device{Type: dlpack.OpenCL}
		if file != "gpu_opencl.so" {
			dev = runtime.CPU
		} else if !runtime.DeviceExists(dev) {
			gputest.Missing(t, dev.Type, "there is no device")
		}
		m := load(t, artifacts+"modern/"+file, model.Options{Function: "vadd"})
		require.Equal(t, dev, m.Device())
		require.Len(t, m.Inputs(), 2)
		require.Equal(t, "C", m.Outputs()[0].Name)
		a, shape := modules.NPY(t, artifacts+"vadd_in0.npy")
		b, _ := modules.NPY(t, artifacts+"vadd_in1.npy")
		want, _ := modules.NPY(t, artifacts+"vadd_out.npy")
		in := tensors(modules.Tensor(t, a, shape...), modules.Tensor(t, b, shape...))
		require.Equal(t, want, floats(t, must.Get(m.Run(ctx, in))(t))[0])
	}
	// main is another name of the entry, without a signature.
	m := load(t, artifacts+"modern/addone_llvm.so", model.Options{})
	require.Equal(t, "addone", m.Function())
	// A kernel of a whole model.
	m = load(t, artifacts+"modern/relax_mlp.so", model.Options{Function: "softmax"})
	require.Equal(t, "tvmgo_packed", m.Platform())
	require.Equal(t, []int64{-1, 10}, m.Inputs()[0].Shape)
	m = load(t, artifacts+"modern/relax_mlp.so", model.Options{Function: "transpose"})
	require.Equal(t, []int64{32, 16}, m.Inputs()[0].Shape)
	// Named outputs.
	m = load(t, artifacts+"modern/multi_c.so", model.Options{Function: "addone", Outputs: []string{"B"}})
	require.Equal(t, "B", m.Outputs()[0].Name)
	for _, c := range []struct{ output, says string }{
		{"X", `function addone: the output "X" is none of the arguments: A, B`},
		{"A", `output A: dimension 0`},
	} {
		_, err := model.Load(ctx, artifacts+"modern/multi_c.so", model.Options{Function: "addone",
			Outputs: []string{c.output, "B"}})
		require.ErrorContains(t, err, c.says)
	}
}

// Functions that this compiler made of tensor expressions.
func TestLoad_TensorExpression(t *testing.T) {
	kinds := map[string]dlpack.DeviceType{"c": dlpack.CPU, "opencl": dlpack.OpenCL, "vulkan": dlpack.Vulkan}
	for kind, dev := range kinds {
		t.Run(kind, func(t *testing.T) {
			if !runtime.DeviceExists(dlpack.Device{Type: dev}) {
				gputest.Missing(t, dev, "there is no device")
			}
			noLeaks(t)
			n := te.Var("n")
			a := te.Placeholder([]tir.Expr{n, tir.I32(2)}, tir.Float32, "A")
			b := te.Compute([]tir.Expr{n}, "B", func(i ...tir.Expr) tir.Expr {
				return tir.Add(a.At(i[0], tir.I32(0)), a.At(i[0], tir.I32(1)))
			})
			s := must.Get(te.NewSchedule(b))(t)
			if kind != "c" {
				outer, inner := s.Stage(b).Split(b.Axes()[0], 4)
				s.Stage(b).Bind(outer, "blockIdx.x")
				s.Stage(b).Bind(inner, "threadIdx.x")
			}
			loops := must.Get(te.Lower(s, []any{a, b}, "pairs"))(t)
			built := must.Open(codegen.Build(loops, must.Get(target.New(kind))(t)))(t)
			path := t.TempDir() + "/pairs.so"
			require.NoError(t, export.Library(ctx, built, path))
			m := load(t, path, model.Options{})
			require.Equal(t, "pairs", m.Function())
			require.Equal(t, dev, m.Device().Type)
			require.NoError(t, m.Warm(ctx))
			out := must.Get(m.Run(ctx, tensors(modules.Tensor(t, []float32{1, 2, 3, 4, 5, 6}, 3, 2))))(t)
			require.Equal(t, [][]float32{{3, 7, 11}}, floats(t, out))
		})
	}
}

func TestLoad_PackedErrors(t *testing.T) {
	noLeaks(t)
	code := "void f() {}\nvoid g() {}\nvoid main() {}\n"
	for _, c := range []struct{ signature, says string }{
		{"f(x: handle, y: out float32[2])", "function f: argument x is a tensor of any type"},
		{"f(handle)", "argument 0 is a tensor of any type"},
		{"f(x: float32[n], y: out float32[m])",
			"output y: dimension 0 depends on m, which no input determines: add it to the dimensions of an input"},
		{"f(x: float32[n], y: out float32[_])", "output y: dimension 0 is not known"},
		{"f(n: int32)", "no argument is an output: mark one with out in its signature, or name the outputs: n"},
		{"f(x: const float32[n])", "no argument is an output"},
	} {
		path := packed(t, map[string]string{"k.c": code}, c.signature)
		_, err := model.Load(ctx, path, model.Options{})
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, path)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	}
}

// Without marks, and without names, arguments are told by their numbers.
func TestLoad_PackedUnnamed(t *testing.T) {
	path := packed(t, map[string]string{"k.c": "void f(float* x, float* y) { y[0] = 2 * x[0]; }\n"},
		"f(float32[1], float32[1])")
	m := load(t, path, model.Options{})
	require.Equal(t, "input_0", m.Inputs()[0].Name)
	require.Equal(t, "output_1", m.Outputs()[0].Name)
	require.Equal(t, [][]float32{{6}}, floats(t, must.Get(m.Run(ctx, tensors(scalar(t, float32(3)))))(t)))
}

func TestModel_PlainCancelled(t *testing.T) {
	noLeaks(t)
	path := packed(t, map[string]string{"k.c": addSource}, addSignature)
	m := load(t, path, model.Options{})
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	a := modules.Tensor(t, []float32{1})
	require.ErrorIs(t, must.Fail(m.Run(cancelled, tensors(a, a))), context.Canceled)
	require.NoError(t, m.Wait(ctx))
}
