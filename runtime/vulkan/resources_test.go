package vulkan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Vulkan reports nothing about a kernel; its code is the shader's.
func TestKernelResources(t *testing.T) {
	need(t)
	code := words(t, "add")
	m := made(t, code, types["add"]...)
	name := types["add"][0].Name
	_, err := m.KernelResources(name, first, runtime.LaunchConfig{})
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, "the driver of vulkan reports nothing about kernels")
	got, err := m.KernelCode(name, dlpack.Vulkan)
	require.NoError(t, err)
	require.Equal(t, runtime.KernelCode{Format: "spv", Data: code}, got)
	_, err = m.KernelCode(name, dlpack.CUDA)
	require.ErrorIs(t, err, runtime.ErrNotFound)
}
