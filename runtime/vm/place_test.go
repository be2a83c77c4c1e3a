package vm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheelmodels"
	"tvmgo/runtime"
)

var openCL = dlpack.Device{Type: dlpack.OpenCL}

// onOpenCL returns the models of a program for OpenCL.
func onOpenCL(t *testing.T) []wheelmodels.Model {
	t.Helper()
	if !runtime.DeviceExists(openCL) {
		gputest.Missing(t, openCL.Type, "there is no OpenCL device")
	}
	var list []wheelmodels.Model
	for _, m := range wheelmodels.Need(t) {
		if m.Devices[0] == "opencl" {
			list = append(list, m)
		}
	}
	require.NotEmpty(t, list)
	return list
}

// Calls and set_input take inputs from any device: they are moved to where the parameters are.
func TestPlaces_OfWheelModels(t *testing.T) {
	load := must.Open(runtime.Global("tvmgo.load_model"))(t)
	for _, m := range onOpenCL(t) {
		t.Run(m.Name, func(t *testing.T) {
			noLeaks(t)
			s := must.Get(load.Call(m.Path))(t).(*runtime.Module)
			defer s.Close()
			require.Equal(t, []any{openCL, runtime.CPU}, must.Get(modules.Call(t, s, "tvmgo.devices"))(t))
			for _, c := range m.Cases {
				for _, dev := range []dlpack.Device{runtime.CPU, openCL} {
					runCase(t, s, c.Function, c, func(int) dlpack.Device { return dev })
					args := []any{c.Function}
					for _, v := range c.Inputs {
						args = append(args, argument(t, v, dev))
					}
					must.Get(modules.Call(t, s, "set_input", args...))(t)
					must.Get(modules.Call(t, s, "invoke_stateful", c.Function))(t)
					if c.Output.Tensor != nil {
						requireValue(t, c.Output, must.Get(modules.Call(t, s, "get_output", c.Function))(t))
					}
				}
			}
		})
	}
}

// A signature has the device of each value, as the compiler's annotations say.
func TestPlaces_InSignatures(t *testing.T) {
	noLeaks(t)
	load := must.Open(runtime.Global("tvmgo.load_model"))(t)
	for _, m := range onOpenCL(t) {
		if m.Program != "heterogeneous" {
			continue
		}
		s := must.Get(load.Call(m.Path))(t).(*runtime.Module)
		defer s.Close()
		main := asMaps(must.Get(modules.Call(t, s, "tvmgo.signature", "main"))(t)).(map[string]any)
		var devices []any
		for _, p := range main["params"].([]any) {
			devices = append(devices, p.(map[string]any)["device"])
		}
		for _, f := range main["result"].(map[string]any)["fields"].([]any) {
			devices = append(devices, f.(map[string]any)["device"])
		}
		require.Equal(t, []any{int64(0), int64(0), int64(1), int64(0), int64(1)}, devices)

		// Bound tensors go where the parameters are, and are uploaded once for all sessions.
		c := m.Cases[0]
		w, b := argument(t, c.Inputs[1], runtime.CPU), argument(t, c.Inputs[2], runtime.CPU)
		bind := func(s *runtime.Module) {
			must.Get(modules.Call(t, s, "tvmgo.bind", values(map[string]any{"w": w, "b": b})))(t)
		}
		weights := func() int64 { return memory(t, s, "tvmgo.model_memory")["weights"].(int64) }
		before := weights()
		bind(s)
		require.Equal(t, before+8*8*4+8*4, weights())
		other := must.Get(modules.Call(t, s, "tvmgo.session"))(t).(*runtime.Module)
		defer other.Close()
		bind(other)
		require.Equal(t, before+8*8*4+8*4, weights(), "the sessions share the tensors")
		for _, s := range []*runtime.Module{s, other} {
			out := must.Get(modules.Call(t, s, "main", argument(t, c.Inputs[0], runtime.CPU)))(t)
			requireValue(t, c.Output, out)
		}
	}
}

// on returns the devices of the tensors in a value, and closes them.
func on(v any) any {
	if list, ok := v.([]any); ok {
		var all []any
		for _, e := range list {
			all = append(all, on(e))
		}
		return all
	}
	t := v.(*runtime.Tensor)
	defer t.Close()
	return t.Device()
}

// An annotation without a device is the first one; a parameter without annotation is there too, unless others name
// devices; functions without any annotation take what they get.
func TestPlaces_ByAnnotation(t *testing.T) {
	noLeaks(t)
	onOpenCL(t)
	const host, plain = `R.Tensor(dtype="float32", vdevice="llvm:-1:global")`, "R.Tensor"
	cpu := runtime.CPU
	e := annotated(map[string][][2]string{
		"hand":   {{"x", ""}, {"y", ""}},
		"same":   {{"x", plain}, {"y", ""}, {"z", "R.Tuple(R.Tensor, R.Object)"}},
		"placed": {{"x", host}, {"y", ""}, {"z", "R.Tuple(" + host + ", R.Tensor)"}},
	}, "hand", "same", "placed")
	s := must.Get(modules.Call(t, loaded(t, e), "vm_load_executable"))(t).(*runtime.Module)
	defer s.Close()
	must.Get(modules.Call(t, s, "vm_initialization", int(openCL.Type), 0, 2, 1, 0, 2))(t)
	here := floats(t, 4)
	there := must.Open(runtime.NewTensor(dlpack.Float32, []int64{4}, openCL))(t)
	is := func(want []any, name string, args ...any) {
		t.Helper()
		require.Equal(t, want, on(must.Get(modules.Call(t, s, name, args...))(t)))
	}
	is([]any{cpu, openCL}, "hand", here, there)
	is([]any{openCL, openCL, []any{openCL, openCL}}, "same", here, here, []any{here, there})
	is([]any{openCL, openCL, []any{openCL, openCL}}, "same", there, there, []any{there, here})
	is([]any{cpu, cpu, []any{cpu, openCL}}, "placed", here, here, []any{here, here})
	is([]any{cpu, openCL, []any{cpu, openCL}}, "placed", there, there, []any{there, there})
	is([]any{openCL, openCL}, "hand", there, there)

	must.Get(modules.Call(t, s, "set_input", "hand", here, there))(t) // as TVM does
	must.Get(modules.Call(t, s, "invoke_stateful", "hand"))(t)
	require.Equal(t, openCL, on(must.Get(modules.Call(t, s, "get_output", "hand", 0))(t)))
	must.Get(modules.Call(t, s, "set_input", "placed", there, here, []any{here, here}))(t)
	must.Get(modules.Call(t, s, "invoke_stateful", "placed"))(t)
	require.Equal(t, runtime.CPU, on(must.Get(modules.Call(t, s, "get_output", "placed", 0))(t)))
	require.Equal(t, openCL, on(must.Get(modules.Call(t, s, "get_output", "placed", 2, 1))(t)))

	// A tensor that is there is not copied, and copies are charged to the session.
	out := must.Get(modules.Call(t, s, "same", here, there, []any{there, there}))(t).([]any)
	require.Equal(t, there.Data(), out[1].(*runtime.Tensor).Data())
	require.NotEqual(t, there.Data(), out[0].(*runtime.Tensor).Data())
	live := memory(t, s, "tvmgo.memory")["live"].(int64)
	closeAll(out)
	require.Equal(t, live-4096, memory(t, s, "tvmgo.memory")["live"].(int64))
	must.Get(modules.Call(t, s, "tvmgo.set_memory_limit", 1))(t)
	err := must.Fail(modules.Call(t, s, "same", here, there, []any{there, there}))
	require.ErrorContains(t, err, `argument 0 of function "same"`)
	require.ErrorContains(t, err, "exceed the memory limit of the session")
	is([]any{openCL, openCL, []any{openCL, openCL}}, "same", there, there, []any{there, there})
}
