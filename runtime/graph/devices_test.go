package graph_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/runtime/graph"
)

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
			lib := gpuprograms.Scaled(t, "c", "triple", width, 3)
			require.NoError(t, lib.Import(gpuprograms.Scaled(t, kind.String(), "five", width, 5)))
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
	}, ref{1, 0}), gpuprograms.Scaled(t, "c", "unused", 8, 1), first, second)
	want := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	for range 3 {
		call(t, s, "set_input", "x", gputest.Tensor(t, second, want))
		call(t, s, "run")
		require.Equal(t, want, output[float32](t, s, 0))
		want[3]++
	}
}

// A model on two devices: parameters go where they are needed, inputs come from anywhere, threads share it, also with
// streams of their own.
func TestModel_TwoDevices(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			dev := needDevice(t, kind)
			lib := gpuprograms.Scaled(t, "c", "triple", width, 3)
			require.NoError(t, lib.Import(gpuprograms.Scaled(t, kind.String(), "five", width, 5)))
			w, x := make([]float32, width), make([]float32, width)
			for i := range w {
				w[i], x[i] = float32(i), float32(2*i+1)
			}
			model := must.Open(graph.NewModel(there(t, kind), lib, dev, cpu))(t)
			require.Equal(t, []any{dev, cpu}, call(t, model, "tvmgo.devices"))
			params := field(t, call(t, model, "tvmgo.signature", "default"), "params").([]any)
			require.EqualValues(t, 1, field(t, params[0], "device"))
			require.EqualValues(t, 0, field(t, params[1], "device"))
			call(t, model, "tvmgo.bind", runtime.Map{{Key: "w", Value: modules.Tensor(t, w)}})
			require.EqualValues(t, 4*width, memory(t, model, "weights"))

			f := must.Open(model.Function("default"))(t)
			check := func(on *runtime.Stream, in *runtime.Tensor) {
				v, err := f.CallOn(on, in)
				if !assert.NoError(t, err) {
					return
				}
				for k, want := range [][]float32{x, x, w} {
					o := v.([]any)[k].(*runtime.Tensor)
					got, err := runtime.ToSlice[float32](o)
					assert.NoError(t, err)
					assert.Equal(t, 5*want[width-1]*[]float32{3, 3, 1}[k], got[width-1])
					o.Close()
				}
			}
			near, far := modules.Tensor(t, x), gputest.Tensor(t, dev, x)
			var threads sync.WaitGroup
			for k := range 8 {
				threads.Go(func() {
					s, err := runtime.NewStream(dev)
					if !assert.NoError(t, err) {
						return
					}
					defer s.Close()
					for i := range 10 {
						in, on := near, s
						if i%2 == 0 {
							in = far
						}
						if k%2 == 0 {
							on = nil
						}
						check(on, in)
					}
				})
			}
			threads.Wait()
			call(t, model, "tvmgo.bind", runtime.Map{{Key: "w", Value: gputest.Tensor(t, dev, w)}})
			check(nil, near)
		})
	}
}

// Models of a factory share its parameters on a device.
func TestModel_SharesTheFactorysParameters(t *testing.T) {
	dev := needDevice(t, dlpack.OpenCL)
	lib := gpuprograms.Scaled(t, "c", "triple", width, 3)
	require.NoError(t, lib.Import(gpuprograms.Scaled(t, "opencl", "five", width, 5)))
	w := modules.Tensor(t, make([]float32, width))
	create := must.Open(runtime.Global("tvm.graph_executor_factory.create"))(t)
	factory := must.Open(must.Get(create.Call(there(t, dlpack.OpenCL), lib, "default", "w", w))(t).(*runtime.Module),
		nil)(t)
	a, b := open(t, factory, dev, cpu), open(t, factory, dev, cpu)
	s := call(t, b, "tvmgo.session").(*runtime.Module)
	defer s.Close()
	for _, m := range []*runtime.Module{a, b} {
		require.EqualValues(t, 4*width, memory(t, m, "weights"))
		require.EqualValues(t, 4*width, field(t, call(t, m, "tvmgo.model_memory"), "weights"))
	}
}
