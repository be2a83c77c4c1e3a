package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tracetest"
	"tvmgo/runtime"
)

func TestProfile_MLP(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	s := session(t, m.Module, cpu)
	call(t, s, "set_input", "data", m.in)
	p := must.Get(runtime.NewProfile())(t)
	const runs = 2
	for range runs {
		require.NoError(t, p.Do(func() error { call(t, s, "run"); return nil }))
	}
	call(t, s, "run") // not recorded
	require.InDeltaSlice(t, m.want, output[float32](t, s, 0), 1e-5)

	trace := tracetest.Of(t, p)
	require.Equal(t, map[string]int{
		"graph": runs, "tvmgen_default_fused_nn_contrib_dense_pack_add": runs,
		"tvmgen_default_fused_nn_contrib_dense_pack_add_nn_relu": runs, "tvmgen_default_fused_nn_softmax": runs,
	}, tracetest.CheckShares(t, p))
	require.Len(t, trace.Of("function"), runs)
	flops := map[string]int64{}
	for _, o := range must.Get(p.Operators())(t) {
		flops[o.Name] = o.FLOPs
	}
	require.EqualValues(t, runs*2*4*16*32, flops["tvmgen_default_fused_nn_contrib_dense_pack_add_nn_relu"])
	require.EqualValues(t, runs*2*4*32*10, flops["tvmgen_default_fused_nn_contrib_dense_pack_add"])
	require.EqualValues(t, -1, flops["tvmgen_default_fused_nn_softmax"])
	nodes := trace.Of("node")
	perRun := len(nodes) / runs
	for i, e := range nodes[:perRun] {
		again := nodes[perRun+i]
		require.Equal(t, e.Name, again.Name)
		require.Equal(t, e.Args, again.Args)
		if i > 0 {
			require.Equal(t, nodes[i-1].End, e.Begin)
			require.Greater(t, e.Args.Node, nodes[i-1].Args.Node)
		}
	}
	memory := trace.Memory("cpu:0")
	require.Zero(t, memory[len(memory)-1])
	require.GreaterOrEqual(t, memory[0], int64(4*(4*16+32*16+32+10*32+10+4*10)), "inputs, parameters, and results")
}

// Kernels and copies take time on the stream of the device; the trace shows them there, too.
func TestProfile_TwoDevices(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			noLeaks(t)
			dev := needDevice(t, kind)
			lib := gpuprograms.Scaled(t, "c", "triple", width, 3)
			require.NoError(t, lib.Import(gpuprograms.Scaled(t, kind.String(), "five", width, 5)))
			w, x := make([]float32, width), make([]float32, width)
			create := must.Open(runtime.Global("tvm.graph_executor_factory.create"))(t)
			factory := must.Get(create.Call(there(t, kind), lib, "default", "w", modules.Tensor(t, w)))(t).(*runtime.Module)
			defer factory.Close()
			s := session(t, factory, cpu, dev)
			call(t, s, "set_input", "x", modules.Tensor(t, x))
			p := must.Get(runtime.NewProfile())(t)
			const runs = 3
			for range runs {
				require.NoError(t, p.Do(func() error { call(t, s, "run"); return nil }))
			}
			trace := tracetest.Of(t, p)
			calls := tracetest.CheckShares(t, p)
			name := dev.String()
			require.Equal(t, runs, calls["triple"])
			require.Equal(t, 2*runs, calls["five"])
			require.Equal(t, runs, calls["copy cpu:0 to "+name])
			require.Equal(t, runs, calls["copy "+name+" to cpu:0"])
			onStream, arrows := map[string]int{}, 0
			for _, e := range trace.Events {
				if e.Phase == "s" {
					arrows++
				}
				if e.Phase == "X" && trace.Process[e.PID] == name {
					require.Equal(t, "default stream", trace.Track[[2]int{e.PID, e.TID}])
					onStream[e.Category]++
				}
			}
			require.Equal(t, map[string]int{"kernel": 2 * runs, "copy": 2 * runs}, onStream)
			require.Equal(t, 4*runs, arrows)
			for _, e := range trace.Of("copy") {
				require.EqualValues(t, 4*width, e.Args.Bytes)
			}
			for _, d := range []string{name, "cpu:0"} {
				memory := trace.Memory(d)
				require.Len(t, memory, 2*runs, d)
				require.Zero(t, memory[1])
				require.GreaterOrEqual(t, memory[0], int64(2*4*width), d)
			}
			for _, o := range must.Get(p.Operators())(t) {
				if o.Name == "five" {
					require.Equal(t, name, o.Device)
					require.EqualValues(t, 2*runs*2*4*width, o.Bytes)
				}
			}
		})
	}
}

// Kernels that are called directly are operators, on the stream of the call.
func TestProfile_Kernels(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			noLeaks(t)
			dev := needDevice(t, kind)
			f := must.Open(gpuprograms.Scaled(t, kind.String(), "five", width, 5).Function("five"))(t)
			stream := must.Open(runtime.NewStream(dev))(t)
			in, out := gputest.Tensor(t, dev, make([]float32, width)), gputest.Tensor(t, dev, make([]float32, width))
			p := must.Get(runtime.NewProfile())(t)
			const calls = 2000 // more than timers are kept
			require.NoError(t, p.Do(func() error {
				for range calls {
					if _, err := f.CallOn(stream, in, out); err != nil {
						return err
					}
				}
				_, err := f.Call(in, out)
				return err
			}))
			trace := tracetest.Of(t, p)
			require.Equal(t, map[string]int{"five_kernel": calls + 1}, tracetest.CheckShares(t, p))
			tracks := map[string]int{}
			for _, e := range trace.Of("kernel") {
				if trace.Process[e.PID] == dev.String() {
					tracks[trace.Track[[2]int{e.PID, e.TID}]]++
				}
			}
			if stream.Handle() == 0 { // the device has one queue
				require.Equal(t, map[string]int{"default stream": calls + 1}, tracks)
				return
			}
			require.Equal(t, map[string]int{"default stream": 1, fmt.Sprintf("stream %#x", stream.Handle()): calls}, tracks)
		})
	}
}
