package pack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/cudaimage"
	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
)

// NVIDIA's compilers accept the CUDA kernels of these tests.
func TestCUDAInputs_AreReal(t *testing.T) {
	c := nvrtctest.Need(t)
	kernel := func(image []byte, name string, params ...int) {
		t.Helper()
		info := must.Get(cudaimage.Describe(image))(t)
		require.Contains(t, info.Parts[0].Kernels, cudaimage.Kernel{Name: name, Params: params})
	}
	for _, arch := range []string{"sm_75", "sm_90"} {
		r, err := c.Compile(t.Context(),
			nvrtc.Source{Name: "k.cu", Code: cuSource, Arch: arch, Options: []string{"--device-as-default-execution-space"}})
		require.NoError(t, err)
		kernel(r.Image, "add", 8, 8, 8, 4)
		nvrtctest.Ptxas(t, r.Image, arch)
		kernel([]byte(ptxSource), "add", 8)
		cubin := must.Get(cudaimage.Describe(nvrtctest.Ptxas(t, []byte(ptxSource), arch)))(t)
		require.Equal(t, []string{"add", "hidden"}, cubin.Kernels())
	}
}
