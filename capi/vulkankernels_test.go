package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
	_ "tvmgo/runtime" // the test writes the library with it
)

// A library of shaders has Apache TVM's output through both C ABIs and through C++, on each of two devices.
func TestArtifacts_Vulkan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir := must.Get(os.MkdirTemp(l.path("home"), "shaders"))(t)
	env := append(vulkan(t, l), "TVMGO_CACHE_DIR="+dir)
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
	for _, more := range [][]string{nil, {"TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1"},
		{"LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"}} {
		on := append(env[:len(env):len(env)], more...)
		for _, id := range []string{"0", "1"} {
			l.runOK(t, on, append([]string{inC, file, l.path("artifacts"), "7", id}, functions...)...)
			l.runOK(t, on, append([]string{inCPP, "--device", "vulkan:" + id, file, l.path("artifacts")}, functions...)...)
		}
	}
}
