package model_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/export/pack"
	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/serve/model"
	"tvmgo/target"
)

var ctx = context.Background()

const artifacts = "../../testdata/artifacts/"

var withParams = model.Options{Params: artifacts + "modern/relax_mlp.params"}

// load loads a model, which is closed at the end of the test. It skips the test as machine.Need does.
func load(t testing.TB, path string, o model.Options) *model.Model {
	t.Helper()
	machine.Need(t, path)
	return must.Open(model.Load(ctx, path, o))(t)
}

func mlp(t testing.TB) *model.Model {
	t.Helper()
	return load(t, artifacts+"modern/relax_mlp.so", withParams)
}

func noLeaks(t testing.TB) {
	t.Helper()
	leaks.Check(t, func() [3]int64 {
		l := runtime.Live()
		return [3]int64{l.Tensors, l.Modules, l.Functions}
	})
}

// library compiles a function of a graph into a library.
func library(t testing.TB, f *graph.Function, targets ...string) string {
	t.Helper()
	var list []*target.Target
	for _, name := range targets {
		list = append(list, must.Get(target.New(name))(t))
	}
	c := must.Get(compile.Function(t.Context(), f, compile.Options{Targets: list}))(t)
	defer c.Close()
	path := filepath.Join(t.TempDir(), "model.so")
	require.NoError(t, export.Library(t.Context(), c.Module, path))
	return path
}

// packed packs kernels in C, and others, with their signatures into a library.
func packed(t testing.TB, files map[string]string, signatures ...string) string {
	t.Helper()
	dir := t.TempDir()
	var k pack.Kernels
	for name, code := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(code), 0o600))
		k.Inputs = append(k.Inputs, pack.Input{Path: path})
	}
	for _, s := range signatures {
		k.Functions = append(k.Functions, pack.Function{Signature: s})
	}
	path := filepath.Join(dir, "k.so")
	require.NoError(t, pack.Library(ctx, k, path))
	return path
}

func tensors(list ...*runtime.Tensor) []*runtime.Tensor { return list }

// floats returns the elements of float32 outputs, and closes these.
func floats(t testing.TB, out []*runtime.Tensor) [][]float32 {
	t.Helper()
	var list [][]float32
	for _, x := range out {
		require.Equal(t, runtime.CPU, x.Device())
		require.True(t, x.IsContiguous())
		list = append(list, modules.Slice[float32](t, x))
		require.NoError(t, x.Close())
	}
	return list
}

func scalar[T dlpack.Scalar](t testing.TB, v T) *runtime.Tensor {
	t.Helper()
	return modules.Tensor(t, []T{v}, 1)
}
