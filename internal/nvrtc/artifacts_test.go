package nvrtc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/inspect"
	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
)

const artifacts = "../../testdata/artifacts"

// carried returns the CUDA modules in the files that TVM exported, by file name.
func carried(t *testing.T) map[string]*blob.DeviceModule {
	t.Helper()
	found := map[string]*blob.DeviceModule{}
	paths := must.Get(filepath.Glob(filepath.Join(artifacts, "*", "*.so")))(t)
	for _, path := range paths {
		name := must.Get(filepath.Rel(artifacts, path))(t)
		require.NoError(t, inspect.WithContents(path, func(c *inspect.Contents) error {
			if c.Parsed == nil {
				return nil
			}
			for _, e := range c.Parsed.Entries {
				if e.Kind != "cuda" {
					continue
				}
				m, err := blob.ParseDeviceModule(e.Payload, c.Parsed.Layout)
				if err != nil {
					return err
				}
				m.Data = append([]byte(nil), m.Data...)
				found[name] = m
			}
			return nil
		}))
	}
	code := must.Get(os.ReadFile(filepath.Join(artifacts, "classic/gpu_cuda_dev.ptx")))(t)
	text := must.Get(os.ReadFile(filepath.Join(artifacts, "classic/gpu_cuda_dev.tvm_meta.json")))(t)
	meta := must.Get(blob.ParseMetaJSON(text))(t)
	found["classic/gpu_cuda_dev.ptx"] = &blob.DeviceModule{Format: "ptx", Functions: meta.Functions, Data: code}
	return found
}

// bytesOf returns the size of a kernel parameter.
func bytesOf(d dlpack.DataType) int {
	if d == dlpack.Handle {
		return 8
	}
	return (int(d.Bits)*int(d.Lanes) + 7) / 8
}

// kernelsDiffer returns an error if a kernel of a module is not in an image, or has other parameters there.
func kernelsDiffer(functions []blob.Function, image []byte) error {
	info, err := cudaimage.Describe(image)
	if err != nil {
		return err
	}
	if len(functions) == 0 {
		return fmt.Errorf("the module has no functions")
	}
	for _, f := range functions {
		k := -1
		for i, have := range info.Parts[0].Kernels {
			if have.Name == f.Key {
				k = i
			}
		}
		if k < 0 {
			return fmt.Errorf("kernel %s is missing: there are %s", f.Key, strings.Join(info.Kernels(), ", "))
		}
		if info.Format == cudaimage.CUBIN {
			continue // cudaimage does not read the parameters in cubins
		}
		var want []int
		for _, a := range f.ArgTypes {
			want = append(want, bytesOf(a))
		}
		if have := info.Parts[0].Kernels[k].Params; fmt.Sprint(have) != fmt.Sprint(want) {
			return fmt.Errorf("kernel %s has parameters of %v bytes, not %v", f.Key, have, want)
		}
	}
	return nil
}

// newer is the version line of one of the files, which CUDA 13.5 made.
const newer = ".version 9.5"

// In the modules that TVM exported for NVIDIA GPUs, source compiles, PTX assembles, and each kernel has the parameters
// that the module declares.
func TestArtifacts(t *testing.T) {
	c := nvrtctest.NeedHeaders(t)
	formats := map[string]int{}
	for name, m := range carried(t) {
		formats[m.Format]++
		for _, arch := range []string{"sm_90", "sm_75"} {
			ptx := m.Data
			switch m.Format {
			case "cubin":
				require.NoError(t, kernelsDiffer(m.Functions, m.Data), name)
				continue
			case "cuda":
				r := must.Get(c.Compile(t.Context(), nvrtc.Source{Name: name, Code: string(m.Data), Arch: arch}))(t)
				ptx = r.Image
			case "ptx": // made for sm_90 by a newer compiler, but without features that the older ptxas does not have
				if strings.Contains(string(ptx), newer) {
					_, err := nvrtctest.Assemble(t, ptx, "sm_90")
					require.ErrorContains(t, err, "Unsupported .version 9.5", "drivers of CUDA 13.0 report the same")
				}
				ptx = []byte(strings.NewReplacer(".target sm_90", ".target "+arch, newer, ".version 9.0").Replace(string(ptx)))
			}
			require.NoError(t, kernelsDiffer(m.Functions, ptx), "%s for %s", name, arch)
			cubin := nvrtctest.Ptxas(t, ptx, arch)
			require.NoError(t, kernelsDiffer(m.Functions, cubin), "%s for %s", name, arch)
			info := must.Get(cudaimage.Describe(cubin))(t)
			require.Equal(t, arch, info.For())
		}
	}
	require.Equal(t, map[string]int{"cubin": 1, "cuda": 1, "ptx": 3}, formats)
}

// The checks of TestArtifacts fail for modules with errors.
func TestArtifacts_CheckFails(t *testing.T) {
	c := nvrtctest.NeedHeaders(t)
	m := carried(t)["modern/gpu_cuda_src.so"]
	code := string(m.Data)
	compile := func(code string) error {
		r, err := c.Compile(t.Context(), nvrtc.Source{Name: "k.cu", Code: code, Arch: "sm_90"})
		if err != nil {
			return err
		}
		return kernelsDiffer(m.Functions, r.Image)
	}
	require.NoError(t, compile(code))
	require.ErrorContains(t, compile(strings.ReplaceAll(code, "vadd_kernel", "other")),
		"kernel vadd_kernel is missing: there are addone_kernel, matmul_kernel, other")
	require.ErrorContains(t, compile(strings.ReplaceAll(code, "int64_t n)", "int n)")),
		"kernel vadd_kernel has parameters of [8 8 8 4] bytes, not [8 8 8 8]")
	require.ErrorContains(t, compile(strings.Replace(code, "float* __restrict__ A_ptr, ", "", 1)), "k.cu(")
	require.ErrorIs(t, compile(code+"}"), nvrtc.ErrCompile)

	ptx := string(carried(t)["classic/gpu_cuda_dev.ptx"].Data)
	nvrtctest.Ptxas(t, []byte(ptx), "sm_90")
	for _, broken := range []string{
		strings.Replace(ptx, "mul.wide.s32", "mul.wild.s32", 1),
		strings.Replace(ptx, "ret;", "ret", 1),
		strings.Replace(ptx, ".target sm_90", ".target sm_100", 1),
		ptx[:len(ptx)/2],
	} {
		require.ErrorContains(t, must.Fail(nvrtctest.Assemble(t, []byte(broken), "sm_90")), "ptxas -arch=sm_90: ")
	}
}
