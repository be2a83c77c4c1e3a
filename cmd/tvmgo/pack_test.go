//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const (
	vaddSource = "#include <stdint.h>\nvoid vadd(const float* a, const float* b, float* c, int32_t n) {\n" +
		"  for (int32_t i = 0; i < n; i++) c[i] = a[i] + b[i];\n}\nvoid neg(float* a) { a[0] = -a[0]; }\n"
	vaddSignature = "vadd(a: const float32[n], b: const float32[n], c: out float32[n], n: int32)"
	negSignature  = "neg(inout float32[1])"
)

// kernelFile makes k.c in a new folder, and in it three arrays.
func kernelFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.c"), []byte(vaddSource), 0o666))
	for name, data := range map[string][]byte{"one.npy": {0, 0, 128, 63}, "minus.npy": {0, 0, 128, 191},
		"two.npy": {0, 0, 0, 64}} {
		like := must.Get(arguments.ParseLike("float32[1]"))(t)
		like.Data = data
		f := must.Get(os.Create(filepath.Join(dir, name)))(t)
		require.NoError(t, write(f, like))
		require.NoError(t, f.Close())
	}
	return dir
}

func vaddTest(out string) string {
	in := filepath.Join(artifacts, "vadd_in")
	return in + "0.npy," + in + "1.npy,i:1001=" + filepath.Join(artifacts, out)
}

func TestPack_AndVerify(t *testing.T) {
	dir := kernelFile(t)
	out := filepath.Join(dir, "k.so")
	at := func(name string) string { return filepath.Join(dir, name) }
	status, stdout, stderr := cli("pack", at("k.c"), "--func", vaddSignature, "--func", negSignature, "--target",
		"llvm -mcpu=native", "--doc", "vadd:adds: two vectors",
		"--test", "vadd:"+vaddTest("vadd_out.npy"), "--test", "neg:"+at("one.npy")+"="+at("minus.npy"), "-o", out)
	require.Zero(t, status, stderr)
	require.Equal(t, "wrote "+out+"\n", stdout)

	status, stdout, stderr = cli("verify", out)
	require.Zero(t, status, stderr)
	require.Equal(t, "vadd, test vector 0 on cpu:0: as expected\nneg, test vector 0 on cpu:0: as expected\n", stdout)
	status, stdout, _ = built(t, dir, "verify", "k.so")
	require.Zero(t, status)
	require.Contains(t, stdout, "as expected")

	status, stdout, stderr = cli("inspect", "--load", out)
	require.Zero(t, status, stderr)
	for _, want := range []string{"vadd(Tensor, Tensor, Tensor, int) -> None", "adds: two vectors", `"llvm -mcpu=native"`,
		`builder: "tvmgo `} {
		require.Contains(t, stdout, want)
	}
	m := must.Open(runtime.Load(t.Context(), out))(t)
	meta := must.Get(m.Metadata("vadd"))(t)
	var values pack.Metadata
	require.NoError(t, json.Unmarshal([]byte(meta.Text), &values))
	require.Equal(t, "tvmgo "+readVersion().Version, values.Builder)
	require.Equal(t, vaddSignature, values.Signature)
}

func TestVerify_SaysWhatDiffers(t *testing.T) {
	dir := kernelFile(t)
	out := filepath.Join(dir, "k.so")
	at := func(name string) string { return filepath.Join(dir, name) }
	status, _, stderr := cli("pack", at("k.c"), "--func", vaddSignature, "--func", negSignature, "-o", out,
		"--test", "vadd:"+vaddTest("vadd_in0.npy"), "--test", "neg:"+at("one.npy")+"="+at("minus.npy"), "--test",
		"neg:"+at("one.npy")+"="+at("two.npy"))
	require.Zero(t, status, stderr)
	status, stdout, stderr := cli("verify", out)
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: verify "+out+": 2 of 3 test vectors failed\n", stderr)
	require.True(t, strings.HasSuffix(stdout, `neg, test vector 0 on cpu:0: as expected
neg, test vector 1 on cpu:0: differs
  argument 0, float32: 1 of 1 elements differ
    first at [0]: got -1, want 2
    largest difference 3, relative 1.5
`), stdout)
	require.Contains(t, stdout, "  argument 2 (c), float32: 1001 of 1001 elements differ\n    first at [0]: got ")

	status, _, _ = cli("verify", out, "--rtol", "0", "--atol", "10")
	require.Zero(t, status)
	status, stdout, _ = cli("verify", out, "--json")
	require.Equal(t, 1, status)
	var report pack.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, out, report.File)
	require.Equal(t, []int64{0}, report.Vectors[2].Differences[0].First)
	require.EqualValues(t, 3, report.Vectors[2].Differences[0].MaxAbs)
}

func TestVerify_CannotSay(t *testing.T) {
	machine.Need(t, multiC)
	text := filepath.Join(t.TempDir(), "text.so")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o666))
	for _, c := range []struct {
		args    []string
		failure string
		status  int
	}{
		{[]string{artifacts + "/modern/multi_c.so"}, "it carries no test vectors: tvmgo pack --test puts them into a file",
			1},
		{[]string{artifacts + "/classic/multi_llvm.so"}, "it carries no test vectors", 1},
		{[]string{"missing.so"}, "missing.so", 1},
		{[]string{"./missing.so"}, "verify ./missing.so: no such file: check the path", 1},
		{[]string{"missing"}, "verify missing: no such file: check the path", 1},
		{[]string{text}, "text.so", 1},
		{[]string{artifacts + "/modern/multi_c.so", "--device", "cuda"}, "--device cuda", 1},
		{[]string{artifacts + "/modern/multi_c.so", "--device", "what"}, "--device what", 2},
		{[]string{artifacts + "/modern/multi_c.so", "--rtol", "-1"}, "--rtol -1: give a number from 0", 2},
		{[]string{text, "--timeout", "0s"}, "--timeout 0s: give a time above zero", 2},
		{[]string{}, "verify: 0 arguments instead of 1", 2},
	} {
		status, stdout, stderr := cli(append([]string{"verify"}, c.args...)...)
		require.Equal(t, c.status, status, c.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.failure)
	}
}

func TestPack_BadInput(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := kernelFile(t)
	k, out := filepath.Join(dir, "k.c"), filepath.Join(dir, "k.so")
	notNumPy := filepath.Join(dir, "text.npy")
	require.NoError(t, os.WriteFile(notNumPy, []byte("text"), 0o666))
	one, both := []string{k, "-o", out, "--func", vaddSignature}, []string{k, "-o", out, "--func", vaddSignature, "--func",
		negSignature}
	with := func(args []string, more ...string) []string { return append(append([]string(nil), args...), more...) }
	for _, c := range []struct {
		args    []string
		failure string
		status  int
	}{
		{nil, "pack: name at least one file with kernels", 2},
		{[]string{k}, "pack: say with -o which file to write", 2},
		{[]string{k, "-o", out}, "give the signature of a function", 2},
		{[]string{k, "-o", out, "--func", "vadd(handle"}, "--func: signature, column 12: expected", 2},
		{[]string{k, "-o", k, "--func", vaddSignature}, "k.c: want a name that ends in .so", 2},
		{[]string{k, "-o", dir + "/k.dll", "--func", vaddSignature}, "k.dll: want a name that ends in .so, .a, .tar or .o",
			2},
		{[]string{dir + "/x.c", "-o", out, "--func", vaddSignature}, "x.c: no such file", 1},
		{with(one, "--target", "cuda"), "is of kind", 1},
		{with(one, "--target", "c", "--target", "llvm"), "already has a target", 2},
		{with(both, "--doc", "text"), `--doc text: put one of these names and ":" before it: vadd, neg`,
			2},
		{with(one, "--doc", "a", "--doc", "b"), "vadd already has documentation", 2},
		{with(one, "--test", "x.npy"), "write inputs, =, and outputs, for example in0.npy,in1.npy=out.npy", 2},
		{with(one, "--test", "x.npy=y.npy"), "read x.npy: no such file", 1},
		{with(one, "--test", notNumPy+"=y.npy"), "not a .npy file", 1},
		{with(one, "--test", "s:text=y.npy"), "s:text: kernels take no strings", 2},
		{with(one, "--test", "o:1=y.npy"), "o:1: outputs stand behind the =", 2},
		{with(one, "--flag=-nothing-that-a-compiler-takes"), "the option KeepFiles (--keep of tvmgo build and", 1},
		{with(one, "--test", "i:1="+filepath.Join(dir, "one.npy")),
			"test vector 0 of vadd: argument 0 (a): it is no tensor, expected float32[n]", 1},
		{with(one, "--compiler", "no-such-compiler"), "no-such-compiler", 1},
		{with(one, "--lib", "no-such-library"), "no-such-library", 1},
	} {
		status, stdout, stderr := cli(append([]string{"pack"}, c.args...)...)
		require.Equal(t, c.status, status, c.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.failure)
		require.Error(t, must.Fail(os.Stat(out)))
		require.Empty(t, must.Get(os.ReadDir(os.TempDir()))(t), "%v", c.args)
	}
}

func TestPack_Options(t *testing.T) {
	dir := kernelFile(t)
	k := filepath.Join(dir, "k.c")
	require.NoError(t, os.WriteFile(k, []byte("#include <math.h>\nvoid f(double* a) { a[0] = pow(a[0], FACTOR); }\n"),
		0o666))
	out, keep := filepath.Join(dir, "k.so"), filepath.Join(dir, "kept")
	status, _, stderr := cli("pack", k, "--func", "f(float64[1])", "--flag=-DFACTOR=2", "--lib", "m", "--keep", keep,
		"--no-load", "--compiler", "gcc", "-o", out)
	require.Zero(t, status, stderr)
	require.FileExists(t, filepath.Join(keep, "lib0.c"))
	status, _, stderr = cli("pack", k, "--func", "f(float64[1])", "--flag=-DFACTOR=2", "-o", filepath.Join(dir, "k.tar"))
	require.Zero(t, status, stderr)
	status, _, stderr = cli("pack", k, "--func", "f(float64[1])", "--flag=-DFACTOR=2", "-o", filepath.Join(dir, "k.a"))
	require.Zero(t, status, stderr)
}
