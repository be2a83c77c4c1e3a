//go:build cuda

package cuda_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/runtime"
)

// launchOne launches a kernel whose first argument is an array, with one thread.
func launchOne(t testing.TB, format string, code []byte, k runtime.KernelType) error {
	t.Helper()
	x := tensor(t, first, make([]float32, 64))
	args := []any{x, 1, 1, 1, 1, 1}[:len(k.Args)]
	return kernel(t, handMade(t, format, code, k), k.Name).Launch(nil, one, one, args...)
}

// The error of an image that cannot be loaded names the architectures of the image and of the device. The device still
// works.
func TestImage_Errors(t *testing.T) {
	need(t)
	leavesNothing(t)
	text := string(testdata(t, "kernels.ptx"))
	args := []dlpack.DataType{handle}
	shape := runtime.KernelType{Name: "shape", Args: args}
	require.NoError(t, launchOne(t, "ptx", []byte(text), shape))
	// Real drivers may return different codes for the same cause.
	refused := func(err error, kind error, words ...string) {
		t.Helper()
		if steered(t) == nil {
			require.ErrorContains(t, err, "kernel shape does not load on cuda:0 (")
			return
		}
		requireError(t, err, kind, words...)
	}
	corrupt, unsupported := runtime.ErrCorruptModule, runtime.ErrNotSupported
	newer := strings.Replace(text, ".target sm_90", ".target sm_120", 1)
	refused(launchOne(t, "ptx", []byte(newer), shape), unsupported,
		"kernel shape does not load on cuda:0 (", "sm_90): ", "the image (ptx) is for PTX for compute_120: compile it for "+
			"sm_90, or add PTX for compute_90 or older")
	foreign := bytes.Clone(testdata(t, "kernels.cubin"))
	foreign[0x31] = 80 // the architecture, in the flags of the ELF header
	refused(launchOne(t, "cubin", foreign, shape), unsupported, "CUDA_ERROR_NO_BINARY_FOR_GPU",
		"the image (cubin) is for sm_80: compile it for sm_90")
	refused(launchOne(t, "ptx", []byte(strings.Replace(text, "\n{", "\n{ SYNTAX_ERROR", 1)), shape), corrupt,
		"CUDA_ERROR_INVALID_PTX", "the image (ptx) is for PTX for compute_90\nptxas", "SYNTAX_ERROR")
	for _, format := range []string{"ptx", "cubin", "fatbin"} {
		refused(launchOne(t, format, []byte("no image at all\x00\x01"), shape), corrupt,
			"kernel shape does not load on cuda:0 (", "cuda image: ")
	}

	// Kernels that are not in the image, or whose description is wrong.
	requireError(t, launchOne(t, "ptx", []byte(text), runtime.KernelType{Name: "gone", Args: args}), corrupt,
		"kernel gone is not in the image, which has: count, few, scale, shape, shape_static, types, words")
	mangled := strings.ReplaceAll(text, ".entry shape(", ".entry _Z5shapePi(")
	requireError(t, launchOne(t, "ptx", []byte(mangled), shape), corrupt,
		`kernel shape is not in the image, but _Z5shapePi: put extern "C" before it`)
	requireError(t, launchOne(t, "ptx", []byte(text), runtime.KernelType{Name: "scale", Args: args}), corrupt,
		"kernel scale has 3 arguments in its image, but 1 in its description")
	requireError(t, launchOne(t, "ptx", []byte(text), runtime.KernelType{Name: "scale", Args: []dlpack.DataType{handle,
		dlpack.Float64, dlpack.Int32}}), corrupt,
		"kernel scale: argument 1 has 4 bytes in its image, but 8 in its description (float64)")

	require.NoError(t, launchOne(t, "ptx", []byte(text), shape))
}

// Errors of the driver that the fake driver does not return by itself.
func TestImage_ErrorsOfTheDriver(t *testing.T) {
	fake := needFake(t)
	leavesNothing(t)
	code := testdata(t, "kernels.ptx")
	k := runtime.KernelType{Name: "shape", Args: []dlpack.DataType{handle}}
	for _, c := range []struct {
		code int
		kind error
		want string
	}{
		{222, runtime.ErrNotSupported, "is for PTX for compute_90, in PTX 8.0, but the driver supports only the PTX of " +
			"CUDA 13.0: update the driver, or compile with CUDA 13.0 or older"},
		{221, runtime.ErrDeviceUnavailable, "PTX needs the driver's compiler, libnvidia-ptxjitcompiler.so.1"},
		{2, runtime.ErrOutOfMemory, "kernel shape does not load on cuda:0 (NVIDIA H200, sm_90): the image (ptx) is for PTX " +
			"for compute_90"},
	} {
		fake.FailAt(1, c.code, "cuModuleLoadDataEx")
		requireError(t, launchOne(t, "ptx", code, k), c.kind, c.want)
		require.True(t, fake.Failed())
	}
	require.NoError(t, launchOne(t, "ptx", code, k))
}

// PTX of a version that is too new for the driver is loaded with the newest version that the driver supports. If that
// fails, the error contains both messages of the driver.
func TestImage_NewerPTX(t *testing.T) {
	needFake(t)
	leavesNothing(t)
	text := string(testdata(t, "kernels.ptx"))
	require.Contains(t, text, ".version 8.0\n")
	k := runtime.KernelType{Name: "shape", Args: []dlpack.DataType{handle}}
	for _, version := range []string{"9.1", "9.5", "10.0"} {
		code := strings.Replace(text, ".version 8.0\n", ".version "+version+"\n", 1)
		require.NoError(t, launchOne(t, "ptx", []byte(code), k), version)
		code = strings.Replace(code, "\tret;", "\tSYNTAX_ERROR;", 1)
		requireError(t, launchOne(t, "ptx", []byte(code), k), runtime.ErrNotSupported,
			"in PTX "+version+", but the driver supports only the PTX of CUDA 13.0",
			"Unsupported .version "+version, "as PTX 9.0: ", "CUDA_ERROR_INVALID_PTX", "near 'SYNTAX_ERROR'")
	}
}

// A driver before CUDA 11.8 does not have cuLaunchKernelEx. Launches that need it are errors; others work.
func TestKernel_OlderDriver(t *testing.T) {
	needFake(t)
	if !inChild() {
		child(t, "TestKernel_OlderDriver", "FAKECUDA_LIBRARY="+fakecuda.Build(t, fakecuda.Without("cuLaunchKernelEx")),
			"FAKECUDA_VERSION=11040")
		return
	}
	leavesNothing(t)
	args := []dlpack.DataType{handle}
	x := empty(t, dlpack.Int32, []int64{10}, first)
	for _, k := range []runtime.KernelType{{Name: "shape", Args: args, Cooperative: true}, {Name: "shape", Args: args,
		Programmatic: true}} {
		requireError(t, kernel(t, ptx(t, k), "shape").Launch(nil, one, one, x), runtime.ErrNotSupported,
			"launch kernel shape with grid [1, 1, 1] and block [1, 1, 1] on cuda:0, 0 bytes of shared memory",
			"programmatic launches need cuLaunchKernelEx", "CUDA 11.8 or newer")
	}
	clusters := kernel(t, ptx(t, runtime.KernelType{Name: "shape", Args: args, Cluster: true}), "shape")
	requireError(t, clusters.LaunchWith(nil, runtime.LaunchConfig{Grid: runtime.Dim3{2}, Cluster: runtime.Dim3{2}}, x),
		runtime.ErrNotSupported, "CUDA 11.8 or newer")
	require.NoError(t, clusters.LaunchWith(nil, runtime.LaunchConfig{Grid: runtime.Dim3{2}}, x))
}

// The image and the kernel are loaded at the first use of the kernel on a device, once for each device.
func TestModule_IsLazy(t *testing.T) {
	fake := needFake(t)
	needTwo(t)
	leavesNothing(t)
	const n = 100
	var functions []string
	for i := range n {
		functions = append(functions,
			fmt.Sprintf(`"k%d": {"name": "shape", "arg_types": ["handle"], "launch_param_tags": ["threadIdx.x"]}`, i))
	}
	fake.FailAt(1, 1, "cuModule*")
	m := must.Get(withMeta(t, "{"+strings.Join(functions, ",")+"}"))(t)
	f := function(t, m, "k0")
	require.False(t, fake.Failed(), "nothing is loaded when a kernel is looked up")
	fake.FailAt(2, 1, "cuModuleLoadDataEx")
	for _, dev := range present() {
		out := empty(t, dlpack.Int32, []int64{10}, dev)
		s := stream(t, dev)
		must.Get(f.CallOn(s, out, 1))(t)
		require.Equal(t, dev.ID == 1, fake.Failed(), "each device loads the image")
		if dev.ID == 0 {
			fake.FailAt(n+1, 1, "cuModule*") // k0 is already loaded, and no kernel is loaded twice
			for range 3 {
				for i := range n {
					must.Get(function(t, m, fmt.Sprintf("k%d", i)).CallOn(s, out, 1))(t)
				}
			}
			require.False(t, fake.Failed())
			fake.FailAt(1, 1, "cuModuleLoadDataEx")
			f2 := f
			must.Get(f2.CallOn(s, out, 1))(t)
			require.False(t, fake.Failed())
			fake.FailAt(0, 0)
			break
		}
	}
	// On another device, many goroutines use it for the first time at once.
	out := empty(t, dlpack.Int32, []int64{10}, second)
	fake.FailAt(2, 1, "cuModuleLoadDataEx", "cuModuleGetFunction")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	s := stream(t, second)
	for i := range errs {
		wg.Go(func() { _, errs[i] = f.CallOn(s, out, 1) })
	}
	wg.Wait()
	require.True(t, fake.Failed(), "the image, and then the kernel")
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	require.Equal(t, 1, failed, "the others try again")
	require.NoError(t, s.Sync(t.Context()))
}

// If many goroutines launch a kernel for the first time at once, one of them loads it.
func TestModule_LoadedByOne(t *testing.T) {
	fake := needFake(t)
	leavesNothing(t)
	s := stream(t, first)
	x := tensor(t, first, []float32{1})
	for range 50 {
		k := kernel(t, ptx(t, kernels...), "scale")
		fake.FailAt(3, 1, "cuModuleLoadDataEx", "cuModuleGetFunction")
		var wg sync.WaitGroup
		errs := make([]error, 16)
		begin := make(chan struct{})
		for i := range errs {
			wg.Go(func() {
				<-begin
				errs[i] = k.Launch(s, one, one, x, 1, 1)
			})
		}
		close(begin)
		wg.Wait()
		require.False(t, fake.Failed(), "one image and one kernel are loaded")
		for _, err := range errs {
			require.NoError(t, err)
		}
	}
	fake.FailAt(0, 0)
	require.NoError(t, s.Sync(t.Context()))
}

// A function works after its module is closed. The CUmodule is unloaded when the last function is closed.
func TestModule_FunctionOutlivesIt(t *testing.T) {
	fake := needFake(t)
	leavesNothing(t)
	m := must.Get(runtime.NewDeviceModule("cuda", "ptx", testdata(t, "kernels.ptx"), kernels...))(t)
	k := kernel(t, m, "scale")
	f := function(t, m, "scale")
	x := tensor(t, first, []float32{1, 2})
	s := stream(t, first)
	require.NoError(t, k.Launch(s, one, runtime.Dim3{2}, x, 2, 2))
	require.NoError(t, m.Close())
	require.NoError(t, k.Close())
	modules := func() int { return strings.Count(strings.Join(fake.Leaks(false), "\n"), "module ") }
	require.Equal(t, 1, modules(), "%v", fake.Leaks(false))
	must.Get(f.CallOn(s, x, 2, 2, 1, 1, 1, 2, 1, 1))(t)
	require.NoError(t, s.Sync(t.Context()))
	require.NoError(t, f.Close())
	require.Zero(t, modules(), "%v", fake.Leaks(false))
	require.Equal(t, []float32{4, 8}, slice(t, x))
}

const vary = `extern "C" __global__ void shape(int *out) {
#ifdef WRONG
  out[0] = undeclared;
#endif
}`

func TestSource(t *testing.T) {
	need(t)
	nvrtctest.Need(t)
	leavesNothing(t)
	k := runtime.KernelType{Name: "shape", Args: []dlpack.DataType{handle}}
	cache := t.TempDir()
	t.Setenv("TVMGO_CACHE_DIR", cache)
	kept := func() int {
		list := must.Get(filepath.Glob(filepath.Join(cache, "nvrtc", "*")))(t)
		return len(list)
	}
	for _, format := range []string{"", "cuda", "cu"} {
		require.NoError(t, launchOne(t, format, []byte(vary), k))
	}
	require.Equal(t, 1, kept(), "compiled once, and cached")
	t.Setenv("TVMGO_NVRTC_OPTIONS", " --use_fast_math  -DNOTHING ")
	require.NoError(t, launchOne(t, "cuda", []byte(vary), k))
	require.Equal(t, 2, kept(), "the options are part of the key")
	t.Setenv("TVMGO_NVRTC_OPTIONS", "-DWRONG")
	requireError(t, launchOne(t, "cuda", []byte(vary), k), runtime.ErrFailed,
		"kernel shape on cuda:0 (", "compile kernels.cu for sm_", "the code does not compile", "kernels.cu(3): error:",
		"undeclared")
	t.Setenv("TVMGO_NVRTC_OPTIONS", "--no-such-option")
	requireError(t, launchOne(t, "cuda", []byte(vary), k), runtime.ErrInvalidArgument,
		`TVMGO_NVRTC_OPTIONS is "--no-such-option"`)
	t.Setenv("TVMGO_NVRTC_OPTIONS", "")
	plain := strings.Replace(vary, `extern "C"`, "", 1)
	requireError(t, launchOne(t, "cuda", []byte(plain), k), runtime.ErrCorruptModule,
		`kernel shape is not in the image, but _Z5shapePi: put extern "C" before it`)
	m := handMade(t, "", []byte(vary), k)
	require.Equal(t, vary, must.Get(m.GetSource(""))(t))
	path := filepath.Join(t.TempDir(), "k.cu")
	require.NoError(t, m.SaveToFile(path, ""))
	out := empty(t, dlpack.Int32, []int64{10}, first)
	require.NoError(t, kernel(t, module(t, path), "shape").Launch(nil, one, one, out))
}

// Source with architecture-specific instructions is compiled for an architecture with the letter a, and so is source if
// an option requests it.
func TestSource_OwnInstructions(t *testing.T) {
	need(t)
	nvrtctest.Need(t)
	leavesNothing(t)
	if major, err := runtime.DeviceAttr(first, runtime.AttrComputeVersion); err != nil || major != "9.0" {
		t.Skipf("the device has compute capability %v (%v), the instructions need 9.0", major, err)
	}
	k := runtime.KernelType{Name: "shape", Args: []dlpack.DataType{handle}}
	t.Setenv("TVMGO_CACHE_DIR", t.TempDir())
	source := func(body string) []byte {
		return []byte("extern \"C\" __global__ void shape(int *out) {\n" + body + "\n}")
	}
	const wanted = "\n#ifndef __CUDA_ARCH_FEAT_SM90_ALL\n#error no letter\n#endif\n"
	const unwanted = "\n#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n#error a letter\n#endif\n"
	for _, c := range []struct {
		options, body string
	}{
		{"", `asm volatile("wgmma.fence.sync.aligned;");` + wanted},
		{"", `asm volatile("setmaxnreg.inc.sync.aligned.u32 96;\n");` + wanted},
		{"", "out[0] = 1; // no wgmma here" + unwanted},
		{"", "/* setmaxnreg\n */ int a_wgmmas = 0; out[0] = a_wgmmas;" + unwanted},
		{"-arch=sm_90a", "out[0] = 1;" + wanted},
		{"-DX --gpu-architecture sm_90a", "out[0] = 1;" + wanted},
		{"-arch sm_90", "out[0] = 1; /* wgmma */" + unwanted},
		{"--gpu-architecture=compute_90a", "out[0] = 1;" + wanted},
	} {
		t.Setenv("TVMGO_NVRTC_OPTIONS", c.options)
		require.NoError(t, launchOne(t, "cuda", source(c.body), k), "%q: %s", c.options, c.body)
	}
	t.Setenv("TVMGO_NVRTC_OPTIONS", "-arch=sm_90")
	requireError(t, launchOne(t, "cuda", source(`asm volatile("wgmma.fence.sync.aligned;");`), k), runtime.ErrFailed,
		"for sm_90", "wgmma")
	t.Setenv("TVMGO_NVRTC_OPTIONS", "-arch")
	requireError(t, launchOne(t, "cuda", source(""), k), runtime.ErrInvalidArgument,
		"-arch names no architecture: write -arch=sm_90a")
}

// A registered compiler is used instead of NVRTC.
func TestSource_Callback(t *testing.T) {
	need(t)
	k := runtime.KernelType{Name: "shape", Args: []dlpack.DataType{handle}}
	const name = "tvm_callback_cuda_compile"
	var answer any
	var asked []string
	f, err := runtime.NewFunction(func(args ...any) (any, error) {
		asked = append(asked, args[0].(string))
		if err, ok := answer.(error); ok {
			return nil, err
		}
		return answer, nil
	})
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, runtime.RegisterGlobal(name, f, false))
	defer runtime.RemoveGlobal(name)
	code := testdata(t, "kernels.ptx")
	for _, good := range []any{code, string(code), append([]byte("//\n"), code...), testdata(t, "kernels.cubin")} {
		asked, answer = nil, good
		require.NoError(t, launchOne(t, "cuda", []byte("__global__ source"), k))
		require.Equal(t, []string{"__global__ source"}, asked)
	}
	for want, bad := range map[string]any{"returned int64, but must return bytes": 5, "returned no code": []byte{},
		"no compiler today": fmt.Errorf("no compiler today")} {
		answer = bad
		require.ErrorContains(t, launchOne(t, "cuda", []byte("x"), k), want)
	}
}

// Without NVRTC, the error names it and the alternatives.
func TestSource_NoCompiler(t *testing.T) {
	need(t)
	if !inChild() {
		child(t, "TestSource_NoCompiler", "FAKECUDA_LIBRARY="+fakeLibrary, "TVMGO_NVRTC=/nowhere/libnvrtc.so")
		return
	}
	leavesNothing(t)
	requireError(t, launchOne(t, "cuda", []byte(vary), runtime.KernelType{Name: "shape", Args: []dlpack.DataType{handle}}),
		runtime.ErrDeviceUnavailable,
		"kernel shape: its module contains source, which needs NVRTC", "/nowhere/libnvrtc.so",
		"or compile it to PTX or a cubin", "tvm_callback_cuda_compile")
}

// Files of code, with the description of their kernels in a second file.
func TestModule_Files(t *testing.T) {
	need(t)
	leavesNothing(t)
	dir := t.TempDir()
	for _, format := range []string{"ptx", "cubin", "fatbin"} {
		code := testdata(t, "kernels."+format)
		path := filepath.Join(dir, "k."+format)
		require.NoError(t, handMade(t, format, code, kernels...).SaveToFile(path, ""))
		require.Equal(t, code, must.Get(os.ReadFile(path))(t))
		m := module(t, path)
		x := tensor(t, first, []float32{1, 2})
		require.NoError(t, kernel(t, m, "scale").Launch(nil, one, runtime.Dim3{2}, x, 3, 2))
		require.Equal(t, []float32{3, 6}, slice(t, x))
		require.Contains(t, string(must.Get(m.SaveToBinary())(t)), string(code))
		require.Error(t, m.SaveToFile(filepath.Join(dir, "k.so"), ""))
	}
}
