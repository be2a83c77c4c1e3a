//go:build cgo

package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/weights"
)

// The compiled network gives the output that is written beside it.
func TestNetwork(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(dir))
	c := must.Get(compile.ModelFile(t.Context(), filepath.Join(dir, "network.onnx"), compile.Options{}))(t)
	defer c.Close()
	lib := filepath.Join(dir, "network.so")
	require.NoError(t, export.Library(t.Context(), c.Module, lib))
	model := must.Get(runtime.LoadModel(t.Context(), lib))(t)
	defer model.Close()
	read := func(name string) []byte {
		set := must.Get(weights.Open(filepath.Join(dir, name)))(t)
		t.Cleanup(func() { set.Close() })
		return must.Get(set.Tensors()[0].Data())(t)
	}
	x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{rows, inputs}, runtime.CPU))(t)
	require.NoError(t, x.CopyFromBytes(read("x.npy")))
	out := must.Get(model.Run(t.Context(), runtime.Ordered{x}))(t)
	defer out.Close()
	y := must.Get(out.Tensor(0))(t)
	got := make([]byte, 4*rows*outputs)
	require.NoError(t, y.CopyToBytes(got))
	require.Equal(t, read("y.npy"), got)
}
