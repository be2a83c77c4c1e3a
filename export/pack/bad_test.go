package pack_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Errors are reported before anything is compiled or written.
func TestLibrary_BadInput(t *testing.T) {
	const sig = "add(handle, handle, handle, int32) launch blockIdx.x, threadIdx.x"
	file := func(name, content string) []string { return []string{write(t, name, content)} }
	k := "testdata/k.c"
	o := func(code string) []string { return []string{object(t, code)} }
	for _, c := range []struct {
		inputs     []string
		signatures []string
		failure    string
	}{
		{nil, []string{sig}, "no file with kernels is given: .c, .o, .cl, .spv, .ptx, .cubin, .fatbin, .cu"},
		{[]string{k}, nil, "no function is given: write its signature"},
		{[]string{"missing.c"}, []string{sig}, "missing.c: no such file"},
		{[]string{"testdata"}, []string{sig}, `testdata: the suffix "" is none of kernels: .c, .o`},
		{file("k.cc", "x"), []string{sig}, `the suffix ".cc" is none of kernels`},
		{file("k.c", " \n"), []string{sig}, "k.c is empty"},
		{[]string{k, "./testdata/../testdata/k.c"}, []string{sig}, "the file ./testdata/../testdata/k.c is given twice"},
		{[]string{k}, []string{"add(handle"}, "signature, column 11: expected \",\" or \")\" after a parameter, got the " +
			"end\n  add(handle\n            ^"},
		{[]string{k}, []string{sig, "add(handle)"},
			`there are two functions "add": give one another name, as in other=add(…)`},
		{file("k.cl", "void add(int a) {}"), []string{sig}, `the function "add" in it is no kernel: put __kernel before it`},
		{file("k.cl", "kernel void sub(int a) { add(a); } // kernel void add(int a) {}\n__kernel void add(int a);"),
			[]string{sig}, `there is no kernel "add" in it`},
		{file("k.cu", "__global__ void add(int a) {}"), []string{sig},
			`the kernel "add" in it has C++'s name: put extern "C" before it`},
		{file("k.cu", "extern \"C\" void add(int a) {}"), []string{sig},
			`the function "add" in it is no kernel: put extern "C" __global__ before it`},
		{file("k.ptx", ptxSource), []string{"hidden=hidden() launch threadIdx.x"},
			`the kernel "hidden" in it is not .visible`},
		{file("k.ptx", ptxSource), []string{"commented() launch threadIdx.x"}, "there is no .visible .entry commented in it"},
		{file("k.ptx", ".version 7.0\n.visible .entry _Z3addPf()"), []string{sig},
			`there is no kernel "add" in it, but _Z3addPf: put extern "C" before it`},
		{file("k.ptx", "nothing"), []string{sig}, "it is no PTX"},
		{file("k.spv", spirv(true, "sub", "main")), []string{sig}, `there is no kernel "add" in it; it has main, sub`},
		{file("k.spv", spirv(false, "add")), []string{sig}, "the kernel add has neither push constants nor a uniform " +
			"buffer, from which scalar arguments come"},
		{file("k.spv", spirv(true, "add")[:30]), []string{sig}, "the code is not SPIR-V: its size is 30 bytes"},
		{file("k.spv", "not that, not that, not that"), []string{sig}, "the code is not SPIR-V: it begins with"},
		{file("k.spv", spirv(true, "add")+"\x01\x00\xff\x00"), []string{sig}, "the SPIR-V is damaged at byte"},
		{file("k.fatbin", ptxSource), []string{sig}, "it is ptx, not a fatbin"},
		{file("k.fatbin", "\x50\xed\x55\xba"), []string{sig},
			"fatbin: the image has 4 bytes, which is less than a fatbin header"},
		{[]string{"../../runtime/cuda/testdata/kernels.fatbin"}, []string{"gone(handle) launch threadIdx.x"},
			`there is no kernel "gone" in it; it has count, few, scale`},
		{file("k.cubin", "\x7fELF"), []string{sig}, "it is no ELF image for a GPU"},
		{file("k.o", "text"), []string{sig}, "it is no ELF object"},
		{o("void sub(void) {}\nstatic void add(void) {}\nvoid* p = (void*)add;\nint data;"), []string{sig},
			`there is no kernel "add" in it; it has sub`},
		{o("void _Z3addPf(void) {}"), []string{sig},
			`there is no kernel "add" in it, but _Z3addPf: put extern "C" before it`},
		{o("int x;"), []string{sig}, "there is no kernel in it"},
		{append(file("a.c", "void add(int a) {}"), file("b.c", "void add(int a) {}")...), []string{sig},
			`b.c have the kernel "add": leave one out`},
		{append(file("a.c", "void sub(int a) {}"), file("b.c", "void add(int a);")...), []string{sig},
			`there is no function "add" in it`},
		{append(file("k.cl", clSource), k), []string{sig, "scale(handle) launch threadIdx.x"}, `function scale: `},
		{append(file("k.cl", clSource), file("l.cl", "kernel void other() {}")...), []string{sig},
			"l.cl: none of the functions is in it"},
		{file("k.cl", clSource), []string{"add(handle, handle, handle, int32)"},
			"k.cl has a kernel for opencl, and the signature does not say how it is launched: add for example"},
		{file("k.cl", clSource), []string{"add(handle, handle, handle, uint64) launch threadIdx.x"},
			"argument 3 is uint64, which kernels for opencl can't be given: use int32"},
		{file("k.cl", clSource), []string{"add(handle, bool) launch threadIdx.x"},
			"argument 1 is bool, which kernels for opencl can't be given"},
		{file("k.spv", spirv(true, "add")), []string{"add(int32, handle) launch threadIdx.x"},
			"argument 1 is a tensor behind one"},
		{file("k.spv", spirv(true, "add")), []string{"add(handle) launch threadIdx.x, shared"},
			"kernels for vulkan have no dynamic shared memory"},
		{append(file("k.cl", clSource), k), []string{"add(int32) launch threadIdx.x"},
			"there is no tensor among its parameters to tell which of its variants is called"},
		{file("k.cl", clSource), []string{sig, "two=add(handle) launch threadIdx.x"},
			"the functions add and two call one kernel add, with different types or launch parameters"},
	} {
		t.Setenv("CC", "/nonexistent/compiler") // which would be reported instead
		path := filepath.Join(t.TempDir(), "k.so")
		err := pack.Library(ctx, kernelsOf(c.inputs, c.signatures...), path)
		require.ErrorContains(t, err, c.failure)
		require.ErrorContains(t, err, "pack "+path+": ")
		var typed *runtime.Error
		require.ErrorAs(t, err, &typed)
		require.True(t, errors.Is(err, runtime.ErrInvalidArgument) || errors.Is(err, runtime.ErrNotFound), "%v", err)
		require.ErrorIs(t, must.Fail(os.Stat(path)), fs.ErrNotExist)
	}
}

func TestLibrary_BadTargets(t *testing.T) {
	for target, failure := range map[string]string{
		"-arch=sm_90":     "it names no kind: write for example cuda -arch=sm_90",
		"{":               "it is no JSON",
		`{"arch": "x"}`:   "it names no kind",
		"opencl":          `the target of testdata/k.c is of kind "opencl": files with the suffix .c are for c or llvm`,
		`{"kind":"cuda"}`: `is of kind "cuda"`,
	} {
		k := kernelsOf([]string{"testdata/k.c"}, addSignature)
		k.Inputs[0].Target = target
		require.ErrorContains(t, must.Fail(pack.Module(k)), failure)
	}
	k := kernelsOf([]string{"testdata/k.c"}, addSignature)
	k.Functions[0].Doc = "a\x00b"
	require.ErrorContains(t, must.Fail(pack.Module(k)), "the documentation of add has a zero byte inside")
}

// The compiler's errors refer to the user's file.
func TestLibrary_CompilerErrors(t *testing.T) {
	for _, c := range []struct{ code, signature, failure string }{
		{"void add(float* a) { a[0] = b; }", "add(float32[1])", "k.c:1:29: error:"},
		{"void sub(float* a) { a[0] = 1; }", "add(float32[1])", "signature of add:1:"},
		{"void add(int* a) { a[0] = 1; }", "add(float32[1])", "signature of add:1:"},
		{"void add(float* a) { a[0] = 1; }", "add(int32)", "signature of add:1:"},
		{"void add(int a) { (void)a; }", "add(handle)", "signature of add:1:"},
		{"void add(float* a, int n) { a[n] = 1; }", "add(float32[1])", "too few arguments"},
	} {
		path := filepath.Join(t.TempDir(), "k.so")
		err := pack.Library(ctx, kernelsOf([]string{write(t, "k.c", c.code)}, c.signature), path)
		require.ErrorContains(t, err, c.failure)
		var failed *export.CompileError
		require.ErrorAs(t, err, &failed)
		require.NoError(t, os.RemoveAll(failed.Dir))
		require.ErrorIs(t, must.Fail(os.Stat(path)), fs.ErrNotExist)
	}
	err := pack.Library(ctx, kernelsOf([]string{"testdata/k.c"}, addSignature), filepath.Join(t.TempDir(), "k.so"),
		export.Compiler("no-such-compiler"))
	require.ErrorContains(t, err, "no-such-compiler")
	require.ErrorIs(t, err, runtime.ErrNotFound)
	err = pack.Library(ctx, kernelsOf([]string{"testdata/k.c"}, addSignature), filepath.Join(t.TempDir(), "k.dll"))
	require.ErrorContains(t, err, `the suffix ".dll" of the path is unknown`)
}

func TestLibrary_OutputIsAnInput(t *testing.T) {
	o := object(t, "void h(float* a) { a[0] = 1; }\n")
	before := readFile(t, o)
	require.NoError(t, os.Symlink(o, filepath.Join(filepath.Dir(o), "link.o")))
	for _, path := range []string{o, filepath.Join(filepath.Dir(o), "link.o")} {
		err := pack.Library(ctx, kernelsOf([]string{o}, "h(handle)"), path)
		require.ErrorContains(t, err, "the output is the input "+o+": give it another name")
	}
	require.Equal(t, before, readFile(t, o))
}
