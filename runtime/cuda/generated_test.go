//go:build cuda

package cuda_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	_ "tvmgo/codegen/cuda"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir/text"
)

// Generated modules run in every format: at once, and from a library. Code for another architecture is an error.
func TestGenerated_EveryFormat(t *testing.T) {
	needFake(t)
	nvrtctest.Need(t)
	program := must.Get(text.Parse(`
func addone(a: handle, b: handle) {
  var n: int32
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  thread x in range(floordiv(n + 63, 64)), thread "blockIdx.x" {
    thread t in range(64), thread "threadIdx.x" {
      if x * 64 + t < n { B[x * 64 + t] = A[x * 64 + t] + 1.0 }
    }
  }
}
`))(t)
	for _, c := range []struct{ to, format, fails string }{
		{"cuda -arch=sm_90", "cubin", ""},
		{"nvptx -mcpu=sm_90", "ptx", ""},
		{"nvptx -mcpu=sm_75", "ptx", ""},
		{"cuda -arch=sm_90 -code-format=source", "cuda", ""},
		{"cuda -arch=sm_120", "cubin", "the image (cubin) is for sm_120: compile it for sm_90"},
		{"nvptx -mcpu=sm_100", "ptx", "the image (ptx) is for PTX for compute_100: compile it for sm_90"},
	} {
		built := must.Open(codegen.Build(program, must.Get(target.New(c.to))(t)))(t)
		imports := must.Get(built.Imports())(t)
		data := must.Get(imports[0].SaveToBinary())(t)
		require.Equal(t, c.format, must.Get(blob.ParseDeviceModule(data, blob.Modern))(t).Format, c.to)
		require.NoError(t, imports[0].Close())
		path := filepath.Join(t.TempDir(), "addone.so")
		require.NoError(t, export.Library(context.Background(), built, path))
		for _, m := range []*runtime.Module{built, gputest.Module(t, path)} {
			x := gputest.Tensor(t, first, make([]float32, 1000))
			y := must.Open(runtime.NewTensor(dlpack.Float32, []int64{1000}, first))(t)
			_, err := gputest.Function(t, m, "addone").Call(x, y)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails, c.to)
				continue
			}
			require.NoError(t, err, c.to)
			require.Equal(t, float32(1), gputest.Slice(t, y)[999], c.to)
		}
	}
}
