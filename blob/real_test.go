package blob

import (
	"debug/elf"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// section returns the blob of a library as a loader sees it: from the symbol to the end of the file-backed part of its
// segment.
func section(t *testing.T, path string) ([]byte, Layout) {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	symbols := must.Get(f.DynamicSymbols())(t)
	for _, s := range symbols {
		layout, ok := LayoutOf(s.Name)
		if !ok {
			continue
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				data := must.Get(io.ReadAll(io.NewSectionReader(p, int64(s.Value-p.Vaddr),
					int64(p.Filesz-(s.Value-p.Vaddr)))))(t)
				return data, layout
			}
		}
	}
	t.Fatalf("%s has no blob", path)
	return nil, 0
}

// artifacts is the directory of libraries that TVM exported: by v0.17 in classic, by v0.27 in modern.
const artifacts = "../testdata/artifacts/"

// exported returns the blob of such a library.
func exported(t *testing.T, name string) ([]byte, Layout) {
	t.Helper()
	return section(t, artifacts+name+".so")
}

func TestParse_RealLibraries(t *testing.T) {
	kernels := []string{"addone_kernel", "matmul_kernel", "vadd_kernel"}
	for _, c := range []struct {
		file    string
		kinds   []string
		format  string
		tags    int
		begins  string
		library int
		size    int
	}{
		{"classic/gpu_opencl", []string{"_lib", "opencl"}, "cl", 0, "// Function: ", 0, 3208},
		{"classic/gpu_cuda", []string{"_lib", "cuda"}, "ptx", 0, "//", 0, 4620},
		{"modern/gpu_opencl", []string{"_lib", "opencl"}, "cl", 3, "// Function: ", 0, 4015},
		{"modern/gpu_cuda", []string{"_lib", "cuda"}, "cubin", 3, "\x7fELF", 0, 47827},
		{"modern/gpu_cuda_src", []string{"_lib", "cuda"}, "cuda", 3, "", 0, 4261},
		{"classic/graph_mlp", []string{"GraphExecutorFactory", "_lib"}, "", 0, "", 1, 6607},
		{"modern/relax_mlp", []string{"relax.VMExecutable", "_lib"}, "", 0, "", 1, 5029},
	} {
		data, layout := exported(t, c.file)
		b, err := Parse(data, layout, nil)
		require.NoError(t, err, c.file)
		requireSound(t, data, b)
		var kinds []string
		for _, e := range b.Entries {
			kinds = append(kinds, e.Kind)
		}
		require.Equal(t, c.kinds, kinds, c.file)
		require.Equal(t, []int{1}, b.Imports(0))
		require.Equal(t, c.library, b.Library())
		require.EqualValues(t, c.size, b.Size, c.file)
		if c.format == "" {
			continue
		}
		m, err := ParseDeviceModule(b.Entries[1].Payload, layout)
		require.NoError(t, err, c.file)
		require.Equal(t, c.format, m.Format)
		require.True(t, strings.Contains(string(m.Data), "matmul_kernel") &&
			strings.HasPrefix(string(m.Data), c.begins), c.file)
		var names []string
		for _, f := range m.Functions {
			names = append(names, f.Name)
			require.Equal(t, f.Key, f.Name)
		}
		slices.Sort(names)
		require.Equal(t, kernels, names)
		matmul, ok := m.Function("matmul_kernel")
		require.True(t, ok)
		require.Equal(t, []dlpack.DataType{dlpack.Handle, dlpack.Handle, dlpack.Handle}, matmul.ArgTypes)
		require.ElementsMatch(t, []string{"blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"},
			matmul.LaunchParamTags)
		require.Len(t, matmul.ArgExtraTags, c.tags)
	}
}

// The blob and the .tvm_meta.json are from the same export and have the same content.
func TestParseMetaJSON_AgreesWithBlob(t *testing.T) {
	text := must.Get(os.ReadFile(artifacts + "classic/gpu_opencl_dev.tvm_meta.json"))(t)
	meta := must.Get(ParseMetaJSON(text))(t)
	require.Equal(t, "0.1.0", meta.TVMVersion)

	data, layout := exported(t, "classic/gpu_opencl")
	b := must.Get(Parse(data, layout, nil))(t)
	m := must.Get(ParseDeviceModule(b.Entries[1].Payload, layout))(t)
	require.Len(t, meta.Functions, len(m.Functions))
	for _, f := range meta.Functions {
		info, ok := m.Function(f.Key)
		require.True(t, ok, f.Key)
		info.ArgExtraTags = nil
		require.Equal(t, f.FunctionInfo, info)
	}
}

func TestReader_RealGraphFactory(t *testing.T) {
	data, layout := exported(t, "classic/graph_mlp")
	b := must.Get(Parse(data, layout, nil))(t)
	r := NewReader(b.Entries[0].Payload)
	require.Contains(t, r.Str("graph"), `"nodes"`)
	r.U64("parameters")
	names := r.Strs("names")
	var params []Tensor
	for range names {
		params = append(params, r.Tensor("parameter"))
	}
	require.Equal(t, "default", r.Str("module name"))
	require.NoError(t, r.Finish("end"))
	for _, p := range params {
		require.Equal(t, dlpack.Float32, p.DType)
		size := must.Get(dlpack.DataSize(p.Shape, p.DType))(t)
		require.Len(t, p.Data, int(size))
	}
}

func TestParse_RealLibrariesDamaged(t *testing.T) {
	for _, name := range []string{"classic/gpu_opencl", "classic/gpu_cuda", "classic/graph_mlp", "modern/gpu_opencl",
		"modern/relax_mlp"} {
		data, layout := exported(t, name)
		whole := must.Get(Parse(data, layout, nil))(t)
		data = slices.Clone(data[:whole.Size])
		for n := range data {
			if _, err := Parse(data[:n], layout, nil); err == nil {
				t.Fatalf("%s cut to %d was accepted", name, n)
			}
		}
		for i := range data {
			old := data[i]
			for _, v := range []byte{0, 1, old + 1, old ^ 0x80, 0xff} {
				data[i] = v
				if b, err := Parse(data, layout, nil); err == nil {
					requireSound(t, data, b)
				}
			}
			data[i] = old
		}
	}
}

// Blobs that TVM exported, and each of their payloads, are written again as the same bytes.
func TestEncode_RealLibraries(t *testing.T) {
	files := []string{"classic/gpu_cuda", "classic/gpu_opencl", "classic/graph_mlp", "modern/gpu_cuda",
		"modern/gpu_cuda_ptx",
		"modern/gpu_cuda_src", "modern/gpu_opencl", "modern/relax_mlp"}
	payloads := 0
	for _, f := range files {
		data, layout := exported(t, f)
		b, err := Parse(data, layout, nil)
		require.NoError(t, err, f)
		written, err := b.Encode()
		require.NoError(t, err, f)
		require.True(t, slices.Equal(data[:b.Size], written), f)
		for _, e := range b.Entries {
			if e.Kind != "cuda" && e.Kind != "opencl" {
				continue
			}
			m, err := ParseDeviceModule(e.Payload, layout)
			require.NoError(t, err, f)
			again, err := m.Encode(layout)
			require.NoError(t, err, f)
			if layout == Modern {
				require.True(t, slices.Equal(e.Payload, again), f)
			} // v0.17 left the names in descriptions out
			same, err := ParseDeviceModule(again, layout)
			require.NoError(t, err, f)
			require.Equal(t, m, same, f)
			payloads++
		}
	}
	require.GreaterOrEqual(t, payloads, 5)
}
