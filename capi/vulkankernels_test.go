package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/vulkan"
)

// vulkan is the environment of a user's first run, with nothing kept from others. Without a device the test is skipped; on CI that is a failure.
func vulkan(t *testing.T, l *lab) []string {
	t.Helper()
	if !runtime.DeviceExists(dlpack.Device{Type: dlpack.Vulkan}) {
		require.Empty(t, os.Getenv("CI"), "there is no Vulkan device")
		t.Skip("there is no Vulkan device: mesa-vulkan-drivers has one for CPUs")
	}
	cache, err := os.MkdirTemp(l.path("home"), "vulkan")
	require.NoError(t, err)
	return []string{"TVMGO_CACHE_DIR=" + cache}
}

// A library of shaders gives Apache TVM's output through both C ABIs and through C++.
func TestArtifacts_Vulkan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	env := vulkan(t, l)
	dir, err := os.MkdirTemp(l.path("home"), "shaders")
	require.NoError(t, err)
	file := filepath.Join(dir, "shaders.so")
	k := pack.Kernels{Inputs: []pack.Input{{Path: filepath.Join("..", "runtime", "vulkan", "testdata", "artifacts.spv")}}}
	for _, signature := range []string{
		"addone=addone_kernel(float32[n], inout float32[n]) launch blockIdx.x=n",
		"vadd=vadd_kernel(float32[n], float32[n], inout float32[n]) launch blockIdx.x=n",
		"matmul=matmul_kernel(float32[64,64], float32[64,64], inout float32[64,64]) launch blockIdx.x=64, blockIdx.y=64",
	} {
		k.Functions = append(k.Functions, pack.Function{Signature: signature})
	}
	require.NoError(t, pack.Library(t.Context(), k, file))
	inC := l.compile(t, "gpu_artifact_vulkan", "gpu_artifact_test.c", l.linked()...)
	inCPP := l.compileCPP(t, "hpp_vulkan", "-std=c++17")
	functions := []string{"addone", "vadd", "matmul"}
	for _, more := range [][]string{nil, {"TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1"}, {"LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"}} {
		on := append(env[:len(env):len(env)], more...)
		l.runOK(t, on, append([]string{inC, file, l.path("artifacts"), "7", "0"}, functions...)...)
		l.runOK(t, on, append([]string{inCPP, "--device", "vulkan:0", file, l.path("artifacts")}, functions...)...)
	}
}
