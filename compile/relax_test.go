package compile_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/compile"
	"tvmgo/export"
	"tvmgo/graph/onnx"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
)

// module writes a module that a version of TVM has saved, and returns its path.
func module(t *testing.T, version, name string) string {
	t.Helper()
	archive := must.Open(zip.OpenReader("../graph/relax/testdata/saved.zip"))(t)
	modules := map[string]string{}
	require.NoError(t, json.NewDecoder(must.Open(archive.Open(version+".json"))(t)).Decode(&modules))
	path := filepath.Join(t.TempDir(), name+".json")
	require.NoError(t, os.WriteFile(path, []byte(modules[name]), 0o600))
	return path
}

// call runs a function of a compiled model with one tensor.
func call(t *testing.T, c *compile.Compiled, name string, x []float32, shape ...int64) []float32 {
	t.Helper()
	model := must.Open(runtime.NewModel(c.Module))(t)
	arg := must.Open(runtime.FromSlice(x, shape...))(t)
	out := must.Open(model.RunFunction(t.Context(), name, runtime.Ordered{arg}))(t)
	return must.Get(runtime.ToSlice[float32](must.Get(out.Tensor(0))(t)))(t)
}

// A Relax module becomes a library with the functions that it exports, from a file and from a reader.
func TestModelFile_Module(t *testing.T) {
	for _, version := range []string{"v0.17", "v0.27"} {
		path := module(t, version, "several")
		for _, c := range []*compile.Compiled{
			must.Open(compile.ModelFile(t.Context(), path, compile.Options{}))(t),
			must.Open(compile.Model(t.Context(), bytes.NewReader(must.Get(os.ReadFile(path))(t)), compile.Options{}))(t),
		} {
			names := []string{}
			for _, f := range c.Functions {
				names = append(names, f.Name)
			}
			slices.Sort(names)
			require.Equal(t, []string{"main", "total"}, names)
			require.Equal(t, []float32{2, 6, 12, 20}, call(t, c, "main", []float32{1, 2, 3, 4}, 4))
			require.Equal(t, []float32{6, 8, 10, 12}, call(t, c, "total", []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4))
		}
		_, err := compile.ModelFile(t.Context(), path, compile.Options{Import: onnx.Options{Parameters: true}})
		require.ErrorContains(t, err, "weights can be parameters of one function, and it exports 2")
	}
	c := must.Open(compile.ModelFile(t.Context(), module(t, "v0.27", "convnet"),
		compile.Options{Import: onnx.Options{Parameters: true}}))(t)
	require.Len(t, c.Weights, 1)
	require.Equal(t, []int64{8, 8, 3, 3}, c.Weights[0].Shape)
}

// Apache TVM's own virtual machine runs what is compiled of modules.
func TestMachineOfTVM_Modules(t *testing.T) {
	wheel.NeedSameMachine(t)
	dir := t.TempDir()
	names := []string{"kernels", "lowered_transformer", "if_true", "calls", "match_cast", "split", "nonzero"}
	for _, name := range names {
		c := must.Open(compile.ModelFile(t.Context(), module(t, "v0.27", name), compile.Options{}))(t)
		require.NoError(t, export.Library(t.Context(), c.Module, filepath.Join(dir, name+".so")))
	}
	out := string(wheel.Run(t, nil, "testdata/modules.py", dir, "../graph/relax/testdata/saved.zip"))
	require.Equal(t, len(names), strings.Count(out, "ok "), out)
}
