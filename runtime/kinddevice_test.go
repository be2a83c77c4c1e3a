package runtime_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/payloads"
	"tvmgo/runtime"
)

func imports(t testing.TB, m *runtime.Module) []*runtime.Module {
	t.Helper()
	deps := must.Get(m.Imports())(t)
	for _, d := range deps {
		t.Cleanup(func() { d.Close() })
	}
	return deps
}

// blobOf returns the blob of an artifact as it is in the file.
func blobOf(t testing.TB, file string) *blob.Blob {
	t.Helper()
	layout, mark := blob.Modern, blob.ModernSymbol
	if strings.HasPrefix(file, "classic/") {
		layout, mark = blob.Legacy, blob.LegacySymbol
	}
	return must.Get(blob.Parse(symbolBytes(t, artifacts+file, mark), layout, nil))(t)
}

var gpuFiles = []struct{ file, kind, format string }{
	{"modern/gpu_opencl.so", "opencl", "cl"},
	{"modern/gpu_cuda.so", "cuda", "cubin"},
	{"modern/gpu_cuda_ptx.so", "cuda", "ptx"},
	{"modern/gpu_cuda_src.so", "cuda", "cuda"},
	{"classic/gpu_opencl.so", "opencl", "cl"},
	{"classic/gpu_cuda.so", "cuda", "ptx"},
}

// A blob that TVM exported is saved with the same bytes, in its own layout and after conversion to the other layout and
// back.
func TestDeviceSource_RoundTripsArtifacts(t *testing.T) {
	for _, c := range gpuFiles {
		t.Run(c.file, func(t *testing.T) {
			noLeaks(t)
			b := blobOf(t, c.file)
			m := imports(t, modules.Load(t, artifacts+c.file))[0]
			require.Equal(t, c.kind, m.Kind())
			require.Equal(t, runtime.Serializable, m.Properties())
			require.Equal(t, []string{"addone_kernel", "matmul_kernel", "vadd_kernel"}, m.Functions())
			got := must.Get(m.SaveToBinaryFor(b.Layout))(t)
			require.True(t, bytes.Equal(b.Entries[1].Payload, got))

			parsed := must.Get(blob.ParseDeviceModule(b.Entries[1].Payload, b.Layout))(t)
			require.Equal(t, c.format, parsed.Format)
			// Modules made from their parts, and converted to the other layout. In v0.17 a function had no name except
			// its key.
			got = must.Get(must.Open(runtime.NewDeviceSource(c.kind, parsed))(t).SaveToBinaryFor(b.Layout))(t)
			moved, err := blob.ParseDeviceModule(must.Get(m.SaveToBinaryFor(blob.Modern-b.Layout))(t), blob.Modern-b.Layout)
			require.NoError(t, err)
			require.True(t, bytes.Equal(got, must.Get(moved.Encode(b.Layout))(t)))
			if b.Layout == blob.Modern {
				require.True(t, bytes.Equal(b.Entries[1].Payload, got))
			} else {
				require.Equal(t, parsed, must.Get(blob.ParseDeviceModule(got, b.Layout))(t))
			}

			modern := must.Get(m.SaveToBinary())(t)
			require.Equal(t, must.Get(parsed.Encode(blob.Modern))(t), modern)
		})
	}
}

func TestDeviceSource_Files(t *testing.T) {
	for _, c := range gpuFiles {
		t.Run(c.file, func(t *testing.T) {
			noLeaks(t)
			m := imports(t, modules.Load(t, artifacts+c.file))[0]
			suffix := strings.Replace(c.format, "cuda", "cu", 1)
			path := filepath.Join(t.TempDir(), "k.v1."+suffix)
			require.NoError(t, m.SaveToFile(path, ""))
			require.FileExists(t, filepath.Join(filepath.Dir(path), "k.v1.tvm_meta.json"))
			back := modules.Load(t, path)
			require.Equal(t, c.kind, back.Kind())
			want := must.Get(m.SaveToBinaryFor(blob.Legacy))(t)
			got := must.Get(back.SaveToBinaryFor(blob.Legacy))(t)
			wanted := must.Get(blob.ParseDeviceModule(want, blob.Legacy))(t)
			require.Equal(t, wanted, must.Get(blob.ParseDeviceModule(got, blob.Legacy))(t))

			source, err := m.GetSource("")
			if c.format == "cubin" {
				requireError(t, err, runtime.ErrNotSupported, "cubin, which is no text")
			} else {
				require.NoError(t, err)
				require.Equal(t, string(wanted.Data), source)
				_, err = m.GetSource("metal")
				requireError(t, err, runtime.ErrNotSupported, "not metal")
			}
			require.Equal(t, []any{suffix}, call(t, global(t, "ffi.ModuleGetWriteFormats"), m))

			err = m.SaveToFile(filepath.Join(t.TempDir(), "k.so"), "")
			requireError(t, err, runtime.ErrNotSupported, "k.so", `"so"`, "written as ."+suffix)
			err = m.SaveToFile(filepath.Join(t.TempDir(), "k"), "")
			requireError(t, err, runtime.ErrNotSupported, "no suffix and no format given")
		})
	}
}

// The files that TVM v0.17 wrote have the same content as its blob.
func TestDeviceSource_FilesOfTVM(t *testing.T) {
	for file, kind := range map[string]string{"gpu_cuda_dev.ptx": "cuda", "gpu_opencl_dev.cl": "opencl"} {
		noLeaks(t)
		m := modules.Load(t, artifacts+"classic/"+file)
		require.Equal(t, kind, m.Kind())
		require.Equal(t, []string{"addone_kernel", "matmul_kernel", "vadd_kernel"}, m.Functions())
		source := must.Get(m.GetSource(""))(t)
		require.Equal(t, string(readFile(t, artifacts+"classic/"+file)), source)
		_, err := m.Function("vadd_kernel")
		requireError(t, err, runtime.ErrDeviceUnavailable, "import tvmgo/runtime/"+kind)
	}
}

func TestDeviceSource_FileWithoutMeta(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "k.ptx")
	writeFile(t, path, []byte("//"))
	_, err := runtime.Load(ctx, path)
	requireError(t, err, runtime.ErrNotFound, "k.tvm_meta.json is missing")
	writeFile(t, filepath.Join(dir, "k.tvm_meta.json"), []byte(`{"func_info":[]}`))
	_, err = runtime.Load(ctx, path)
	requireError(t, err, runtime.ErrCorruptModule, "k.tvm_meta.json", "func_info")
	_, err = runtime.Load(ctx, filepath.Join(dir, "none.ptx"))
	requireError(t, err, runtime.ErrNotFound, "none.ptx")

	// Without a description, CUDA source is a module of kind "c" to be compiled.
	writeFile(t, filepath.Join(dir, "s.cu"), []byte("__global__"))
	require.Equal(t, "c", modules.Load(t, filepath.Join(dir, "s.cu")).Kind())
	writeFile(t, filepath.Join(dir, "s.tvm_meta.json"), []byte(`{"func_info":{}}`))
	require.Equal(t, "cuda", modules.Load(t, filepath.Join(dir, "s.cu")).Kind())
}

func TestDeviceSource_Bad(t *testing.T) {
	noLeaks(t)
	good := blob.DeviceModule{Format: "ptx", Functions: []blob.Function{{Key: "k"}}, Data: []byte("//")}
	twice := good
	twice.Functions = []blob.Function{{Key: "k"}, {Key: "k"}}
	for _, c := range []struct {
		kind string
		m    *blob.DeviceModule
		says string
	}{
		{"npu", &good, `"npu" is none of cuda, hip`},
		{"vulkan", &good, `"vulkan" is none of`},
		{"cuda", nil, "needs a format and code"},
		{"cuda", &blob.DeviceModule{Format: "ptx"}, "needs a format and code"},
		{"cuda", &blob.DeviceModule{Data: good.Data}, "needs a format and code"},
		{"cuda", &twice, `"k" occurs twice`},
	} {
		_, err := runtime.NewDeviceSource(c.kind, c.m)
		requireError(t, err, runtime.ErrInvalidArgument, c.says)
	}
	tagged := good
	tagged.Functions = []blob.Function{{Key: "k", FunctionInfo: blob.FunctionInfo{Name: "k",
		ArgTypes: []dlpack.DataType{dlpack.Int32}, ArgExtraTags: []int32{blob.ExtraTagTensorMap}}}}
	m := must.Open(runtime.NewDeviceSource("cuda", &tagged))(t)
	_, err := m.SaveToBinaryFor(blob.Legacy)
	requireError(t, err, runtime.ErrInvalidArgument, "does not support")
}

var vulkan = blob.VulkanModule{Functions: []blob.Function{{Key: "k", FunctionInfo: blob.FunctionInfo{Name: "k",
	ArgTypes: []dlpack.DataType{dlpack.Int32}, LaunchParamTags: []string{"blockIdx.x"}}}},
	Shaders: []blob.Shader{{Key: "k", Flag: blob.ShaderUniformScalars, Code: []byte("\x03\x02\x23\x07word")}}}

func TestVulkanSource(t *testing.T) {
	noLeaks(t)
	m := must.Open(runtime.NewVulkanSource(&vulkan))(t)
	require.Equal(t, "vulkan", m.Kind())
	_, err := m.Function("k")
	requireError(t, err, runtime.ErrDeviceUnavailable, "import tvmgo/runtime/vulkan")
	_, err = m.GetSource("")
	requireError(t, err, runtime.ErrCorruptModule, `kernel "k": the code is not SPIR-V`)
	_, err = m.GetSource("cl")
	requireError(t, err, runtime.ErrNotSupported, `"spvasm", not "cl"`)
	path := filepath.Join(t.TempDir(), "k.vulkan")
	require.NoError(t, m.SaveToFile(path, ""))
	requireError(t, m.SaveToFile(path, "spv"), runtime.ErrNotSupported, "written as .vulkan")
	back := modules.Load(t, path)
	for _, layout := range []blob.Layout{blob.Legacy, blob.LegacyFFI, blob.Modern} {
		require.Equal(t, must.Get(m.SaveToBinaryFor(layout))(t), must.Get(back.SaveToBinaryFor(layout))(t), layout)
	}
	for says, bad := range map[string]*blob.VulkanModule{
		"needs shaders":       nil,
		"has no shader":       {Functions: []blob.Function{{Key: "j"}}, Shaders: vulkan.Shaders},
		"not a multiple of 4": {Shaders: []blob.Shader{{Key: "k", Code: []byte("abc")}}},
	} {
		_, err := runtime.NewVulkanSource(bad)
		requireError(t, err, runtime.ErrInvalidArgument, says)
	}
}

// Modern payloads before v0.24 have no lengths before shaders: they are saved unchanged.
func TestVulkanSource_OlderModernForm(t *testing.T) {
	noLeaks(t)
	old := must.Get((&blob.VulkanModule{Format: "vulkan", Functions: vulkan.Functions,
		Shaders: vulkan.Shaders}).Encode(blob.LegacyFFI))(t)
	root := loadBytes(t, withBlob(t, probeSource, modernTree([]entry{lib(), {"vulkan", old}}, [][]int{{1}, nil})))
	m := imports(t, root)[0]
	require.Equal(t, old, must.Get(m.SaveToBinaryFor(blob.Modern))(t))
}

func TestOpaque(t *testing.T) {
	noLeaks(t)
	m := must.Open(runtime.NewOpaque("webgpu", []byte("payload")))(t)
	require.Equal(t, "webgpu", m.Kind())
	require.Equal(t, runtime.Serializable, m.Properties())
	got := must.Get(m.SaveToBinaryFor(blob.Modern))(t)
	require.Equal(t, "payload", string(got))
	_, err := m.SaveToBinaryFor(blob.Legacy)
	requireError(t, err, runtime.ErrNotSupported, "modern", "legacy")
	_, err = m.GetSource("")
	requireError(t, err, runtime.ErrNotSupported)
	requireError(t, m.SaveToFile("x.webgpu", ""), runtime.ErrNotSupported)
	_, err = m.Function("k")
	requireError(t, err, runtime.ErrNotFound)

	var same blob.Writer // a format with the same form in all layouts
	same.Str("symbol")
	same.Str("{}")
	same.Strs([]string{"w"})
	json := must.Open(runtime.NewOpaque("dnnl_json", same.Data()))(t)
	got = must.Get(json.SaveToBinaryFor(blob.Legacy))(t)
	require.Equal(t, same.Data(), got)

	for kind, says := range map[string]string{"c": "NewCSource", "static_library": "NewStaticLibrary",
		"cuda": "NewDeviceSource", "vulkan": "NewVulkanSource",
		"const_loader": "NewConstants", "library": "Load", "_lib": "another meaning",
		"_import_tree": "another meaning", "": "the kind is empty", "a\x00b": "zero byte"} {
		_, err := runtime.NewOpaque(kind, nil)
		requireError(t, err, runtime.ErrInvalidArgument, says)
	}
}

// loadable returns modules of all kinds that the runtime loads.
func loadable(t *testing.T, layout blob.Layout) []blob.Entry {
	return slices.DeleteFunc(payloads.Every(t, layout),
		func(e blob.Entry) bool { return !modulekind.Find(e.Kind).Loads() })
}

// contents lists the functions of modules of each form, as far as the runtime reads them.
var contents = map[modulekind.Form][]string{modulekind.Device: {"k"}, modulekind.Shaders: {"k"},
	modulekind.Source: {"f"},
	modulekind.Object: {"g"}, modulekind.Constants: {"f"}}

// A library with modules of all kinds is loaded, and each module is saved with the same bytes.
func TestKinds_InOneLibrary(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			noLeaks(t)
			layout := blob.Modern
			if l.name == "legacy" {
				layout = blob.Legacy
			}
			entries, children := []entry{lib()}, [][]int{nil}
			for _, e := range loadable(t, layout) {
				entries = append(entries, entry{e.Kind, e.Payload})
				children[0] = append(children[0], len(children))
				children = append(children, nil)
			}
			root := loadBytes(t, withBlob(t, l.source, l.tree(entries, children)))
			deps := imports(t, root)
			require.Len(t, deps, len(entries)-1)
			for i, m := range deps {
				require.Equal(t, entries[i+1].kind, m.Kind())
				got, err := m.SaveToBinaryFor(layout)
				require.NoError(t, err, m.Kind())
				require.Equal(t, entries[i+1].payload, got, m.Kind())
				kind := modulekind.Find(m.Kind())
				require.Equal(t, kind.Exportable, m.Properties()&runtime.Exportable != 0, m.Kind())
				require.ElementsMatch(t, contents[kind.Form], m.Functions(), m.Kind())
			}
		})
	}
}

// A registered kind replaces the built-in one in files, in libraries and from C; only once.
func TestRegisterModuleKind_TakesDataOver(t *testing.T) {
	noLeaks(t)
	t.Cleanup(func() { runtime.RestoreKind("cuda") })
	var got runtime.Payload
	kind := runtime.ModuleKind{Name: "cuda", Properties: runtime.Serializable | runtime.Runnable,
		Load: func(p runtime.Payload) (runtime.ModuleImpl, error) {
			got = p
			return &goModule{functions: map[string]runtime.PackedFunc{"vadd_kernel": func(args ...any) (any,
				error) {
				return "ran", nil
			}}}, nil
		}}
	early := global(t, "ffi.Module.load_from_bytes.cuda")
	require.NoError(t, runtime.RegisterModuleKind(kind))
	err := runtime.RegisterModuleKind(kind)
	require.ErrorContains(t, err, "taken already")
	payload := must.Get(imports(t, modules.Load(t, artifacts+"modern/gpu_cuda_ptx.so"))[0].SaveToBinary())(t)
	require.Equal(t, "ran", call(t, function(t, call(t, early, payload).(*runtime.Module), "vadd_kernel")),
		"a loader that was looked up before the registration")
	for _, file := range []string{"modern/gpu_cuda_ptx.so", "classic/gpu_cuda.so", "classic/gpu_cuda_dev.ptx"} {
		require.Equal(t, "ran", call(t, function(t, modules.Load(t, artifacts+file), "vadd_kernel")), file)
		require.Equal(t, file == "classic/gpu_cuda.so", got.Legacy)
	}
	require.True(t, runtime.RemoveGlobal("ffi.Module.load_from_bytes.cuda"))
	require.True(t, runtime.RemoveGlobal("runtime.module.loadbinary_cuda"))
	require.NoError(t, runtime.RegisterModuleKind(kind), "a kind without loaders can be registered again")

	// If the name of one of the two loaders is taken, nothing changes.
	runtime.RestoreKind("opencl")
	t.Cleanup(func() { runtime.RestoreKind("opencl") })
	require.NoError(t, runtime.RegisterGlobal("runtime.module.loadbinary_opencl",
		goFunction(t, func(args ...any) (any, error) { return nil, nil }), true))
	kind.Name = "opencl"
	require.ErrorContains(t, runtime.RegisterModuleKind(kind), "taken already")
	require.Equal(t, "opencl", imports(t, modules.Load(t, artifacts+"modern/gpu_opencl.so"))[0].Kind())
	_, err = modules.Load(t, artifacts+"modern/gpu_opencl.so").Function("vadd_kernel")
	requireError(t, err, runtime.ErrDeviceUnavailable)
}

// A damaged payload is rejected as damaged, and nothing leaks.
func TestKinds_DamagedPayload(t *testing.T) {
	noLeaks(t)
	for _, e := range loadable(t, blob.Modern) {
		kind, payload := e.Kind, e.Payload
		if contents[modulekind.FormOf(kind)] == nil {
			continue // the runtime does not read this payload
		}
		f := global(t, "ffi.Module.load_from_bytes."+kind)
		call(t, f, payload).(*runtime.Module).Close()
		for n := 0; n < len(payload); n += 1 + len(payload)/200 {
			_, err := f.Call(payload[:n])
			requireError(t, err, runtime.ErrCorruptModule, kind)
		}
		_, err := f.Call(append(payload[:len(payload):len(payload)], 0))
		requireError(t, err, runtime.ErrCorruptModule, kind)
		_, err = f.Call(payload, 1)
		requireError(t, err, runtime.ErrInvalidArgument)
	}
}

// Every suffix that a descriptor declares has a loader of files; a file that is missing names the path.
func TestKinds_FileLoaders(t *testing.T) {
	for _, kind := range modulekind.All() {
		for _, suffix := range kind.Suffixes() {
			_, err := runtime.Load(ctx, filepath.Join(t.TempDir(), "none."+suffix))
			requireError(t, err, runtime.ErrNotFound, "none."+suffix)
			_, err = global(t, "runtime.module.loadfile_"+suffix).Call(1)
			requireError(t, err, runtime.ErrInvalidArgument, "the path of a "+suffix+" file")
		}
	}
}

func symbolBytes(t testing.TB, path, symbol string) []byte {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	return elfSymbol(t, f, symbol)
}
