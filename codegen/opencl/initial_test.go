//go:build opencl

package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A product whose rows and columns the blocks do not divide is right on PoCL: all work items initialize their sums,
// outside of the condition that PoCL mixes up after a loop with a barrier. Memory with an earlier value keeps it.
func TestRun_InitializesAllSums(t *testing.T) {
	harness.Need(t)
	source := `
func f(A_handle: handle, B_handle: handle, C_handle: handle) {
  var n: int32
  var d: int32
  var m: int32
  buffer A: int32[n, d], param A_handle
  buffer B: int32[d, m], param B_handle
  buffer C: int32[n, m], param C_handle
  thread b in range(floordiv(m + 4, 5)), thread "blockIdx.x" {
    thread t in range(5), thread "threadIdx.x" {
      for i in range(n + 2) {
        alloc sum: int32[1], scope "local"
        BEFORE
        if likely(i < n) && likely(b * 5 + t < m) { sum[0] = 0 }
        for k in range(d) {
          alloc T: int32[5], scope "shared"
          if likely(t == 0) {
            for j in range(5) {
              if likely(b * 5 + j < m) { T[j] = B[k, b * 5 + j] }
            }
          }
          if likely(i < n) && likely(b * 5 + t < m) { sum[0] = sum[0] + A[i, k] * T[t] }
        }
        if likely(i < n) && likely(b * 5 + t < m) { C[i, b * 5 + t] = sum[0] }
      }
    }
  }
}`
	program := gpuprograms.Parsed(t, strings.Replace(source, "BEFORE", "", 1))
	code, _ := kernelsOf(t, program)
	require.Regexp(t, `int sum\[1\];\s+sum\[0\] = 0;`, code)
	code, _ = kernelsOf(t, gpuprograms.Parsed(t, strings.Replace(source, "BEFORE", "sum[0] = 3", 1)))
	require.NotRegexp(t, `sum\[0\] = 3;\s+sum\[0\] = 0;`, code)

	dev := dlpack.Device{Type: dlpack.OpenCL}
	lib := must.Open(codegen.Build(program, must.Get(runtime.DetectTarget(dev))(t)))(t)
	const n, d, m = 5, 7, 6
	tensor := func(shape ...int64) (*runtime.Tensor, []int32) {
		v := make([]int32, shape[0]*shape[1])
		for i := range v {
			v[i] = int32(i % 5)
		}
		x := must.Open(runtime.NewTensor(dlpack.Int32, shape, dev))(t)
		host := must.Open(must.Open(runtime.FromSlice(v))(t).View(dlpack.Int32, shape, nil, 0))(t)
		require.NoError(t, x.CopyFromTensor(host, nil))
		return x, v
	}
	x, a := tensor(n, d)
	y, b := tensor(d, m)
	z, _ := tensor(n, m)
	require.NoError(t, callOf(t, lib, x, y, z))
	got := must.Get(runtime.ToSlice[int32](z))(t)
	for i := range n {
		for j := range m {
			sum := int32(0)
			for k := range d {
				sum += a[i*d+k] * b[k*m+j]
			}
			require.Equal(t, sum, got[i*m+j], "%d, %d", i, j)
		}
	}
}

func callOf(t *testing.T, lib *runtime.Module, args ...any) error {
	t.Helper()
	_, err := must.Open(lib.Function("f"))(t).Call(args...)
	return err
}
