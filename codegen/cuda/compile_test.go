package cuda_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/export"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/inspect"
	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// builtFor returns the device module of a program, and the description of its code.
func builtFor(t testing.TB, m *tir.IRModule, to string) (*runtime.Module, *blob.DeviceModule) {
	t.Helper()
	built := must.Open(codegen.Build(m, must.Get(target.New(to))(t)))(t)
	imports := must.Get(built.Imports())(t)
	require.Len(t, imports, 1)
	t.Cleanup(func() { imports[0].Close() })
	data := must.Get(imports[0].SaveToBinary())(t)
	return built, must.Get(blob.ParseDeviceModule(data, blob.Modern))(t)
}

// The format follows the target: a cubin for its architecture, PTX for kind nvptx, source on request.
func TestBuild_Formats(t *testing.T) {
	nvrtctest.Need(t)
	for _, c := range []struct{ to, format, forArch string }{
		{"cuda -arch=sm_90", "cubin", "sm_90"},
		{"cuda -arch=sm_120 -code-format=cubin", "cubin", "sm_120"},
		{"cuda -arch=sm_90a", "cubin", "sm_90a"},
		{"nvptx -mcpu=sm_80", "ptx", "PTX for compute_80"},
		{"cuda -arch=sm_90 -code-format=source", "cuda", "any architecture"},
		{"cuda", "cuda", "any architecture"}, // sm_50 is only assumed
	} {
		built, code := builtFor(t, gpuprograms.VAdd(t, tir.Float32, 128), c.to)
		require.Equal(t, c.format, code.Format, c.to)
		info := must.Get(cudaimage.Describe(code.Data))(t)
		require.Equal(t, c.format, string(info.Format), c.to)
		require.Equal(t, c.forArch, info.For(), c.to)
		imports := must.Get(built.Imports())(t)
		defer imports[0].Close()
		require.Contains(t, must.Get(imports[0].GetSource("cuda"))(t), "__global__", c.to)
		require.Equal(t, "cuda", imports[0].Kind())
		if c.format == "cuda" {
			continue
		}
		require.Equal(t, []string{"vadd_kernel"}, info.Kernels())
		used := info.Parts[0].Kernels[0].Resources
		require.NotNil(t, used, c.to)
		require.Equal(t, strings.Replace(strings.TrimPrefix(c.forArch, "PTX for "), "compute", "sm", 1), used.Arch)
		require.Greater(t, used.Registers, 4)
		require.Greater(t, used.Constant, 0x160)
		require.Equal(t, &cudaimage.Spills{}, used.Spills)
		require.Zero(t, used.Local)
	}
}

// Static shared memory and spills are those that the kernel has, and survive the export; the text of inspect has them.
func TestBuild_ResourcesSurviveExport(t *testing.T) {
	nvrtctest.Need(t)
	for _, to := range []string{"cuda -arch=sm_75", "cuda -arch=sm_90", "nvptx -mcpu=sm_90"} {
		built, _ := builtFor(t, gpuprograms.Tiles(t, 64, 64, 64, tir.Float32), to)
		path := filepath.Join(t.TempDir(), "tiles.so")
		require.NoError(t, export.Library(context.Background(), built, path))
		report := must.Get(inspect.File(path))(t)
		require.Len(t, report.Blob.Modules, 2)
		used := report.Blob.Modules[1].Device.Functions[0].Resources
		require.NotNil(t, used, to)
		require.Equal(t, to[len(to)-5:], used.Arch)
		require.Equal(t, 2*8*4*4, used.Shared, to)
		require.Equal(t, &cudaimage.Spills{}, used.Spills)
		var text strings.Builder
		require.NoError(t, report.WriteText(&text))
		require.Regexp(t, `tiles_kernel\(.*\n +`+used.Arch+`: \d+ registers, no spills, 256 bytes shared, \d+ constant, `+
			`0 local\n`, text.String())
	}
}

// A kernel that needs more registers than its threads may have reports its spills.
func TestBuild_Spills(t *testing.T) {
	nvrtctest.Need(t)
	_, code := builtFor(t, spilling(t), "cuda -arch=sm_90")
	used := must.Get(cudaimage.Describe(code.Data))(t).Parts[0].Kernels[0].Resources
	require.Equal(t, 64, used.Registers, "a block of 1024 threads has 65536")
	require.Greater(t, used.Spills.Stores, 100)
	require.Greater(t, used.Spills.Loads, 100)
	require.GreaterOrEqual(t, used.Local, 100)
}

// spilling is a kernel with more live values than registers.
func spilling(t testing.TB) *tir.IRModule {
	return parsed(t, `
func spill(a: handle) {
  buffer A: float32[98304], param a
  thread t in range(1024), thread "threadIdx.x" {
    alloc L: float32[96], scope "local"
    alloc S: float32[1024], scope "shared"
    unrolled i in range(96) {
      L[i] = A[t + i * 1024]
    }
    S[t] = L[3]
    eval storage_sync[void]("shared")
    unrolled i in range(96) {
      A[t + i * 1024] = L[95 - i] * L[i] + S[1023 - t]
    }
  }
}
`)
}

// Explain counts the registers that the assembler reports, unless the code is source.
func TestExplain_Registers(t *testing.T) {
	nvrtctest.Need(t)
	for to, known := range map[string]bool{"cuda -arch=sm_90": true, "nvptx -mcpu=sm_80": true,
		"cuda -arch=sm_90 -code-format=source": false} {
		r := must.Get(codegen.Explain(spilling(t), must.Get(target.New(to))(t)))(t)
		k := r.Kernels[0]
		require.Equal(t, known, k.Resources != nil, to)
		require.Equal(t, known, k.Occupancy.Registers, to)
		require.Equal(t, int64(2), k.Occupancy.Blocks+map[bool]int64{true: 1}[known], to)
		if known {
			require.Equal(t, int64(64), k.Resources.Registers)
			require.Greater(t, k.Resources.SpillStores, int64(100))
			require.Contains(t, k.Occupancy.LimitedBy, "registers")
		}
	}
}

// The same program gives the same bytes, in another process, folder and cache.
func TestBuild_Deterministic(t *testing.T) {
	if os.Getenv("TVMGO_CUDA_TEST_CHILD") != "" {
		for _, to := range []string{"cuda -arch=sm_90", "nvptx -mcpu=sm_90"} {
			_, code := builtFor(t, gpuprograms.Tiles(t, 64, 64, 64, tir.Float32), to)
			require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("TVMGO_CUDA_TEST_CHILD"), to[:5]), code.Data, 0o600))
		}
		return
	}
	nvrtctest.Need(t)
	var files [2][2]string
	for i := range files {
		dir := t.TempDir()
		child := exec.Command(must.Get(os.Executable())(t), "-test.run=^TestBuild_Deterministic$")
		child.Env = append(os.Environ(), "TVMGO_CUDA_TEST_CHILD="+dir, "TVMGO_CACHE_DIR="+dir+"/cache")
		child.Dir = dir
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		for j, name := range []string{"cuda ", "nvptx"} {
			files[i][j] = string(must.Get(os.ReadFile(filepath.Join(dir, name)))(t))
		}
	}
	require.Equal(t, files[0], files[1])
}

// Requests that cannot be met are errors that say how to change them.
func TestBuild_BadRequests(t *testing.T) {
	program := gpuprograms.VAdd(t, tir.Float32, 128)
	fails := func(to, want string, kind error) {
		t.Helper()
		given, err := target.New(to)
		if err == nil {
			_, err = codegen.Build(program, given)
		}
		require.ErrorContains(t, err, want)
		if kind != nil {
			require.ErrorIs(t, err, kind)
		}
	}
	fails("cuda -arch=sm_99 -code-format=source", `the architecture "sm_99" is not known: want one of sm_35, `,
		runtime.ErrInvalidArgument)
	fails("nvptx -mcpu=sm_91", `the architecture "sm_91" is not known: want one of sm_35, `, runtime.ErrInvalidArgument)
	fails("cuda -arch=sm_90 -code-format=ptx", `expected one of cubin, source, found str "ptx"`, nil)
	if c, err := nvrtc.Find(); err != nil || !c.Supports(35) {
		fails("cuda -arch=sm_35 -code-format=cubin", "", runtime.ErrNotSupported)
	}

	if os.Getenv("TVMGO_CUDA_TEST_CHILD") == "" { // without NVRTC, in a process that has not opened one
		child := exec.Command(must.Get(os.Executable())(t), "-test.run=^TestBuild_BadRequests$")
		child.Env = append(os.Environ(), "TVMGO_CUDA_TEST_CHILD=1", nvrtc.Variable+"=/absent/libnvrtc.so")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	fails("cuda -arch=sm_90 -code-format=cubin", "code-format=cubin needs NVRTC: ", runtime.ErrNotSupported)
	fails("cuda -arch=sm_90 -code-format=cubin", "set TVMGO_NVRTC to libnvrtc.so.13", nil)
	fails("cuda -arch=sm_90 -code-format=cubin", "or build with code-format=source", nil)
	fails("nvptx -mcpu=sm_90", `kind nvptx makes PTX, for which it needs NVRTC: `, runtime.ErrNotSupported)
	fails("nvptx -mcpu=sm_90", `or build for "cuda -arch=sm_90 -code-format=source"`, nil)
	_, code := builtFor(t, program, "cuda -arch=sm_90")
	require.Equal(t, "cuda", code.Format, "source without NVRTC")
}
