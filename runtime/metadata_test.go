package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// textFunctions makes a library whose metadata and doc functions return C text or run C code.
func textFunctions(t testing.TB, body string) *runtime.Module {
	t.Helper()
	return modules.Load(t, buildC(t, `
#include <tvm/ffi/c_api.h>
#define FUNCTION(name) int __tvm_ffi_##name(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r)
#define TEXT(name, text) FUNCTION(name) { \
  static const char t[] = text; TVMFFIByteArray b = {t, sizeof t - 1}; return TVMFFIStringFromByteArray(&b, r); }
`+body))
}

func TestMetadata_OfCpp(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, cpp(t, "typed"))
	for function, want := range map[string]string{
		"add":         "add(int, int) -> int",
		"scale":       "scale(float, float) -> float",
		"invert":      "invert(bool) -> bool",
		"twice":       "twice(str) -> str",
		"reversed":    "reversed(bytes) -> bytes",
		"nothing":     "nothing() -> None",
		"add_one":     "add_one(Tensor, Tensor) -> None",
		"same":        "same(Tensor) -> Tensor",
		"shape_of":    "shape_of(Tensor) -> Shape",
		"dtype_of":    "dtype_of(Tensor) -> dtype",
		"device_of":   "device_of(Tensor) -> Device",
		"half":        "half(Optional[int]) -> Optional[int]",
		"lengths":     "lengths(Map[str, Array[Any]]) -> Map[str, int]",
		"turned":      "turned(Tuple[float, int, str]) -> Tuple[str, int, float]",
		"other":       "other(int | str) -> int | str",
		"apply":       "apply(Function, int) -> int",
		"apply_typed": "apply_typed(Function(int) -> int, int) -> int",
		"any":         "any(Any) -> Any",
	} {
		meta := must.Get(m.Metadata(function))(t)
		require.Equal(t, want, meta.Schema.Signature(function))
		require.Contains(t, meta.Text, `{"type_schema":`)
		require.Contains(t, meta.Values, "type_schema")
	}
	meta := must.Get(m.Metadata("lengths"))(t)
	require.Equal(t, "ffi.Function", meta.Schema.Type)
	require.Equal(t, []runtime.TypeSchema{{Type: "ffi.String"}, {Type: "int"}}, meta.Schema.Return.Args)

	doc := must.Get(m.Doc("add"))(t)
	require.Equal(t, "Adds two integers.\n\nParameters\n----------\na, b : int\n    \"What\" to add: naïve.", doc)
	_, err := m.Doc("scale")
	requireError(t, err, runtime.ErrNotFound, `the producer of function "scale" gave it no documentation`)
	_, err = m.Metadata("ad")
	requireError(t, err, runtime.ErrNotFound, `no function "ad"; did you mean "add"?`)
}

// Schemas of other producers, and invalid ones.
func TestMetadata_Texts(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct{ text, signature, problem string }{
		{`{}`, "", ""},
		{`{"author": "me", "n": 3}`, "", ""},
		{`{"type_schema": "{\"type\":\"ffi.Function\",\"args\":[{\"type\":\"ffi.Tensor\"},{\"type\":\"int\"}]}"}`,
			"f(int) -> Tensor", ""},
		{`{"type_schema": {"type":"ffi.Function"}}`, "f(...)", ""},
		{`{"type_schema": {"type":"ffi.Function","named_args":{"return":[{"type":"Union"}],"params":[],"new":1},"newer":2}}`,
			"f() -> Union", ""},
		{`{"type_schema": {"type":"ffi.Function","named_args":{"return":[{"type":"void*"}]}}}`, "f() -> Ptr", ""},
		{``, "", "not a JSON object: unexpected EOF: it begins"},
		{`null`, "", "null instead of a JSON object"},
		{`[1]`, "", "not a JSON object"},
		{`{"type_schema":`, "", "not a JSON object"},
		{`{} {}`, "", "something follows"},
		{`{"type_schema": "what it takes"}`, "", "type_schema: the text is not a JSON object"},
		{`{"type_schema": 3}`, "", "type_schema: "},
		{`{"type_schema": {"type":3}}`, "", "type_schema: "},
		{`{"type_schema": {"args":[]}}`, "", `a type without its name, the key "type"`},
		{`{"type_schema": {"type":"Array","args":[{}]}}`, "", `a type without its name`},
		{`{"type_schema": {"type":"ffi.Function","named_args":{"return":[],"params":[]}}}`, "",
			"does not return one type"},
		{`{"type_schema": ` + strings.Repeat(`{"type":"Array","args":[`, 20000) + `3`, "", "not a JSON object"},
		{`{"type_schema": {"type":"` + strings.Repeat("x", 1<<20) + `"}}`, "", "too long for a type"},
	} {
		m := must.Get(runtime.NewModule("described", runtime.Runnable, describedModule{metadata: c.text + " "}))(t)
		meta, err := m.Metadata("f")
		require.NoError(t, m.Close())
		if c.problem != "" {
			e := requireError(t, err, runtime.ErrCorruptModule, `that of function "f"`, c.problem)
			require.Less(t, len(e.Error()), 300)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.text+" ", meta.Text)
		if c.signature == "" {
			require.Nil(t, meta.Schema)
		} else {
			require.Equal(t, c.signature, meta.Schema.Signature("f"), c.text)
		}
	}
}

func TestMetadata_FunctionsThatFail(t *testing.T) {
	noLeaks(t)
	m := textFunctions(t, `
FUNCTION(f) { return 0; }
FUNCTION(_metadata_f) { TVMFFIErrorSetRaisedFromCStr("ValueError", "no idea"); return -1; }
FUNCTION(_doc_f) { return 7; }
FUNCTION(g) { return 0; }
FUNCTION(_metadata_g) { r->type_index = kTVMFFIInt; r->v_int64 = 3; return 0; }
FUNCTION(_doc_g) {
  int64_t two = 2; TVMFFIAny v;
  return TVMFFIStringFromByteArray(&(TVMFFIByteArray){"a text that is long enough", 26}, &v)
    || TVMFFIFunctionCreate(0, __tvm_ffi_g, 0, (TVMFFIObjectHandle*)&r->v_obj)
    || ((r->type_index = kTVMFFIFunction), TVMFFIObjectDecRef(v.v_obj)) || two == 0;
}
FUNCTION(h) { return 0; }
FUNCTION(_doc_h) { return 0; }
FUNCTION(_metadata_h) { r->type_index = kTVMFFIRawStr; r->v_c_str = "{\"raw\": true}"; return 0; }
TEXT(_doc_only, "a doc without its function")`)
	_, err := m.Metadata("f")
	requireError(t, err, runtime.ErrInvalidArgument, "get metadata: no idea")
	_, err = m.Doc("f")
	requireError(t, err, runtime.ErrFailed, "__tvm_ffi__doc_f of", "returned 7 without setting an error")
	_, err = m.Metadata("g")
	requireError(t, err, runtime.ErrInvalidArgument, "__tvm_ffi__metadata_g of", "returned int instead of a text")
	_, err = m.Doc("g")
	requireError(t, err, runtime.ErrInvalidArgument, "__tvm_ffi__doc_g of", "returned Function instead of a text")
	_, err = m.Doc("h")
	requireError(t, err, runtime.ErrInvalidArgument, "__tvm_ffi__doc_h of", "returned None instead of a text")
	meta := must.Get(m.Metadata("h"))(t)
	require.Equal(t, `{"raw": true}`, meta.Text)
	require.Equal(t, "a doc without its function", must.Get(m.Doc("only"))(t))

	_, err = global(t, "ffi.ModuleGetFunctionMetadata").Call(m, "g", false)
	requireError(t, err, runtime.ErrInvalidArgument, "returned int instead of a text")
	require.Nil(t, call(t, global(t, "ffi.ModuleGetFunctionMetadata"), m, "nothing", true))
	require.Equal(t, "a doc without its function", call(t, global(t, "ffi.ModuleGetFunctionDoc"), m, "only", false))
	for _, name := range []string{"", "h\x00", strings.Repeat("x", 10000)} {
		require.Error(t, must.Fail(m.Metadata(name)))
	}
}

// describedModule describes every function.
type describedModule struct {
	runtime.ModuleBase
	metadata, doc string
	err           error
}

func (m describedModule) Function(name string) (*runtime.Function, error) {
	return runtime.NewFunction(func(...any) (any, error) { return nil, nil })
}
func (m describedModule) Metadata(string) (string, error) { return m.metadata, m.err }
func (m describedModule) Doc(string) (string, error)      { return m.doc, m.err }

// A module written in Go describes its functions to Go and to C.
func TestMetadata_OfGoModules(t *testing.T) {
	noLeaks(t)
	m := must.Get(runtime.NewModule("described", runtime.Runnable, describedModule{metadata: `{"by": "Go"}`,
		doc: "Does nothing."}))(t)
	defer m.Close()
	meta := must.Get(m.Metadata("f"))(t)
	require.JSONEq(t, `"Go"`, string(meta.Values["by"]))
	require.Equal(t, "Does nothing.", must.Get(m.Doc("f"))(t))
	require.Equal(t, `{"by": "Go"}`, call(t, global(t, "ffi.ModuleGetFunctionMetadata"), m, "f", false))
	require.Equal(t, "Does nothing.", call(t, global(t, "ffi.ModuleGetFunctionDoc"), m, "f", true))

	bare := must.Get(runtime.NewModule("bare", runtime.Runnable,
		&goModule{functions: map[string]runtime.PackedFunc{"f": nil, "g": nil}}))(t)
	defer bare.Close()
	_, err := bare.Doc("nothing")
	requireError(t, err, runtime.ErrNotFound, "no function")

	sorry := errors.New("sorry")
	failing, err := runtime.NewModule("failing", runtime.Runnable, describedModule{err: sorry})
	require.NoError(t, err)
	defer failing.Close()
	require.ErrorIs(t, must.Fail(failing.Metadata("f")), sorry)
	panicking := must.Get(runtime.NewModule("bad", 0, misbehaving{}))(t)
	defer panicking.Close()
	_, err = panicking.Doc("f")
	requireError(t, err, runtime.ErrFailed, "panic")
}

// The described function is the one that a look-up finds, not a later one with the same name.
func TestMetadata_ThroughImports(t *testing.T) {
	noLeaks(t)
	plain := textFunctions(t, `FUNCTION(f) { return 0; }`)
	described := textFunctions(t, `TEXT(f, "x") TEXT(_doc_f, "of the import") TEXT(g, "x") TEXT(_doc_g, "found")`)
	require.NoError(t, plain.Import(described))
	require.Equal(t, "found", must.Get(plain.Doc("g"))(t))
	_, err := plain.Doc("f")
	requireError(t, err, runtime.ErrNotFound, `the producer of function "f" gave it no documentation`)
}

// Libraries of Apache TVM have no metadata, but have the signatures that their errors print.
func TestMetadata_SignaturesOfTVM(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	vadd := "vadd(A: Tensor([n], float32), B: Tensor([n], float32), C: Tensor([n], float32))"
	for _, file := range []string{"modern/multi_c.so", "modern/multi_llvm.so", "modern/gpu_opencl.so",
		"modern/gpu_cuda.so"} {
		for _, opts := range [][]runtime.LoadOption{nil, {runtime.PrivateCopy()}} {
			m := must.Get(runtime.Load(ctx, artifacts+file, opts...))(t)
			defer m.Close()
			require.Equal(t, &runtime.Metadata{Signature: vadd}, must.Get(m.Metadata("vadd"))(t), file)
			_, err := m.Metadata("no_such")
			requireError(t, err, runtime.ErrNotFound, "no_such")
		}
	}
	m := modules.Load(t, multiC)
	require.ErrorContains(t, must.Fail(function(t, m, "vadd").Call(1, 2, 3)), vadd, "errors print the same signature")

	// Through a module that imports the library, and not where another has the function first.
	root := must.Open(runtime.NewModule("root", runtime.Runnable, &goModule{functions: map[string]runtime.PackedFunc{
		"matmul": func(...any) (any, error) { return nil, nil }}}))(t)
	require.NoError(t, root.Import(m))
	meta := must.Get(root.Metadata("vadd"))(t)
	require.Equal(t, vadd, meta.Signature)
	_, err := root.Metadata("matmul")
	requireError(t, err, runtime.ErrNotFound)

	// A module of constants has the functions of its imports, and no signatures.
	constants := must.Open(runtime.NewConstants(&blob.Constants{}))(t)
	require.NoError(t, constants.Import(m))
	meta, err = constants.Metadata("vadd")
	require.NoError(t, err)
	require.Equal(t, vadd, meta.Signature)

	_, err = modules.Load(t, artifacts+"classic/multi_llvm.so").Metadata("vadd")
	requireError(t, err, runtime.ErrNotFound, "gave it no metadata")
}
