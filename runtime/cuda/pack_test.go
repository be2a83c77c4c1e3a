//go:build cuda

package cuda_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/runtime"
)

// Packed kernels of every format run: their host functions launch them, also with dynamic shared memory.
func TestPacked(t *testing.T) {
	for _, form := range []string{"ptx", "cubin", "fatbin", "cu"} {
		t.Run(form, func(t *testing.T) {
			need(t)
			if _, err := exec.LookPath("cc"); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatal(err)
				}
				t.Skip("packing needs a C compiler")
			}
			if form == "cu" {
				nvrtctest.Need(t)
			}
			leavesNothing(t)
			file := filepath.Join(t.TempDir(), "k.so")
			require.NoError(t, pack.Library(t.Context(), pack.Kernels{
				Inputs: []pack.Input{{Path: "testdata/kernels." + form}},
				Functions: []pack.Function{
					{Signature: "scale(x: inout float32[n], by: float32, n: int32) launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64"},
					{Signature: "shape(out: out int32[10]) launch blockIdx.x=2, threadIdx.x, shared=60000"}},
			}, file))
			m := module(t, file)
			for _, dev := range present() {
				data := make([]float32, 100)
				for i := range data {
					data[i] = float32(i)
				}
				x := tensor(t, dev, data)
				must.Get(function(t, m, "scale").Call(x, 2, 100))(t)
				for i := range data {
					data[i] *= 2
				}
				require.Equal(t, data, slice(t, x))
				out := empty(t, dlpack.Int32, []int64{10}, dev)
				must.Get(function(t, m, "shape").Call(out, 32))(t)
				require.Equal(t, []int32{2, 1, 1, 32, 1, 1, 1, 1, 1, 60000}, elements[int32](t, out))
			}
			host := tensor(t, runtime.CPU, []float32{1})
			_, err := function(t, m, "scale").Call(host, 2, 1)
			require.ErrorContains(t, err, "the tensors are on cpu:0, and the file has the function for cuda")
		})
	}
}
