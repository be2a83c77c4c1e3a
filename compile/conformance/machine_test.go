package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/graph"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
)

// library compiles the model of a folder to model.so beside it.
func library(t *testing.T, dir string) {
	t.Helper()
	c, err := compile.ModelFile(context.Background(), filepath.Join(dir, "model.onnx"), compile.Options{})
	require.NoError(t, err, dir)
	defer c.Close()
	require.NoError(t, export.Library(context.Background(), c.Module, filepath.Join(dir, "model.so")), dir)
}

// Apache TVM's own virtual machine runs compiled models: those that once failed, with branches, loops, dynamic sizes
// and sizes that depend on elements, and random ones.
func TestMachineOfTVM(t *testing.T) {
	count := "12"
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		count = "200"
	}
	dirs := append(python(t, "cases.py"), python(t, "generate.py", "77", count)...)
	all := t.TempDir()
	for _, dir := range dirs {
		library(t, dir)
		require.NoError(t, os.Rename(dir, filepath.Join(all, filepath.Base(dir))))
	}
	script := must.Get(filepath.Abs(filepath.Join("testdata", "random", "machine.py")))(t)
	out := string(wheel.Run(t, nil, script, all))
	require.Equal(t, len(dirs), strings.Count(out, "ok "), out)
}

// Apache TVM's virtual machine checks sizes that have a range, too.
func TestMachineOfTVM_Range(t *testing.T) {
	f := graph.NewFunction("main")
	n := f.Symbol("n")
	require.NoError(t, f.SetRange(n, graph.Range{Min: 2, Max: 5}))
	f.Return(must.Get(f.Add("softmax", nil, f.Param("x", dlpack.Float32, n)))(t)...)
	c := must.Get(compile.Function(t.Context(), f, compile.Options{}))(t)
	defer c.Close()
	path := filepath.Join(t.TempDir(), "model.so")
	require.NoError(t, export.Library(t.Context(), c.Module, path))
	out := string(wheel.Run(t, nil, "-c", `
import sys, numpy, tvm
from tvm import relax
vm = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
for n in range(1, 8):
    try:
        print(n, vm["main"](tvm.runtime.tensor(numpy.zeros(n, "float32"))).numpy().sum())
    except Exception as e:
        print(n, "sizes 2..5" in str(e))
`, path))
	require.Equal(t, "1 True\n2 1.0\n3 1.0\n4 1.0\n5 1.0\n6 True\n7 True\n", out)
}
