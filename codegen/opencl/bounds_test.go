//go:build opencl

package opencl_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/gputest"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

const boundsKernels = `
func fill(A: handle, n: int32) {
  buffer A: float32[8], param A
  thread b in range(4), thread "blockIdx.x" { thread t in range(4), thread "threadIdx.x" { A[b * 4 + t - n] = 3.0 } }
}
func gather(A: handle, I: handle, B: handle) {
  buffer A: float32[8], param A
  buffer I: int32[8], param I
  buffer B: float32[8], param B
  thread b in range(8), thread "blockIdx.x" { B[b] = A[I[b]] + 1.0 }
}
func vectors(A: handle, n: int32) {
  buffer A: float32[8], param A
  thread b in range(3), thread "blockIdx.x" { A[ramp(b * 4 + n, 1, 4)] = broadcast(5.0, 4) }
}
func transpose(A: handle, B: handle) {
  buffer A: float32[4, 4], param A
  buffer B: float32[4, 4], param B
  thread i in range(4), thread "blockIdx.x" { thread j in range(4), thread "threadIdx.x" { B[j, i] = A[i, j] } }
}
func relu(A: handle, B: handle) {
  buffer A: float32[4, 4], param A
  buffer B: float32[4, 4], param B
  thread i in range(4), thread "blockIdx.x" { thread j in range(4), thread "threadIdx.x" { B[i, j] = max(A[i, j], 0.0) } }
}
`

func boundsLibrary(t *testing.T, to string) *runtime.Module {
	t.Helper()
	m, err := tir.Parse(boundsKernels)
	require.NoError(t, err)
	k, err := target.New(to)
	require.NoError(t, err)
	built, err := codegen.Build(m, k)
	require.NoError(t, err)
	defer built.Close()
	path := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, export.Library(context.Background(), built, path))
	return gputest.Module(t, path)
}

func filled[T dlpack.Scalar](t *testing.T, values []T) *runtime.Tensor {
	t.Helper()
	host, err := runtime.FromSlice(values)
	require.NoError(t, err)
	defer host.Close()
	x, err := runtime.NewTensor(host.DType(), host.Shape(), devices[0])
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	require.NoError(t, x.CopyFromTensor(host, nil))
	return x
}

func callOf(t *testing.T, m *runtime.Module, name string, args ...any) error {
	t.Helper()
	f, err := m.Function(name)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Call(args...)
	return err
}

// TestBoundsCheck leaves out accesses that are outside.
func TestBoundsCheck(t *testing.T) {
	need(t)
	m := boundsLibrary(t, "opencl -bounds-check")
	got := func(x *runtime.Tensor) []float32 {
		s, err := runtime.ToSlice[float32](x)
		require.NoError(t, err)
		return s
	}
	a := filled(t, make([]float32, 8))
	require.NoError(t, callOf(t, m, "fill", a, 14))
	require.Equal(t, []float32{3, 3, 0, 0, 0, 0, 0, 0}, got(a), "the others lie before it")
	require.NoError(t, callOf(t, m, "fill", a, -6))
	require.Equal(t, []float32{3, 3, 0, 0, 0, 0, 3, 3}, got(a), "the others lie behind it")
	b := filled(t, make([]float32, 8))
	index := filled(t, []int32{0, -1, 1 << 30, 7, 8, -1 << 31, 6, 1})
	require.NoError(t, callOf(t, m, "gather", a, index, b))
	require.Equal(t, []float32{4, 1, 1, 4, 1, 1, 4, 4}, got(b))
	c := filled(t, make([]float32, 8))
	require.NoError(t, callOf(t, m, "vectors", c, 2))
	require.Equal(t, []float32{0, 0, 5, 5, 5, 5, 0, 0}, got(c), "a vector that is partly outside is left out")
}

// TestAliasCheck compares handles of device memory, and what part of it tensors have.
func TestAliasCheck(t *testing.T) {
	need(t)
	m := boundsLibrary(t, "opencl")
	square := func() *runtime.Tensor {
		x, err := runtime.NewTensor(dlpack.Float32, []int64{4, 4}, devices[0])
		require.NoError(t, err)
		t.Cleanup(func() { x.Close() })
		return x
	}
	x, y := square(), square()
	require.NoError(t, callOf(t, m, "transpose", x, y))
	require.ErrorContains(t, callOf(t, m, "transpose", x, x), "transpose: argument 0 (A) and argument 1 (B) overlap in memory")
	require.NoError(t, callOf(t, m, "relu", x, x))
	require.NoError(t, callOf(t, boundsLibrary(t, "opencl -alias-check=0"), "transpose", x, x))
}
