//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// The driver reports what a kernel uses, and how many blocks a multiprocessor holds.
func TestKernelResources(t *testing.T) {
	if fakeLibrary == "" {
		t.Skip("needs the numbers of the fake driver")
	}
	m := ptx(t, kernels...)
	of := func(name string, c runtime.LaunchConfig) runtime.KernelResources {
		return must.Get(m.KernelResources(name, second, c))(t)
	}
	require.Equal(t, runtime.KernelResources{Registers: 32, SharedBytes: 0, MaxThreads: 1024, Multiple: -1, Blocks: -1},
		of("scale", runtime.LaunchConfig{}))
	for _, c := range []struct {
		block         runtime.Dim3
		shared        int
		blocks        int64
		because, name string
	}{
		{runtime.Dim3{256}, 0, 8, "64 warps", "scale"},
		{runtime.Dim3{16, 16}, 0, 8, "64 warps", "scale"},
		{runtime.Dim3{32}, 0, 32, "32 blocks", "scale"},
		{runtime.Dim3{64}, 40000, 5, "233472 bytes of shared memory", "shape_static"},
		{runtime.Dim3{2048}, 0, -1, "too many threads", "scale"},
	} {
		require.Equal(t, c.blocks, of(c.name, runtime.LaunchConfig{Block: c.block, SharedBytes: c.shared}).Blocks, c.because)
	}
	require.Equal(t, runtime.KernelCode{Format: "ptx", Data: testdata(t, "kernels.ptx")},
		must.Get(m.KernelCode("scale", dlpack.CUDA))(t))
	_, err := m.KernelResources("scal", first, runtime.LaunchConfig{})
	require.ErrorIs(t, err, runtime.ErrNotFound)
	_, err = m.KernelCode("scal", dlpack.CUDA)
	require.ErrorIs(t, err, runtime.ErrNotFound)
	_, err = m.KernelResources("scale", runtime.CPU, runtime.LaunchConfig{})
	require.ErrorIs(t, err, runtime.ErrNotFound, "it is a kernel of another device")
	gone := first
	gone.ID = 9
	_, err = m.KernelResources("scale", gone, runtime.LaunchConfig{})
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
}
