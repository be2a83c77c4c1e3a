package custom_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

func float32s(shape ...int64) *custom.Array {
	return &custom.Array{DType: dlpack.Float32, Shape: shape}
}

const (
	addSignature = "add(x: const float32[n], y: const float32[n], z: out float32[n], n: int32) " +
		"launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64"
	addCL = "// " + addSignature + `
kernel void add(global const float* x, global const float* y, global float* z, int n) {
  int i = get_global_id(0);
  if (i < n) z[i] = x[i] + y[i];
}
`
	addC = `void add(const float* x, const float* y, float* z, int n) {
  for (int i = 0; i < n; ++i) z[i] = x[i] + y[i];
}
`
)

// Files and options that are wrong are errors that say what to do, before anything runs.
func TestCase_Errors(t *testing.T) {
	dir := t.TempDir()
	add := write(t, "add.cl", addCL)
	llvm := artifacts + "modern/multi_llvm.so"
	x := float32s(8)
	sized := map[string]int64{"n": 8}
	for _, c := range []struct {
		files []string
		o     custom.Options
		want  string
	}{
		{nil, custom.Options{}, "no file is given: files are .so, .tir, .json, .cl, .cu"},
		{[]string{"nowhere.cl"}, custom.Options{}, "nowhere.cl: no such file: check the path"},
		{[]string{dir}, custom.Options{}, "is a directory: give the file in it"},
		{[]string{write(t, "a.so", "")}, custom.Options{}, "a.so is empty"},
		{[]string{write(t, "a.so", "no library")}, custom.Options{}, "a.so"},
		{[]string{write(t, "a.comp", "x")}, custom.Options{}, "glslangValidator"},
		{[]string{write(t, "a.metal", "x")}, custom.Options{}, "Metal has no device"},
		{[]string{write(t, "a.py", "x")}, custom.Options{}, `the suffix ".py" is unknown: files are .so, .tir`},
		{[]string{add, add}, custom.Options{}, "is given twice"},
		{[]string{add, write(t, "b.cl", addCL)}, custom.Options{Sizes: sized}, "have code for opencl: make a case of each"},

		{[]string{llvm}, custom.Options{}, "which function? It has addone, matmul, softmax, vadd, wsfunc"},
		{[]string{llvm}, custom.Options{Function: "vad"}, `there is no function vad in it; did you mean "vadd"?`},
		{[]string{llvm}, custom.Options{Function: "something"}, "it has addone, matmul"},
		{[]string{llvm}, custom.Options{Function: "vadd"}, "argument 0 (A) of vadd"},
		{[]string{llvm}, custom.Options{Function: "vadd", In: []any{x, x, x, x}}, "takes 3 arguments, and 4 are given"},
		{[]string{llvm}, custom.Options{Function: "vadd", In: []any{x, float32s(9)}, Out: []*custom.Array{x}},
			"argument 1 (B) of vadd(A: float32[n], B: float32[n], C: float32[n]): " +
				"got float32[9], expected float32[n] with n = 8 of argument 0 (A)"},
		{[]string{llvm}, custom.Options{Function: "vadd", In: []any{x, int64(3), x}}, "got i:3, expected float32[n]"},
		{[]string{llvm}, custom.Options{Function: "vadd",
			In: []any{x, &custom.Array{DType: dlpack.Float64, Shape: []int64{8}}, x}}, "got float64[8], expected float32[n]"},
		{[]string{llvm}, custom.Options{Function: "matmul", In: []any{float32s(64, 64), float32s(64), float32s(64, 64)}},
			"argument 1 (B) of matmul(A: float32[64, 64], B: float32[64, 64], C: float32[64, 64]): " +
				"got float32[64], expected float32[64, 64]"},
		{[]string{llvm}, custom.Options{Function: "vadd", Sizes: map[string]int64{"m": 1}}, `has no size "m"`},
		{[]string{llvm}, custom.Options{Function: "vadd", Sizes: map[string]int64{"n": -1}}, "size n=-1"},
		{[]string{llvm}, custom.Options{Function: "vadd", Sizes: map[string]int64{"n": 1 << 62}}, "argument 0 (A)"},
		{[]string{llvm}, custom.Options{Function: "vadd", Signature: addSignature}, "only files with kernels"},
		{[]string{llvm}, custom.Options{Function: "vadd", Target: "c"}, "only a program (.tir)"},
		{[]string{llvm}, custom.Options{Function: "vadd", In: []any{custom.Output(0), x, x}}, "there are 0"},
		{[]string{llvm}, custom.Options{Function: "vadd", In: []any{x, x, struct{}{}}}, "argument 2 is a struct {}"},
		{[]string{llvm}, custom.Options{Function: "vadd", Sizes: sized, Expect: []*custom.Array{
			{DType: dlpack.Float32, Shape: []int64{7}, Data: make([]byte, 28)}}},
			"the expected array 0 is float32[7], and argument 2 (C) is float32[8]"},
		{[]string{llvm}, custom.Options{Function: "vadd", Sizes: sized, Ops: -1}, "-1 operations"},
		{[]string{llvm}, custom.Options{Function: "vadd", Sizes: sized, Figure: "speed"}, `the figure "speed" is unknown`},
		{[]string{llvm}, custom.Options{Function: "vadd", Sizes: sized, Figure: bench.Flops},
			"the figure flops: it needs the number of operations of a call"},

		{[]string{write(t, "k.cl", "kernel void add() {}")}, custom.Options{}, "how is the kernel called? Give a signature"},
		{[]string{write(t, "k.cl", "// add(x: flaot32[n]) launch blockIdx.x=n\nkernel void add() {}")},
			custom.Options{},
			"k.cl: "},
		{[]string{write(t, "k.cl", "// add(float32[8]) launch blockIdx.x=8\nkernel void sub() {}")}, custom.Options{},
			`k.cl: there is no kernel "add" in it`},
		{[]string{write(t, "k.cl", "// add(float32[8])\nkernel void add() {}")}, custom.Options{},
			"does not say how it is launched"},
		{[]string{write(t, "k.spv", "no shader at all")}, custom.Options{Signature: addSignature}, "k.spv"},
		{[]string{add}, custom.Options{Function: "sub"}, "there is no function sub: the signature is that of add"},
		{[]string{add}, custom.Options{}, "argument 0 (x) of add(x: const float32[n], y: const float32[n], " +
			"z: out float32[n], n: int32) has no value: the size n is not known: give it, as in n=1024, or the arrays"},
		{[]string{add}, custom.Options{In: []any{x, x, x, 0.5}}, "argument 3 (n) of add"},
		{[]string{add}, custom.Options{In: []any{x, x, x, int64(1 << 40)}}, "whose range does not have it"},
		{[]string{add}, custom.Options{In: []any{x, x, x, int64(7)}},
			"got float32[8], expected float32[n] with n = 7 of argument 3 (n)"},
		{[]string{add}, custom.Options{In: []any{x, x, x, "text"}}, "got s:text, expected int32"},
		{[]string{add}, custom.Options{Grid: [3]int{1}, Signature: addSignature}, "leave one out"},
		{[]string{add}, custom.Options{Grid: [3]int{1}}, "which kernel is launched?"},
		{[]string{add}, custom.Options{Grid: [3]int{-1}}, "a grid of -1"},
		{[]string{add}, custom.Options{Function: "add", Grid: [3]int{1}, In: []any{"text"}}, "kernels cannot be given"},

		{[]string{write(t, "p.tir", "nonsense")}, custom.Options{}, "p.tir:1:1: "},
		{[]string{write(t, "p.json", "{}")}, custom.Options{}, "p.json"},
	} {
		_, err := custom.Case(c.files, c.o)
		require.ErrorContains(t, err, c.want)
	}
}

func TestParse_Errors(t *testing.T) {
	for text, want := range map[string]string{
		"flaot32[8]": `did you mean "float32"?`, "i:x": "is not an integer", "nowhere.npy": "no such file",
		"float32[-1]": "is not a dimension", "o:0": "write o:1",
	} {
		require.ErrorContains(t, must.Fail(custom.ParseArgument(text)), want)
	}
	require.ErrorContains(t, must.Fail(custom.ParseArray("float32")), "write a type and a shape")
}
