package graph_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/graph"
)

// tvmgo.load_model makes models of graphs: from a path, from bytes and from a module, with parameters.
func TestLoadModel(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	path := artifacts + "graph_mlp.so"
	load := must.Open(runtime.Global("tvmgo.load_model"))(t)
	runs := func(args ...any) {
		t.Helper()
		model := must.Get(load.Call(args...))(t).(*runtime.Module)
		defer model.Close()
		require.Equal(t, graph.ModelKind, model.Kind())
		require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
	}
	runs(path)
	runs(path, []any{cpu})
	runs(must.Get(os.ReadFile(path))(t), nil, nil)
	runs(m.Module)

	// A factory without parameters gets them from a file, which is mapped, or from a Map.
	bare := call(t, m.Module, "remove_params").(*runtime.Module)
	defer bare.Close()
	params := call(t, m.Module, "get_graph_params").(runtime.Map)
	file := filepath.Join(t.TempDir(), "graph_mlp.params")
	save := must.Open(runtime.Global("runtime.SaveParamsToFile"))(t)
	must.Get(save.Call(params, file))(t)
	runs(bare, nil, file)
	runs(bare, []any{}, params)
	runs(m.Module, nil, file)
	for _, p := range params {
		p.Value.(*runtime.Tensor).Close()
	}

	wrong := modules.Empty(t, dlpack.Float32, 3)
	for text, name := range map[string]string{
		`the graph has no inputs of these names: "p7", do you mean "p0"?`: "p7",
		`parameter "p0" is float32[3], but the input of the graph is`:     "p0",
	} {
		named := runtime.Map{{Key: name, Value: wrong}}
		require.ErrorContains(t, must.Fail(load.Call(path, nil, named)), text)
	}
}

// A graph in a JSON file with a library and parameters beside it, as TVM's users export them.
func TestLoadModel_JSONFile(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	json := []byte(call(t, m.Module, "get_graph_json").(string))
	params := call(t, m.Module, "get_graph_params").(runtime.Map)
	save := must.Open(runtime.Global("runtime.SaveParamsToFile"))(t)
	load := must.Open(runtime.Global("tvmgo.load_model"))(t)
	lib := must.Get(os.ReadFile(artifacts + "graph_mlp.so"))(t)
	for _, names := range [][3]string{{"m.json", "m.so", "m.params"},
		{"deploy_graph.json", "deploy_lib.so", "deploy_param.params"}} {
		dir := t.TempDir()
		path := filepath.Join(dir, names[0])
		require.ErrorIs(t, must.Fail(runtime.Load(ctx, path)), runtime.ErrNotFound)
		require.NoError(t, os.WriteFile(path, json, 0o644))
		err := must.Fail(load.Call(path))
		require.ErrorContains(t, err, "no library with the graph's functions beside it: looked for "+
			filepath.Join(dir, names[1]))
		require.NoError(t, os.WriteFile(filepath.Join(dir, names[1]), lib, 0o755))
		bare := must.Get(load.Call(path))(t).(*runtime.Module)
		require.ErrorContains(t, fails(t, bare, "default", m.in), "expected 5 inputs (data, p0, p1, p2, p3)")
		bare.Close()

		must.Get(save.Call(params, filepath.Join(dir, names[2])))(t)
		model := must.Get(load.Call(path))(t).(*runtime.Module)
		require.InDeltaSlice(t, m.want, result[float32](t, model, m.in), 1e-5)
		model.Close()
		factory := modules.Load(t, path)
		m.check(t, session(t, factory, cpu))
		require.Equal(t, must.Get(m.SaveToBinary())(t), must.Get(factory.SaveToBinary())(t))

		require.NoError(t, os.WriteFile(filepath.Join(dir, names[2]), []byte("no parameters"), 0o644))
		require.ErrorContains(t, must.Fail(load.Call(path)), names[2])
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o644))
		require.ErrorIs(t, must.Fail(load.Call(path)), runtime.ErrCorruptModule)
	}
	for _, p := range params {
		p.Value.(*runtime.Tensor).Close()
	}
}
