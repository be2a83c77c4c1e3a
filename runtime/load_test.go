package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

func TestQuick(t *testing.T) {
	for _, f := range []string{"modern/addone_llvm.so", "modern/multi_llvm.so", "modern/multi_c.so", "classic/addone_llvm.so", "classic/multi_llvm.so"} {
		m, err := runtime.Load(context.Background(), "../testdata/artifacts/"+f)
		require.NoError(t, err, f)
		t.Log(f, m.Kind(), m.Functions())
		fn, err := m.Function("addone")
		require.NoError(t, err)
		a, err := runtime.FromSlice([]float32{1, 2, 3, 4})
		require.NoError(t, err)
		b, err := runtime.NewTensor(dlpack.Float32, []int64{4}, runtime.CPU)
		require.NoError(t, err)
		_, err = fn.Call(a, b)
		require.NoError(t, err)
		s, err := runtime.ToSlice[float32](b)
		require.NoError(t, err)
		require.Equal(t, []float32{2, 3, 4, 5}, s)
		_, err = fn.Call(a)
		t.Log(err)
		bb, err := fn.Bind(a, b)
		require.NoError(t, err)
		require.NoError(t, bb.Call())
		bb.Close()
		_, err = m.Function("expf")
		t.Log(err)
	}
	_, err := runtime.Load(context.Background(), "../testdata/artifacts/modern/gpu_opencl.so")
	t.Log(err)
	_, err = runtime.Load(context.Background(), "../testdata/artifacts/classic/gpu_cuda.so")
	t.Log(err)
}
