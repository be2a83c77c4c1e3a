package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// scaled builds a library with the function name(x, y) with y = x · by for n elements.
func scaled(t testing.TB, kind, name string, n int32, by float32) *runtime.Module {
	t.Helper()
	to := must.Get(target.New(kind))(t)
	x := te.Placeholder(te.Dims(n), tir.Float32, "x")
	y := te.Compute(te.Dims(n), "y", func(i ...tir.Expr) tir.Expr { return tir.Mul(x.At(i...), tir.F32(by)) })
	s := must.Get(ops.Schedule(to, y))(t)
	return must.Open(codegen.Build(must.Get(te.Lower(s, []any{x, y}, name))(t), to))(t)
}

// needDevice skips the test if there is no device of a type.
func needDevice(t testing.TB, kind dlpack.DeviceType) dlpack.Device {
	t.Helper()
	dev := dlpack.Device{Type: kind}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, kind, "there is no device of type "+kind.String())
	}
	return dev
}

const width = 100

// there is a graph whose second function runs on a device of a type: y = 3x on the CPU, z = 5y on the device.
func there(t testing.TB, kind dlpack.DeviceType) string {
	on := func(sid int, dev dlpack.DeviceType) []entry { return []entry{{"float32", []int64{width}, sid, dev}} }
	return graphText(t, []node{
		{name: "x", out: on(0, dlpack.CPU)},
		{name: "y", fn: "triple", in: []ref{{0, 0}}, out: on(1, dlpack.CPU)},
		{name: "w", out: on(5, kind)},
		{name: "moved", fn: "__copy", in: []ref{{1, 0}}, out: on(2, kind)},
		{name: "z", fn: "five", in: []ref{{3, 0}}, out: on(3, kind)},
		{name: "back", fn: "__copy", in: []ref{{4, 0}}, out: on(4, dlpack.CPU)},
		{name: "v", fn: "five", in: []ref{{2, 0}}, out: on(6, kind)},
	}, ref{5, 0}, ref{4, 0}, ref{6, 0})
}

// Graphs on the CPU and another device: copies by the graph, inputs and outputs on the device, parameters of a factory
// on the device that needs them, memory of the caller on the device.
func TestGraph_TwoDevices(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			dev := needDevice(t, kind)
			lib := scaled(t, "c", "triple", width, 3)
			require.NoError(t, lib.Import(scaled(t, kind.String(), "five", width, 5)))
			w, x := make([]float32, width), make([]float32, width)
			for i := range w {
				w[i], x[i] = float32(i), float32(2*i+1)
			}
			make := must.Open(runtime.Global("tvm.graph_executor_factory.create"))(t)
			factory := must.Get(make.Call(there(t, kind), lib, "default", "w", modules.Tensor(t, w)))(t).(*runtime.Module)
			defer factory.Close()
			check := func(s *runtime.Module) {
				t.Helper()
				require.Len(t, output[float32](t, s, 0), width)
				for i := range x {
					require.Equal(t, 15*x[i], output[float32](t, s, 0)[i])
					require.Equal(t, 15*x[i], output[float32](t, s, 1)[i])
					require.Equal(t, 5*w[i], output[float32](t, s, 2)[i])
				}
			}
			a, b := session(t, factory, cpu, dev), session(t, factory, dev, cpu)
			for _, s := range []*runtime.Module{a, b} {
				call(t, s, "set_input", "x", gputest.Tensor(t, dev, x)) // from the device to the CPU
				call(t, s, "run")
				check(s)
			}
			shared := call(t, a, "get_input", "w").(*runtime.Tensor)
			defer shared.Close()
			require.Equal(t, dev, shared.Device())

			// The caller's memory on the device.
			in, out := gputest.Tensor(t, dev, x), gputest.Tensor(t, dev, w)
			call(t, b, "set_input_zero_copy", "w", in)
			call(t, b, "set_output_zero_copy", 2, out)
			call(t, b, "run")
			for i, y := range gputest.Slice(t, out) {
				require.Equal(t, 5*x[i], y)
			}
			require.ErrorContains(t, fails(t, b, "set_input_zero_copy", "w", modules.Tensor(t, w)),
				`input "w" is on `+kind.String()+`:0, the tensor on cpu:0`)
			call(t, a, "run")
			check(a)

			_, err := modules.Call(t, factory, "default", cpu)
			require.ErrorContains(t, err, "is on a device of type "+kind.String()+", and the executor has only [cpu:0]")
		})
	}
}

// Data move between two devices that cannot copy to each other.
func TestGraph_CopyBetweenDevices(t *testing.T) {
	first, second := needDevice(t, dlpack.OpenCL), needDevice(t, dlpack.Vulkan)
	on := func(sid int, dev dlpack.DeviceType) []entry { return []entry{{"float32", []int64{8}, sid, dev}} }
	s := create(t, graphText(t, []node{
		{name: "x", out: on(0, dlpack.OpenCL)},
		{name: "y", fn: "__copy", in: []ref{{0, 0}}, out: on(1, dlpack.Vulkan)},
	}, ref{1, 0}), scaled(t, "c", "unused", 8, 1), first, second)
	want := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	for range 3 {
		call(t, s, "set_input", "x", gputest.Tensor(t, second, want))
		call(t, s, "run")
		require.Equal(t, want, output[float32](t, s, 0))
		want[3]++
	}
}
