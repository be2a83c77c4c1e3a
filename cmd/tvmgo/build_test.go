//go:build cgo

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/explain"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

const addProgram = `# c = a + b
func add(a_handle: handle, b_handle: handle, c_handle: handle) {
  var n: int32
  buffer a: float32[n], param a_handle
  buffer b: float32[n], param b_handle
  buffer c: float32[n], param c_handle
  parallel i in range(n) {
    c[i] = a[i] + b[i]
  }
}
`

// TestBuild goes from text to a library that runs.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	program, library := filepath.Join(dir, "add.tir"), filepath.Join(dir, "add.so")
	require.NoError(t, os.WriteFile(program, []byte(addProgram), 0o600))
	status, stdout, stderr := builtWith(t, dir, nil, "build", "add.tir", "-o", "add.so", "--target",
		"c -march="+machine.Oldest(), "--flag", "-O3")
	require.Zero(t, status, stderr)
	require.Equal(t, "wrote add.so\n", stdout)

	array := func(values ...float32) string {
		var data bytes.Buffer
		require.NoError(t, binary.Write(&data, binary.LittleEndian, values))
		return npyFile(t, []int64{3}, data.Bytes())
	}
	a, b := array(1, 2, 3), array(10, 20, 30)
	status, _, stderr = builtWith(t, dir, nil, "run", library, "add", "--in", a, "--in", b, "--out", "c.npy", "--like",
		"float32[3]")
	require.Zero(t, status, stderr)
	require.Equal(t, []float32{11, 22, 33}, floats(t, filepath.Join(dir, "c.npy")))
}

func TestBuild_Emit(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "add.tir"), []byte(addProgram), 0o600))
	status, code, stderr := builtWith(t, dir, nil, "build", "add.tir", "--emit", "c")
	require.Zero(t, status, stderr)
	require.Contains(t, code, "__tvm_ffi_add(")
	status, text, stderr := builtWith(t, dir, nil, "build", "add.tir", "--emit", "tir", "-o", "same.tir")
	require.Zero(t, status, stderr)
	require.Empty(t, text)
	status, again, stderr := builtWith(t, dir, nil, "build", "same.tir", "--emit", "tir")
	require.Zero(t, status, stderr)
	require.Equal(t, string(must.Get(os.ReadFile(filepath.Join(dir, "same.tir")))(t)), again)
	require.Contains(t, again, "parallel i in range(n)")
}

// --emit finds texts of the modules that the result imports.
func TestBuild_EmitsKernels(t *testing.T) {
	dir := t.TempDir()
	program := `func k(a: handle) {
  buffer A: float32[64], param a
  thread bx in range(2), thread "blockIdx.x" {
    thread tx in range(32), thread "threadIdx.x" {
      A[bx * 32 + tx] = 1.0
    }
  }
}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.tir"), []byte(program), 0o600))
	status, text, stderr := builtWith(t, dir, nil, "build", "k.tir", "--target", "opencl", "--emit", "cl")
	require.Zero(t, status, stderr)
	require.Contains(t, text, "void k_kernel(__global float*")
	status, _, stderr = builtWith(t, dir, nil, "build", "k.tir", "--target", "opencl", "--emit", "spvasm")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "kind opencl has no such text: kind vulkan has (--target vulkan)")
}

const copyKernel = `func f(a: handle, b: handle, n: int32) {
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  thread bx in range(floordiv(n, 256)), thread "blockIdx.x" {
    thread tx in range(256), thread "threadIdx.x" {
      B[bx * 256 + tx] = A[bx * 256 + tx]
    }
  }
}
`

func TestBuild_Explain(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.tir"), []byte(copyKernel), 0o600))
	const cuda, opencl = "cuda -arch=sm_80", `{"kind": "opencl", "thread_warp_size": 32}`
	run := func(args ...string) (int, string, string) {
		return builtWith(t, dir, nil, append([]string{"build", "k.tir"}, args...)...)
	}
	status, table, stderr := run("--target", cuda, "--explain", "--sizes", "n=65536")
	require.Zero(t, status, stderr)
	require.Regexp(t, `launch +grid 256 x 1 x 1, block 256 x 1 x 1: 256 threads, 8 warps`, table)
	require.Regexp(t, `occupancy +100 %: 8 blocks, 64 of 64 warps of a multiprocessor; limited by warps`, table)
	require.Regexp(t, `global load +4 bytes +4 sectors of 4 +A\[bx \* 256 \+ tx\]`, table)

	status, text, stderr := run("--target", cuda, "--explain=json", "--sizes", "n=65536")
	require.Zero(t, status, stderr)
	var report explain.Report
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, 262144.0, report.Kernels[0].Work.BytesRead)
	require.Equal(t, 4.0, report.Kernels[0].Accesses[0].Sectors.Average)

	status, text, stderr = run("--target", cuda, "--target", opencl, "--target", "c", "--explain=json")
	require.Zero(t, status, stderr)
	var reports []explain.Report
	require.NoError(t, json.Unmarshal([]byte(text), &reports))
	require.Len(t, reports, 2)

	status, text, stderr = run("--target", opencl, "--explain", "-o", "k.so") // both are made
	require.Zero(t, status, stderr)
	require.Contains(t, text, "kernel f_kernel")
	require.NotContains(t, text, "wrote")
	require.FileExists(t, filepath.Join(dir, "k.so"))

	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--target", cuda, "--explain=x"}, 2, "--explain=x: want one of table, json"},
		{[]string{"--target", cuda, "--sizes", "n=1", "-o", "k.so"}, 2, "--sizes is for --explain: give both"},
		{[]string{"--target", cuda, "--explain", "--sizes", "n"}, 2, "--sizes n: want names with integers, as in n=1024"},
		{[]string{"--target", cuda, "--explain", "--sizes", "n=-1"}, 2, "n is negative"},
		{[]string{"--target", cuda, "--explain", "--sizes", "n=1,n=2"}, 2, "n occurs twice"},
		{[]string{"--target", cuda, "--explain", "--sizes", "m=1"}, 1,
			"explain: size m=1: the kernels have no size of this name, but n"},
		{[]string{"--target", "llvm", "--explain"}, 1, `code for kind "llvm" runs on the CPU and has no kernels`},
		{[]string{"--target", "llvm", "--target", "c", "--explain"}, 1, "--explain: all targets are CPUs"},
	} {
		status, _, stderr := run(c.args...)
		require.Equal(t, c.status, status, "%v %s", c.args, stderr)
		require.Contains(t, stderr, c.want)
	}
}

func TestBuild_BadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("add.tir", addProgram)
	write("typo.tir", "func f(a: handle) {\n  bufer A: float32[4], param a\n}\n")
	write("loose.tir", "func f(a: handle) {\n  buffer A: float32[4], param a\n  A[4] = 1.0\n}\n")
	write("empty.tir", "# nothing\n")
	write("second.tir", addProgram+"\n# another\nfunc f(a: handle) {\n  buffer A: float32[4], param a\n  A[4] = 1.0\n}\n")
	write("broken.json", "{\n  \"tir\": 1;\n}\n")
	write("version.json", "{\n  \"tir\": 2,\n  \"vars\": []\n}\n")
	write("twice.json", "{"+strings.Repeat("\"a\":1,", 2_000_000)+"\"a\":1}")
	var wide strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&wide, ",\"k%d\":1", i)
	}
	write("wide.json", "{"+wide.String()[1:]+"}")
	write("early.json", "{\"tir\": 1,")
	write("lacking.json", "{\"tir\": 1}\n")
	for _, row := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"typo.tir", "-o", "x.so"}, 1, "tvmgo: typo.tir:2:3: "},
		{[]string{"loose.tir", "-o", "x.so"}, 1, "tvmgo: loose.tir:1:1: tir: "},
		{[]string{"second.tir", "-o", "x.so"}, 1, "tvmgo: second.tir:13:1: tir: "},
		{[]string{"broken.json", "-o", "x.so"}, 1, "tvmgo: broken.json:2:11: "},
		{[]string{"version.json", "-o", "x.so"}, 1, "tvmgo: version.json:2:10: tir: read JSON: $.tir: found number 2"},
		{[]string{"twice.json", "-o", "x.so"}, 1, "tvmgo: twice.json:1:8: tir: read JSON: $.a: the field occurs twice"},
		{[]string{"wide.json", "-o", "x.so"}, 1,
			"tvmgo: wide.json:1:1: tir: read JSON: $: field \"tir\" is missing"},
		{[]string{"early.json", "-o", "x.so"}, 1, "tvmgo: early.json:1:11: tir: read JSON: $: the text ends early"},
		{[]string{"lacking.json", "-o", "x.so"}, 1, "tvmgo: lacking.json:1:1: tir: read JSON: $: field \"vars\" is missing"},
		{[]string{"empty.tir", "-o", "x.so"}, 1, "it has no functions"},
		{[]string{"absent.tir", "-o", "x.so"}, 1, "absent.tir"},
		{[]string{"add.tir", "-o", "x.so", "--target", "d"}, 2, "--target: target: $: there is no target kind"},
		{[]string{"add.tir", "-o", "x.so", "--target", "nvidia/h100"}, 1, "cuda"},
		{[]string{"add.tir", "-o", "x.so", "--compiler", "no-such-cc"}, 1, "no-such-cc"},
		{[]string{"add.tir", "-o", "none/x.so"}, 1, "none"},
		{[]string{"add.tir", "--emit", "c", "-o", "none/x.c"}, 1, "write none/x.c: there is no such folder: create it"},
		{[]string{"add.tir", "--emit", "c", "-o", "."}, 1, "write .: it is a directory"},
		{[]string{"add.tir", "--emit", "spvasm"}, 1,
			"the code for kind c has no such text: kind vulkan has (--target vulkan)"},
		{[]string{"add.tir", "--emit", "ll"}, 1,
			"--emit ll: the code for kind c has no such text: kind llvm has (--target llvm)"},
		{[]string{"add.tir", "-o", "x.so", "--target", "llvm -mcpu=haswel -mtriple=x86_64-linux-gnu"}, 1,
			"target option mcpu \"haswel\""},
		{[]string{"add.tir", "-o", "x.so", "--target", "llvm -mattr=+nosuch"}, 1, "target option mattr \"+nosuch\""},
		{[]string{"add.tir", "-o", "x.so", "--target", "c -march=x86-64-v9"}, 1, "x86-64-v9"},
		{[]string{"add.tir", "-o", "x.txt"}, 2, "-o x.txt: want a name that ends in .so, .a, .tar or .o; --emit writes text"},
		{[]string{"add.tir"}, 2, "usage: tvmgo build"},
		{[]string{"add.tir", "--emit", "asm"}, 2, "want one of tir, c, ll, s, cl, cu, ptx, spvasm"},
		{nil, 2, "usage: tvmgo build"},
	} {
		status, stdout, stderr := builtWith(t, dir, nil, append([]string{"build"}, row.args...)...)
		require.Equal(t, row.status, status, "%v: %s%s", row.args, stdout, stderr)
		require.Contains(t, stderr, row.want, "%v", row.args)
		require.NoFileExists(t, filepath.Join(dir, "x.so"))
	}
}

// TestBuild_Bounds: an index that is certainly out of bounds is an error, one that may be is a warning, and
// bounds-check checks it at run time.
func TestBuild_Bounds(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("outside.tir", "func f(A: handle) {\n  buffer A: float32[4], param A\n  for i in range(10) { A[i] = 1.0 }\n}\n")
	write("perhaps.tir", "func f(A: handle, n: int32) {\n  buffer A: float32[4], param A\n  for i in range(n) { A[i] = "+
		"1.0 }\n}\n")
	status, _, stderr := builtWith(t, dir, nil, "build", "outside.tir", "-o", "f.so")
	require.Equal(t, 1, status)
	require.Contains(t, stderr,
		"outside.tir:1:1: tir: check f.body.for(i).body.indices[0]: index i is outside of dimension 0 of buffer A: it is 9 "+
			"where i = 9")
	require.NoFileExists(t, filepath.Join(dir, "f.so"))

	const warning = "warning: f.body.for(i).body.indices[0]: this write of buffer A may be out of bounds: index i is " +
		"not proved to be within dimension 0, which has 4\n"
	status, _, stderr = builtWith(t, dir, nil, "build", "perhaps.tir", "-o", "f.so", "-v")
	require.Zero(t, status, stderr)
	require.Contains(t, stderr, warning)
	status, code, stderr := builtWith(t, dir, nil, "build", "perhaps.tir", "--emit", "c")
	require.Zero(t, status, stderr)
	require.NotContains(t, stderr, "warning")
	require.NotContains(t, code, "IndexError")
	for _, target := range []string{"c", "llvm", `{"kind": "composite", "devices": ["c"]}`} {
		status, _, stderr = builtWith(t, dir, nil, "build", "perhaps.tir", "-o", "f.so", "--check-bounds", "--target", target)
		require.Zero(t, status, stderr)
		status, _, stderr = builtWith(t, dir, nil, "run", "f.so", "f", "--in", "o:1", "--in", "i:5", "--out", "a.npy",
			"--like", "float32[4]")
		require.Equal(t, 1, status)
		require.Contains(t, stderr, "f: index 4 is outside of dimension 0 of buffer A, which has 4", target)
	}
	status, _, stderr = builtWith(t, dir, nil, "build", "perhaps.tir", "-o", "f.so", "--check-bounds", "--target",
		"metal")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, "bounds-check")
}
