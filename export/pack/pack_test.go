package pack_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const scaleSignature = "scale(a: float32[rows, 4], out: float32[rows, 4], rows: int64, alpha: float64, shift: float32)"

func TestLibrary_CPU(t *testing.T) {
	m := modules.Load(t, packed(t, kernelsOf([]string{"testdata/k.c", "testdata/index.c"}, addSignature, scaleSignature,
		"twice=index(int64[1], int64[1])")))
	require.ElementsMatch(t, []string{"add", "scale", "twice"}, m.Functions())

	a, b, c := modules.Tensor(t, []float32{1, 2, 3}), modules.Tensor(t, []float32{10, 20, 30}),
		modules.Tensor(t, make([]float32, 3))
	must.Get(function(t, m, "add").Call(a, b, c, 3))(t)
	require.Equal(t, []float32{11, 22, 33}, modules.Slice[float32](t, c))

	in, out := modules.Tensor(t, []float32{1, 2, 3, 4}, 1, 4), modules.Tensor(t, make([]float32, 4), 1, 4)
	_, err := function(t, m, "scale").Call(in, out, 1, 2.0, 1) // an integer is accepted for shift
	require.NoError(t, err)
	require.Equal(t, []float32{3, 5, 7, 9}, modules.Slice[float32](t, out))

	x, y := modules.Tensor(t, []int64{21}), modules.Tensor(t, []int64{0})
	must.Get(function(t, m, "twice").Call(x, y))(t)
	require.Equal(t, []int64{42}, modules.Slice[int64](t, y), "not index of the C library")
}

// object compiles C to an object file.
func object(t *testing.T, code string) string {
	t.Helper()
	source := write(t, "k.c", code)
	path := strings.TrimSuffix(source, ".c") + ".o"
	out, err := exec.Command("gcc", "-c", "-fPIC", source, "-o", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func TestLibrary_ObjectsAndSeveralSources(t *testing.T) {
	one := write(t, "one.c", "#include \"factor.h\"\nstatic float helper(float x) { return x * FACTOR; }\nvoid f(float* "+
		"a) { a[0] = helper(a[0]); }\n/* void g(float* a) {} */\n")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(one), "factor.h"), []byte("#define FACTOR 3\n"), 0o666))
	two := write(t, "two.c", "static float helper(float x) { return x + 1; }\nvoid g(float* a) { a[0] = helper(a[0]); "+
		"}\nint f2(void) { return 0; }\n")
	o := object(t, "float own(float x) { return -x; }\nvoid h(float* a) { a[0] = own(a[0]); }\n__attribute__((weak)) "+
		"void i(float* a) { a[0] = 9; }\n")
	m := modules.Load(t, packed(t, kernelsOf([]string{one, o, two}, "f(float32[1])", "g(float32[1])", "h(float32[1])",
		"i(float32[1])", "again=h(handle)")))
	for name, want := range map[string]float32{"f": 6, "g": 3, "h": -2, "i": 9, "again": -2} {
		x := modules.Tensor(t, []float32{2})
		must.Get(function(t, m, name).Call(x))(t)
		require.Equal(t, []float32{want}, modules.Slice[float32](t, x), name)
	}
}

func TestLibrary_SameBytes(t *testing.T) {
	o := object(t, "void h(float* a) { a[0] = 1; }\n")
	var first []byte
	for i := range 2 {
		k := kernelsOf(append(variants(t), write(t, "helper.c", "void unused(void) {}\n")), addSignature)
		k.Inputs[0] = pack.Input{Path: write(t, "k.c", readFile(t, "testdata/k.c"))} // in another folder
		k.Functions[0].Vectors = addVectors()
		got := readFile(t, packed(t, k))
		if i == 0 {
			first = []byte(got)
		}
		require.True(t, bytes.Equal(first, []byte(got)))
	}
	a, b := packed(t, kernelsOf([]string{o}, "h(handle)")), packed(t, kernelsOf([]string{o}, "h(handle)"))
	require.Equal(t, readFile(t, a), readFile(t, b))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}

func TestLibrary_Metadata(t *testing.T) {
	k := kernelsOf(variants(t), "add(a: const float32[n, _, 3], handle, c: inout float16[n], n: int32, float64) launch "+
		"blockIdx.x, threadIdx.x=n+1")
	k.Inputs = k.Inputs[2:3]
	k.Inputs[0].Target = `{"kind": "cuda", "arch": "sm_90"}`
	k.Builder = "builder 1.2"
	k.Functions[0].Doc = "What??! is \"added\"\n\tü\\0"
	m := modules.Load(t, packed(t, k))
	doc := must.Get(m.Doc("add"))(t)
	require.Equal(t, k.Functions[0].Doc, doc)
	meta := must.Get(m.Metadata("add"))(t)
	require.Equal(t, "add(Tensor, Tensor, Tensor, int, float, int) -> None", meta.Schema.Signature("add"))
	var got pack.Metadata
	require.NoError(t, json.Unmarshal([]byte(meta.Text), &got))
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, got.ContentHash)
	hash := got.ContentHash
	got.TypeSchema, got.ContentHash = "", ""
	require.Equal(t, pack.Metadata{
		Signature: "add(a: const float32[n, _, 3], handle, c: inout float16[n], n: int32, float64) launch blockIdx.x, " +
			"threadIdx.x=n+1",
		Args: []pack.ArgMetadata{
			{Name: "a", Kind: "tensor", DType: "float32", Shape: []any{"n", "_", 3.0}, Access: "const"}, {Kind: "tensor"},
			{Name: "c", Kind: "tensor", DType: "float16", Shape: []any{"n"}, Access: "inout"},
			{Name: "n", Kind: "scalar", DType: "int32"}, {Kind: "scalar", DType: "float64"},
			{Name: "blockIdx.x", Kind: "launch", DType: "int64"}},
		Launch: []pack.LaunchParam{{Tag: "blockIdx.x"}, {Tag: "threadIdx.x", Expr: "n+1"}},
		Targets: []pack.TargetOfFile{{Device: "cuda", Format: "ptx",
			Target: json.RawMessage(`{"kind":"cuda","arch":"sm_90"}`)}},
		Builder: "builder 1.2",
	}, got)

	// the hash covers the signature and the kernels
	hashes := map[string]bool{hash: true}
	for _, change := range []func(){
		func() { k.Functions[0].Signature += ", threadIdx.y=1" },
		func() { k.Inputs[0].Target = "cuda" },
		func() { k.Inputs[0].Path = write(t, "k.ptx", ptxSource+"\n") },
	} {
		change()
		meta := must.Get(modules.Load(t, packed(t, k)).Metadata("add"))(t)
		require.NoError(t, json.Unmarshal([]byte(meta.Text), &got))
		require.False(t, hashes[got.ContentHash])
		hashes[got.ContentHash] = true
	}
	require.Error(t, must.Fail(m.Doc("missing")))
}

// An image for a GPU has a section of code for each kernel.
func TestModule_Cubin(t *testing.T) {
	image := []byte(readFile(t, object(t, "__attribute__((section(\".text.add\"))) void code(void) {}\n")))
	image[18], image[19] = 190, 0 // the machine
	k := kernelsOf([]string{write(t, "k.cubin", string(image))}, addSignature)
	m := must.Get(pack.Module(k))(t)
	defer m.Close()
	deps := must.Get(m.Imports())(t)
	defer deps[0].Close()
	require.Equal(t, "cuda", deps[0].Kind())
	require.Equal(t, []string{"add"}, deps[0].Functions())
	k.Functions[0].Signature = "sub(handle) launch threadIdx.x"
	require.ErrorContains(t, must.Fail(pack.Module(k)), `there is no kernel "sub" in it; it has add`)
}

func TestNothingLeaks(t *testing.T) {
	a := modules.Tensor(t, []float32{1, 2, 3})
	k := kernelsOf([]string{"testdata/k.c"}, addSignature)
	k.Functions[0].Vectors = addVectors()
	path := packed(t, k)
	before := runtime.Live()
	for range 3 {
		m := must.Get(runtime.Load(ctx, path))(t)
		f := must.Get(m.Function("add"))(t)
		for _, args := range [][]any{{}, {a, a, a, 3}, {a, a, a, 4}, {"x", 1, a, 3}} {
			_, _ = f.Call(args...)
		}
		r := must.Get(pack.Verify(ctx, m, cpu, pack.DefaultTolerance))(t)
		require.Zero(t, r.Failed())
		must.Get(m.Metadata("add"))(t)
		require.NoError(t, f.Close())
		require.NoError(t, m.Close())
		bad := kernelsOf([]string{"testdata/k.c", write(t, "k.spv", spirv(false, "add"))}, addSignature)
		require.Error(t, must.Fail(pack.Module(bad)))
	}
	require.Equal(t, before, runtime.Live())
}
