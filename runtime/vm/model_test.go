package vm_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A model from a path, from bytes and from a module, with parameters from a file and from a Map.
func TestLoadModel(t *testing.T) {
	noLeaks(t)
	_, params, in, want, batch := mlp(t)
	load := must.Open(runtime.Global("tvmgo.load_model"))(t)
	runs := func(args ...any) {
		t.Helper()
		m := must.Get(load.Call(args...))(t).(*runtime.Module)
		defer m.Close()
		require.Equal(t, "relax.VirtualMachine", m.Kind())
		out := must.Get(modules.Call(t, m, "forward", modules.Tensor(t, in, batch, 16)))(t).(*runtime.Tensor)
		defer out.Close()
		require.InDeltaSlice(t, want, modules.Slice[float32](t, out), 1e-5)
	}
	path, file := mlpFile(t), artifacts+"relax_mlp.params"
	named := values(map[string]any{})
	for i, name := range []string{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"} {
		named = append(named, runtime.Entry{Key: name, Value: params[i]})
	}
	runs(path, nil, file)
	runs(path, []any{dlpack.Device{Type: dlpack.CPU}}, named)
	runs(must.Get(os.ReadFile(path))(t), []any{}, file)
	runs(modules.Load(t, path), nil, file)
	m := must.Get(load.Call(path))(t).(*runtime.Module)
	defer m.Close()
	require.ErrorContains(t, must.Fail(modules.Call(t, m, "forward", modules.Tensor(t, in, batch, 16))), "missing: ")

	for text, args := range map[string][]any{
		"expected 1 to 3 arguments":                        {},
		"no function has a parameter \"fc\"":               {path, nil, runtime.Map{{Key: "fc", Value: params[0]}}},
		"give a path (str), a library (bytes) or a":        {3},
		"devices must be an Array of devices or None":      {path, 1},
		"device 0 must be a Device, got int64":             {path, []any{1}},
		"params must be a path (str) or a Map":             {path, nil, 1},
		"parameters: ":                                     {path, nil, "nope.params"},
		"nope.so":                                          {"nope.so"},
		`not a model but a module of kind "library" with `: {artifacts + "addone_llvm.so"},
	} {
		require.ErrorContains(t, must.Fail(load.Call(args...)), text)
	}
	err := must.Fail(load.Call(path, []any{dlpack.Device{Type: dlpack.OpenCL, ID: 99}}))
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "there is no device opencl:99")
	require.ErrorIs(t, runtime.RegisterModelKind(runtime.ModelKind{}), runtime.ErrInvalidArgument)
}
