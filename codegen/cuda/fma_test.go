package cuda_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/must"
)

// A fused multiply-add of float16 rounds once, alone and in pairs: 7·439 + 2^-14 is more than the middle of 3072 and
// 3074, but would not be if it were rounded to float32 first.
func TestFma_Float16(t *testing.T) {
	m := parsed(t, `
func multiply(a: handle, b: handle) {
  buffer A: float16[12], param a
  buffer B: float16[8], param b
  thread x in range(1), thread "threadIdx.x" {
    B[0] = fma[float16](A[0], A[4], A[8])
    B[ramp(4, 1, 4)] = fma[float16x4](A[ramp(0, 1, 4)], A[ramp(4, 1, 4)], A[ramp(8, 1, 4)])
  }
}
`)
	code := source(t, m)
	require.NotContains(t, code[strings.Index(code, "__launch_bounds__"):], "fmaf(", code)
	lib := must.Get(cudarun.Compile(code, cudarun.Options{Arch: 80}))(t)
	bits := func(v ...float64) (list []uint16) {
		for _, x := range v {
			list = append(list, uint16(dlpack.Float16Of(x)))
		}
		return list
	}
	a := bits(7, 1, 2, 3, 439, 5, 6, 7, 0x1p-14, 1, 1, 1)
	b := make([]uint16, 8)
	require.NoError(t, lib.Launch("multiply_kernel", cudarun.Grid{Blocks: cudarun.Dim{1}, Threads: cudarun.Dim{1}}, a, b))
	require.Equal(t, bits(3074, 0, 0, 0, 3074, 6, 13, 22), b)
}
