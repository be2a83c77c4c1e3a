package nvrtc_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/cudaimage"
	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
)

// The tests use a temporary cache, not the user's.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nvrtc-cache")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TVMGO_CACHE_DIR", dir)
	rc := m.Run()
	os.RemoveAll(dir)
	os.Exit(rc)
}

const add = `extern "C" __global__ void add(const float* a, float* b, long long n, short s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + s;
}
`

func source(change ...func(*nvrtc.Source)) nvrtc.Source {
	s := nvrtc.Source{Name: "add.cu", Code: add, Arch: "sm_90"}
	for _, f := range change {
		f(&s)
	}
	return s
}

func TestCompile_Kinds(t *testing.T) {
	c := nvrtctest.Need(t)
	for _, arch := range []string{"sm_75", "sm_90", "sm_90a", "compute_90"} {
		r := must.Get(c.Compile(t.Context(), source(func(s *nvrtc.Source) { s.Arch = arch })))(t)
		require.Equal(t, nvrtc.PTX, r.Kind)
		require.NotEqual(t, byte(0), r.Image[len(r.Image)-1])
		info := must.Get(cudaimage.Describe(r.Image))(t)
		require.Equal(t, strings.Replace(arch, "compute", "sm", 1), info.Parts[0].Arch)
		require.Equal(t, []cudaimage.Kernel{{Name: "add", Params: []int{8, 8, 8, 2}}}, info.Parts[0].Kernels)
		if strings.HasPrefix(arch, "compute") {
			continue
		}
		r = must.Get(c.Compile(t.Context(), source(func(s *nvrtc.Source) { s.Arch, s.Want = arch, nvrtc.CUBIN })))(t)
		require.Equal(t, nvrtc.CUBIN, r.Kind)
		info = must.Get(cudaimage.Describe(r.Image))(t)
		require.Equal(t, cudaimage.CUBIN, info.Format)
		require.Equal(t, arch, info.For())
		require.Equal(t, []string{"add"}, info.Kernels())
	}
}

func TestCompile_HeadersOptionsNamesAndWarnings(t *testing.T) {
	c := nvrtctest.Need(t)
	s := nvrtc.Source{Name: "x.cu", Arch: "sm_80",
		Code: "#include \"a/one.h\"\n#include <two.h>\ntemplate <class T> __global__ void f(T* x) { int unused; x[0] = " +
			"ONE + TWO + THREE; }\n",
		Headers: map[string]string{"two.h": "#define TWO 2\n", "a/one.h": "#define ONE 1\n"},
		Options: []string{"-DTHREE=3"}, Names: []string{"f<float>", "&f<int>"}}
	r := must.Get(c.Compile(t.Context(), s))(t)
	require.Equal(t, map[string]string{"f<float>": "_Z1fIfEvPT_", "&f<int>": "_Z1fIiEvPT_"}, r.Names)
	require.Contains(t, r.Log, `x.cu(3): warning`)
	require.Contains(t, string(r.Image), ".entry _Z1fIfEvPT_(")
	require.Contains(t, string(r.Image), "6;", "ONE + TWO + THREE")
}

// The headers of CUDA are found without an option; the caller's include folders come before them.
func TestCompile_CudaHeaders(t *testing.T) {
	c := nvrtctest.Need(t)
	if len(c.IncludeDirs()) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("there are no CUDA headers beside " + c.Path())
		}
		t.Skip("there are no CUDA headers beside " + c.Path())
	}
	code := "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n#include " +
		"<cooperative_groups.h>\n#include <cuda/std/cstdint>\n#include <cuda/std/type_traits>\n" +
		"extern \"C\" __global__ void h(__half* x, cuda::std::int64_t n) { cooperative_groups::this_grid().thread_rank(); " +
		"x[n] = __hadd(x[0], x[1]); }\n"
	for _, arch := range []string{"sm_75", "sm_90"} {
		r := must.Get(c.Compile(t.Context(), nvrtc.Source{Name: "h.cu", Code: code, Arch: arch}))(t)
		nvrtctest.Ptxas(t, r.Image, arch)
	}
	mine := t.TempDir()
	require.NoError(t, os.WriteFile(mine+"/mma.h", []byte("#error mine\n"), 0o600))
	_, err := c.Compile(t.Context(), nvrtc.Source{Name: "h.cu", Code: code, Arch: "sm_80", Options: []string{"-I", mine}})
	require.ErrorContains(t, err, "mine")
}

func TestCompile_BadInput(t *testing.T) {
	c := nvrtctest.Need(t)
	for _, k := range []struct {
		change func(*nvrtc.Source)
		kind   error
		want   string
	}{
		{func(s *nvrtc.Source) { s.Code = "" }, nvrtc.ErrInvalid, "compile add.cu for sm_90 with " + c.String() +
			": the source is empty"},
		{func(s *nvrtc.Source) { s.Code = " \n" }, nvrtc.ErrInvalid, "the source is empty"},
		{func(s *nvrtc.Source) { s.Name = "" }, nvrtc.ErrInvalid, "the source has no name"},
		{func(s *nvrtc.Source) { s.Code += "\x00" }, nvrtc.ErrInvalid, fmt.Sprintf("the code has a zero byte, at %d",
			len(add))},
		{func(s *nvrtc.Source) { s.Name = "a\x00" }, nvrtc.ErrInvalid, "the name has a zero byte, at 1"},
		{func(s *nvrtc.Source) { s.Options = []string{"", "x\x00"} }, nvrtc.ErrInvalid, "option 0 is empty"},
		{func(s *nvrtc.Source) { s.Options = []string{"-DX\x00"} }, nvrtc.ErrInvalid, "option 0 has a zero byte"},
		{func(s *nvrtc.Source) { s.Names = []string{"x\x00"} }, nvrtc.ErrInvalid, "name expression 0 has a zero byte"},
		{func(s *nvrtc.Source) { s.Names = []string{"nothing<1"} }, nil, "nothing"},
		{func(s *nvrtc.Source) { s.Headers = map[string]string{"a": "\x00"} }, nvrtc.ErrInvalid,
			`header "a" has a zero byte, at 0`},
		{func(s *nvrtc.Source) { s.Headers = map[string]string{"a\x00": ""} }, nvrtc.ErrInvalid,
			"the name of a header has a zero byte"},
		{func(s *nvrtc.Source) { s.Headers = map[string]string{"": ""} }, nvrtc.ErrInvalid, "a header has no name"},
		{func(s *nvrtc.Source) { s.Want = 7 }, nvrtc.ErrInvalid, "kind 7 is neither PTX nor CUBIN"},
		{func(s *nvrtc.Source) { s.Arch = "" }, nvrtc.ErrInvalid, `"" is not an architecture such as sm_90`},
		{func(s *nvrtc.Source) { s.Arch = "gfx90a" }, nvrtc.ErrInvalid, `"gfx90a" is not an architecture`},
		{func(s *nvrtc.Source) { s.Arch = "sm_20" }, nvrtc.ErrInvalid, "this NVRTC does not support sm_20; it supports sm_"},
		{func(s *nvrtc.Source) { s.Arch = "sm_75a" }, nvrtc.ErrInvalid, "sm_75a"},
		{func(s *nvrtc.Source) { s.Arch, s.Want = "compute_90", nvrtc.CUBIN }, nvrtc.ErrInvalid, "request sm_90, or PTX"},
		{func(s *nvrtc.Source) { s.Options = []string{"--no-such-option"} }, nvrtc.ErrInvalid, "--no-such-option"},
		{func(s *nvrtc.Source) { s.Options = []string{"-arch=sm_80"} }, nvrtc.ErrInvalid,
			`option 0 is "-arch=sm_80", but Source.Arch sets the architecture`},
		{func(s *nvrtc.Source) { s.Options = []string{"-G", "--gpu-architecture", "sm_80"} }, nvrtc.ErrInvalid,
			"option 1 is"},
		{func(s *nvrtc.Source) { s.Code = "int x;\nint y = z;\n" }, nvrtc.ErrCompile,
			`add.cu(2): error: identifier "z" is undefined`},
		{func(s *nvrtc.Source) { s.Code = "#include <no/such.h>\n" + add }, nvrtc.ErrCompile, "nvidia-cuda-runtime"},
	} {
		s := source(k.change)
		for what, compile := range map[string]func(context.Context, nvrtc.Source) (nvrtc.Result, error){"": c.Compile,
			"cached": c.CompileCached} {
			r, err := compile(t.Context(), s)
			require.Empty(t, r)
			var e *nvrtc.Error
			require.ErrorAs(t, err, &e, "%s %+v", what, s)
			require.ErrorContains(t, err, k.want)
			if k.kind != nil {
				require.ErrorIs(t, err, k.kind)
			}
		}
	}
}

// The log of a source with very many errors is truncated.
func TestCompile_LongLog(t *testing.T) {
	c := nvrtctest.Need(t)
	_, err := c.Compile(t.Context(), source(func(s *nvrtc.Source) {
		s.Code = ""
		for i := range 3000 {
			s.Code += fmt.Sprintf("__device__ int v%d = undefined_name_%d;\n", i, i)
		}
		s.Name = strings.Repeat("n", 10000)
	}))
	require.ErrorIs(t, err, nvrtc.ErrCompile)
	require.Less(t, len(err.Error()), 20<<10)
	require.Regexp(t, `more bytes$`, err.Error())
}

func TestCompile_CancelledContext(t *testing.T) {
	c := nvrtctest.Need(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, compile := range []func(context.Context, nvrtc.Source) (nvrtc.Result, error){c.Compile, c.CompileCached} {
		_, err := compile(ctx, source())
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "compile add.cu for sm_90 with NVRTC")
	}
}

// Goroutines compile valid and invalid code concurrently, and each gets the result of its own source.
func TestCompile_ManyAtOnce(t *testing.T) {
	c := nvrtctest.Need(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 4 {
				name := fmt.Sprintf("k_%d_%d", i, j)
				s := source(func(s *nvrtc.Source) { s.Code = strings.Replace(add, "add(", name+"(", 1) })
				if j == 3 {
					s.Code += "__device__ int x = error_" + name + ";"
				}
				r, err := c.Compile(t.Context(), s)
				if j == 3 {
					if err == nil || !strings.Contains(err.Error(), "error_"+name) {
						t.Errorf("%s: %v", name, err)
					}
				} else if err != nil || !strings.Contains(string(r.Image), ".entry "+name+"(") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
}

// The resources of kernels come from the assembler, also for PTX, and its report is not part of the log.
func TestCompile_Resources(t *testing.T) {
	c := nvrtctest.Need(t)
	spills := `
extern "C" __global__ void __launch_bounds__(1024) spills(float* a) {
  __shared__ float s[1000];
  float x[96];
#pragma unroll
  for (int i = 0; i < 96; i++) x[i] = a[threadIdx.x + i * 1024];
  s[threadIdx.x % 1000] = x[3];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; i++) a[threadIdx.x + i * 1024] = x[95 - i] * x[i] + s[threadIdx.x % 999];
}
`
	for _, want := range []nvrtc.Kind{nvrtc.PTX, nvrtc.CUBIN} {
		for range 2 { // the second one is cached
			r := must.Get(c.CompileCached(t.Context(), source(func(s *nvrtc.Source) {
				s.Code, s.Want, s.Resources = add+spills, want, true
			})))(t)
			require.Len(t, r.Kernels, 2)
			plain, full := r.Kernels[0], r.Kernels[1]
			if plain.Name != "add" {
				plain, full = full, plain
			}
			require.Equal(t, &cudaimage.Spills{}, plain.Resources.Spills)
			require.Equal(t, 64, full.Resources.Registers)
			require.Equal(t, 4000, full.Resources.Shared)
			require.GreaterOrEqual(t, full.Resources.Local, full.Resources.Spills.Stores)
			require.Greater(t, full.Resources.Spills.Stores, 100)
			require.Greater(t, full.Resources.Spills.Loads, 100)
			require.NotContains(t, r.Log, "ptxas")
		}
	}
	r := must.Get(c.Compile(t.Context(), source()))(t)
	require.Nil(t, r.Kernels)
	_, err := c.Compile(t.Context(), source(func(s *nvrtc.Source) { s.Arch, s.Resources = "compute_90", true }))
	require.ErrorIs(t, err, nvrtc.ErrInvalid)
	require.ErrorContains(t, err, "request sm_90")
}
