package graph_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A factory over generated code for two devices becomes a library, which loads and runs.
func TestFactory_Exported(t *testing.T) {
	dev := needDevice(t, dlpack.OpenCL)
	lib := gpuprograms.Scaled(t, "c", "triple", width, 3)
	require.NoError(t, lib.Import(gpuprograms.Scaled(t, "opencl", "five", width, 5)))
	create := must.Open(runtime.Global("tvm.graph_executor_factory.create"))(t)
	ones := make([]float32, width)
	for i := range ones {
		ones[i] = 1
	}
	w := modules.Tensor(t, ones)
	factory := must.Open(must.Get(create.Call(there(t, dlpack.OpenCL), lib, "default", "w", w))(t).(*runtime.Module),
		nil)(t)
	path := filepath.Join(t.TempDir(), "model.so")
	require.NoError(t, export.Library(ctx, factory, path))
	again := modules.Load(t, path)
	require.Equal(t, must.Get(factory.SaveToBinary())(t), must.Get(again.SaveToBinary())(t))
	s := session(t, again, cpu, dev)
	call(t, s, "set_input", "x", gputest.Tensor(t, dev, ones))
	call(t, s, "run")
	require.Equal(t, float32(15), output[float32](t, s, 0)[width-1])
	require.Equal(t, float32(5), output[float32](t, s, 2)[0])
}
