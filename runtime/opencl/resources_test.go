//go:build opencl

package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// The driver reports what a kernel uses.
func TestKernelResources(t *testing.T) {
	need(t)
	noLeaks(t)
	m := handMade(t, `
__kernel void shares(__global float* x) {
  __local float s[256];
  s[get_local_id(0)] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = s[255 - get_local_id(0)];
}`, runtime.KernelType{Name: "shares", Args: kernels[2].Args})
	r := must.Get(m.KernelResources("shares", first, runtime.LaunchConfig{Block: runtime.Dim3{256}}))(t)
	require.GreaterOrEqual(t, r.SharedBytes, int64(1024))
	require.GreaterOrEqual(t, r.LocalBytes, int64(0))
	require.Positive(t, r.Multiple)
	most := must.Get(runtime.DeviceAttr(first, runtime.AttrMaxThreadsPerBlock))(t)
	require.Positive(t, r.MaxThreads)
	require.LessOrEqual(t, r.MaxThreads, most)
	require.Equal(t, []int64{-1, -1, -1}, []int64{r.Registers, r.ConstantBytes, r.Blocks}, "OpenCL does not report them")
	code := must.Get(m.KernelCode("shares", dlpack.OpenCL))(t)
	require.Equal(t, "cl", code.Format)
	require.Contains(t, string(code.Data), "__local float s[256]")
	_, err := m.KernelResources("none", first, runtime.LaunchConfig{})
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.NoError(t, m.Close())
	_, err = m.KernelResources("shares", first, runtime.LaunchConfig{})
	require.ErrorIs(t, err, runtime.ErrClosed)
}
