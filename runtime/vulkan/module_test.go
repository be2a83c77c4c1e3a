package vulkan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

// description describes the kernel add as a module file does, with its launch parameters.
var description = blob.Function{Key: "add_kernel", FunctionInfo: blob.FunctionInfo{Name: "add",
	ArgTypes: types["add"][0].Args, LaunchParamTags: []string{"blockIdx.x", "threadIdx.x"}}}

func saved(t *testing.T) *blob.VulkanModule {
	return &blob.VulkanModule{Format: "vulkan", Functions: []blob.Function{description},
		Shaders: []blob.Shader{{Key: "add_kernel", Code: words(t, "add")}}}
}

// runAdd launches the kernel "add_kernel" of a module and checks the results.
func runAdd(t *testing.T, m *runtime.Module) {
	t.Helper()
	for _, dev := range present() {
		x, c := array(t, dev, numbers(100, counted)), array(t, dev, make([]float32, 100))
		require.NoError(t, kernelOf(t, m, "add_kernel").Launch(nil, runtime.Dim3{2}, runtime.Dim3{64}, x, x, c, 100))
		require.Equal(t, numbers(100, func(i int) float32 { return 2 * counted(i) }), values[float32](t, c))
	}
}

// Payloads in both layouts can be loaded and run. Saving returns the same bytes.
func TestModule_Payloads(t *testing.T) {
	need(t)
	noLeaks(t)
	v := saved(t)
	encode := func(layout blob.Layout) []byte {
		data, err := v.Encode(layout)
		require.NoError(t, err)
		return data
	}
	for _, c := range []struct {
		loader string
		data   []byte
	}{
		{"ffi.Module.load_from_bytes.vulkan", encode(blob.Modern)},
		{"ffi.Module.load_from_bytes.vulkan", encode(blob.LegacyFFI)}, // written by TVM v0.21 to v0.23
	} {
		loader, err := runtime.Global(c.loader)
		require.NoError(t, err)
		defer loader.Close()
		got, err := loader.Call(c.data)
		require.NoError(t, err)
		m := got.(*runtime.Module)
		defer m.Close()
		require.Equal(t, "vulkan", m.Kind())
		require.Equal(t, []string{"add_kernel"}, m.Functions())
		runAdd(t, m)
		again, err := m.SaveToBinary()
		require.NoError(t, err)
		require.Equal(t, c.data, again)
		text, err := m.GetSource("spvasm")
		require.NoError(t, err)
		require.Contains(t, text, `OpEntryPoint GLCompute %add "add" %gl_GlobalInvocationID`)
		for _, name := range []string{"runtime.ModuleGetSource", "ffi.ModuleInspectSource"} {
			f, err := runtime.Global(name)
			require.NoError(t, err)
			defer f.Close()
			same, err := f.Call(m, "spvasm")
			require.NoError(t, err)
			require.Equal(t, text, same)
		}
		_, err = m.GetSource("cl")
		requireError(t, err, runtime.ErrNotSupported, `"spvasm", not "cl"`)

		_, err = loader.Call(c.data[:len(c.data)-1])
		requireError(t, err, runtime.ErrCorruptModule)
	}
	v.Shaders[0].Key = "other"
	loader, err := runtime.Global("ffi.Module.load_from_bytes.vulkan")
	require.NoError(t, err)
	defer loader.Close()
	_, err = loader.Call(encode(blob.Modern))
	requireError(t, err, runtime.ErrCorruptModule, "kernel add_kernel has no shader")
}

// A module whose description and shader disagree about uniform buffer and push constants is an error at the launch.
func TestModule_ScalarsElsewhere(t *testing.T) {
	need(t)
	noLeaks(t)
	loader, err := runtime.Global("ffi.Module.load_from_bytes.vulkan")
	require.NoError(t, err)
	defer loader.Close()
	x := array(t, first, make([]float32, 64))
	for file, want := range map[string]string{
		"add":     "takes scalars from push constants, but its description says a uniform buffer",
		"scalars": "takes scalars from a uniform buffer, but its description says push constants"} {
		flag := uint32(0)
		if file == "add" {
			flag = blob.ShaderUniformScalars
		}
		k := types[file][0]
		v := blob.VulkanModule{Format: "vulkan", Functions: []blob.Function{{Key: k.Name,
			FunctionInfo: blob.FunctionInfo{Name: k.Name, ArgTypes: k.Args}}},
			Shaders: []blob.Shader{{Key: k.Name, Flag: flag, Code: words(t, file)}}}
		data, err := v.Encode(blob.Modern)
		require.NoError(t, err)
		got, err := loader.Call(data)
		require.NoError(t, err)
		defer got.(*runtime.Module).Close()
		var args []any
		for _, a := range k.Args {
			if a == dlpack.Handle {
				args = append(args, x)
			} else {
				args = append(args, 1)
			}
		}
		requireError(t, kernelOf(t, got.(*runtime.Module), k.Name).Launch(nil, runtime.Dim3{}, runtime.Dim3{}, args...),
			runtime.ErrCorruptModule, want)
	}
}

// A `.vulkan` file with its description beside it can be loaded, also if SaveToFile wrote it.
func TestModule_Files(t *testing.T) {
	need(t)
	noLeaks(t)
	v := saved(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "k.vulkan")
	data, err := blob.EncodeVulkanFile(v.Shaders)
	require.NoError(t, err)
	meta, err := blob.EncodeMetaJSON(v.Functions)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.tvm_meta.json"), meta, 0o666))
	m, err := runtime.Load(t.Context(), path)
	require.NoError(t, err)
	defer m.Close()
	runAdd(t, m)

	again := filepath.Join(dir, "again.vulkan")
	require.NoError(t, m.SaveToFile(again, ""))
	written, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, data, written)
	m2, err := runtime.Load(t.Context(), again)
	require.NoError(t, err)
	defer m2.Close()
	runAdd(t, m2)
}

// packed creates a library from shaders, like `tvmgo pack`, and loads it.
func packed(t *testing.T, signature string, inputs ...string) *runtime.Module {
	t.Helper()
	if !gputest.HasCompiler(t) {
		t.Skip("packing needs a C compiler")
	}
	library := filepath.Join(t.TempDir(), "k.so")
	k := pack.Kernels{Functions: []pack.Function{{Signature: signature}}}
	for _, path := range inputs {
		k.Inputs = append(k.Inputs, pack.Input{Path: path})
	}
	require.NoError(t, pack.Library(t.Context(), k, library))
	m, err := runtime.Load(t.Context(), library)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// Shaders packed into a library are its functions, which run on the device of the arrays.
func TestModule_Packed(t *testing.T) {
	need(t)
	noLeaks(t)
	m := packed(t, "add(a: float32[n], b: float32[n], c: inout float32[n], n: int32) launch blockIdx.x=(n+63)/64, "+
		"threadIdx.x=64", "testdata/add.spv")
	f, err := m.Function("add")
	require.NoError(t, err)
	defer f.Close()
	for _, dev := range present() {
		for _, s := range []*runtime.Stream{nil, newStream(t, dev)} {
			a, b := array(t, dev, numbers(500, counted)), array(t, dev, numbers(500, counted))
			c := array(t, dev, make([]float32, 500))
			if s == nil {
				_, err = f.Call(a, b, c, 500)
			} else {
				_, err = f.CallOn(s, a, b, c, 500)
			}
			require.NoError(t, err)
			if s != nil {
				require.NoError(t, s.Sync(t.Context()))
			}
			require.Equal(t, numbers(500, func(i int) float32 { return 2 * counted(i) }), values[float32](t, c))
		}
	}
}

func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "vulkan", "*"))
	require.NoError(t, err)
	return files
}

// A pipeline is created at a kernel's first use. Its cache is stored on disk, where the next module finds it. Damaged
// files are replaced.
func TestPipelines_AreLazyAndCached(t *testing.T) {
	need(t)
	noLeaks(t)
	dir := t.TempDir()
	t.Setenv("TVMGO_CACHE_DIR", dir)
	x := array(t, first, make([]uint32, 64))
	m := made(t, words(t, "two"), types["two"]...)
	require.Empty(t, cacheFiles(t, dir), "no pipeline is created when a module is created")
	k := kernelOf(t, m, "step")
	require.Empty(t, cacheFiles(t, dir), "nor when a kernel is looked up")
	run := func(k *runtime.Kernel) {
		t.Helper()
		require.NoError(t, runtime.CopyFrom(x, slices.Repeat([]uint32{5}, 64)))
		require.NoError(t, k.Launch(nil, one, runtime.Dim3{64}, x, 3, 1))
		require.Equal(t, slices.Repeat([]uint32{16}, 64), values[uint32](t, x))
	}
	run(k)
	files := cacheFiles(t, dir)
	require.Len(t, files, 1)
	kept, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(kept), 40+32,
		"the file's header and the cache's header; some drivers return no more than that")
	before, err := os.Stat(files[0])
	require.NoError(t, err)
	run(shader(t, "two"))
	after, err := os.Stat(files[0])
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "the pipeline came from the disk")
	for _, damage := range [][]byte{nil, kept[:50], append([]byte{'T'}, kept[1:]...), append(kept[:len(kept):len(kept)],
		0)} {
		require.NoError(t, os.WriteFile(files[0], damage, 0o600))
		run(shader(t, "two"))
		now, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.Equal(t, len(kept), len(now))
	}
	require.NoError(t, shader(t, "two", "swap").Launch(nil, one, runtime.Dim3{64}, x, array(t, first, make([]uint32, 64))))
	require.Len(t, cacheFiles(t, dir), 2, "each kernel has its own")

	t.Setenv("TVMGO_CACHE_DIR", "off")
	run(shader(t, "two"))
	unwritable := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(unwritable, nil, 0o600))
	t.Setenv("TVMGO_CACHE_DIR", unwritable)
	run(shader(t, "two"))
}

// All kernels also run without push descriptors, which not all devices have.
func TestPooledDescriptors(t *testing.T) {
	need(t)
	const variable = "TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR"
	if os.Getenv(variable) != "" {
		return // this is the child process
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^(TestKernel|TestModule|TestPipelines)")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestKernel_NoGrowth")
	if gputest.HasCompiler(t) {
		require.Contains(t, string(out), "--- PASS: TestModule_Packed")
	}
}

// A packed kernel accepts a tensor that begins inside its buffer, if the offset has the device's alignment.
func TestModule_PackedOffsets(t *testing.T) {
	need(t)
	noLeaks(t)
	m := packed(t, "add(a: float32[n], b: float32[n], c: inout float32[n], n: int32) launch blockIdx.x=(n+63)/64, "+
		"threadIdx.x=64", "testdata/add.spv")
	for _, dev := range present() {
		gputest.PackedOffsets(t, m, dev)
	}
}
