package runtime_test

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/cpptest"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// cpp builds a library of testdata/cpp.
func cpp(t testing.TB, name string, flags ...string) string {
	t.Helper()
	return cpptest.Library(t, work, filepath.Join("testdata", "cpp", name+".cc"), flags...)
}

// cppLinkings are the ways in which producers link a kernel. tvm-ffi's builder links its own library, which this
// runtime replaces.
func cppLinkings(t testing.TB) map[string][]string {
	all := map[string][]string{
		"nothing": nil,
		"now":     {"-Wl,-z,now"},
		"plain":   {"-Wl,--hash-style=sysv", "-fno-plt", "-fno-gnu-unique"},
	}
	if lib := filepath.Join(cpptest.Wheel(t), "lib"); machine.Fits(filepath.Join(lib, "libtvm_ffi.so")) {
		all["tvm_ffi"] = []string{"-L" + lib, "-ltvm_ffi"}
	}
	return all
}

func TestCppKernel_Values(t *testing.T) {
	noLeaks(t)
	for linking, flags := range cppLinkings(t) {
		m := modules.Load(t, cpp(t, "typed", flags...))
		for _, c := range []struct {
			function string
			args     []any
			want     any
		}{
			{"add", []any{2, 3}, int64(5)},
			{"add", []any{true, uint8(3)}, int64(4)},
			{"narrow", []any{-7}, int64(-7)},
			{"scale", []any{1.5, float32(2)}, 3.0},
			{"scale", []any{3, 2}, 6.0},
			{"invert", []any{false}, true},
			{"greet", []any{"Go"}, "hello, Go"},
			{"greet", []any{"a longer name, which an object holds"}, "hello, a longer name, which an object holds"},
			{"greet", []any{""}, "hello, "},
			{"twice", []any{"naïve\x00"}, "naïve\x00naïve\x00"},
			{"reversed", []any{[]byte{0, 1, 2}}, []byte{2, 1, 0}},
			{"nothing", nil, nil},
			{"half", []any{6}, int64(3)},
			{"half", []any{5}, nil},
			{"half", []any{nil}, nil},
			{"squares", []any{[]any{1, 2, 3}}, []any{int64(1), int64(4), int64(9)}},
			{"squares", []any{[]any{}}, []any{}},
			{"lengths", []any{runtime.Map{{Key: "b", Value: []any{1, "x", nil}}, {Key: "a", Value: []any{}}}},
				runtime.Map{{Key: "b", Value: int64(3)}, {Key: "a", Value: int64(0)}}},
			{"turned", []any{[]any{0.5, 2, "three"}}, []any{"three", int64(2), 0.5}},
			{"other", []any{42}, "42"},
			{"other", []any{"four"}, int64(4)},
			{"any", []any{nil}, nil},
			{"any", []any{[]any{1, []any{"deep", 0.5}}}, []any{int64(1), []any{"deep", 0.5}}},
			{"any", []any{runtime.CPU}, runtime.CPU},
			{"type_index", []any{1.0}, int64(3)},
		} {
			require.Equal(t, c.want, call(t, function(t, m, c.function), c.args...), "%s(%v), linked with %s",
				c.function, c.args, linking)
		}
	}
}

func TestCppKernel_Tensors(t *testing.T) {
	noLeaks(t)
	for _, flags := range cppLinkings(t) {
		m := modules.Load(t, cpp(t, "typed", flags...))
		x, y := tensor(t, []float32{1, 2, 3}), tensor(t, []float32{0, 0, 0})
		require.Nil(t, call(t, function(t, m, "add_one"), x, y))
		require.Equal(t, []float32{2, 3, 4}, slice[float32](t, y))
		for name, want := range map[string][]float32{"same": {1, 2, 3}, "doubled": {2, 4, 6}} {
			out := call(t, function(t, m, name), x).(*runtime.Tensor)
			require.Equal(t, want, slice[float32](t, out))
			require.Equal(t, []int64{3}, out.Shape())
			require.NoError(t, out.Close())
		}
		require.Equal(t, runtime.Shape{3}, call(t, function(t, m, "shape_of"), x))
		require.Equal(t, dlpack.Float32, call(t, function(t, m, "dtype_of"), x))
		require.Equal(t, runtime.CPU, call(t, function(t, m, "device_of"), x))
	}
}

// Functions are passed in both directions, and so are the errors of nested calls.
func TestCppKernel_Functions(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, cpp(t, "typed"))
	sorry := errors.New("sorry")
	double := goFunction(t, func(args ...any) (any, error) { return 2 * args[0].(int64), nil })
	failing := goFunction(t, func(args ...any) (any, error) { return nil, sorry })

	var got []any
	noted := goFunction(t, func(args ...any) (any, error) { got = args; return 7, nil })
	require.Equal(t, int64(7), call(t, function(t, m, "apply"), noted, 5))
	require.Equal(t, []any{int64(5), "from C++"}, got)
	require.Equal(t, int64(10), call(t, function(t, m, "apply_typed"), double, 5))
	require.ErrorIs(t, must.Fail(function(t, m, "apply").Call(failing, 5)), sorry, "through C++ and back")
	require.Equal(t, "caught RuntimeError: sorry", call(t, function(t, m, "caught"), failing))

	adder := call(t, function(t, m, "adder"), 100).(*runtime.Function)
	require.Equal(t, int64(101), call(t, adder, 1))
	require.Equal(t, int64(103), call(t, function(t, m, "apply_typed"), adder, 3))
	requireError(t, must.Fail(adder.Call("x")), runtime.ErrInvalidArgument)
	require.NoError(t, adder.Close())

	bound := must.Get(function(t, m, "add").Bind(20, 22))(t)
	require.NoError(t, bound.Call())
	v := must.Get(bound.Result())(t)
	require.Equal(t, int64(42), v)
	require.NoError(t, bound.Close())
}

func TestCppKernel_Errors(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, cpp(t, "typed"))
	for _, c := range []struct {
		function string
		args     []any
		code     string
		kind     error
		says     string
	}{
		{"throw_value", []any{-3}, "ValueError", runtime.ErrInvalidArgument, "x is -3: it must not be negative"},
		{"throw_kind", []any{"KeyError", "no such key"}, "KeyError", runtime.ErrInvalidArgument, "no such key"},
		{"throw_kind", []any{"NotFoundError", "nowhere"}, "NotFoundError", runtime.ErrNotFound, "nowhere"},
		{"throw_kind", []any{"RuntimeError", "plain"}, "RuntimeError", runtime.ErrFailed, "plain"},
		{"throw_kind", []any{"TheirOwnError", "strange"}, "TheirOwnError", runtime.ErrFailed, "strange"},
		{"throw_kind", []any{"ValueError", ""}, "ValueError", runtime.ErrInvalidArgument, ""},
		{"throw_check", []any{2}, "InternalError", runtime.ErrFailed, "Check failed: x == 1 (2 vs. 1)"},
		{"throw_check", []any{2}, "InternalError", runtime.ErrFailed, "only one will do"},
		{"throw_standard", nil, "InternalError", runtime.ErrFailed, "a standard exception"},
	} {
		_, err := function(t, m, c.function).Call(c.args...)
		e := requireError(t, err, c.kind, c.says)
		require.Equal(t, c.code, e.Code, c.function)
		if c.function != "throw_standard" {
			require.Contains(t, e.Backtrace, "typed.cc", c.function)
			require.Contains(t, e.Backtrace, c.function)
		}
	}
	require.Equal(t, int64(3), call(t, function(t, m, "throw_value"), 3), "an error leaves nothing behind")
}

// The C++ side rejects wrong arguments with its own TypeError and text.
func TestCppKernel_WrongArguments(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, cpp(t, "typed"))
	x := tensor(t, []float32{1})
	for _, c := range []struct {
		function string
		args     []any
		code     string
		says     []string
	}{
		{"add", nil, "TypeError", []string{"add", "Expected 2 but got 0 arguments"}},
		{"add", []any{1, 2, 3}, "TypeError", []string{"Expected 2 but got 3 arguments"}},
		{"add", []any{1, "two"}, "TypeError", []string{"on argument #1", "Expected `int` but got `ffi.SmallStr`"}},
		{"add", []any{1.5, 2}, "TypeError", []string{"on argument #0", "Expected `int` but got `float`"}},
		{"add", []any{x, 2}, "TypeError", []string{"Expected `int` but got `ffi.Tensor`"}},
		{"scale", []any{nil, 1}, "TypeError", []string{"Expected `float` but got `None`"}},
		{"greet", []any{1}, "TypeError", []string{"Expected `str` but got `int`"}},
		{"greet", []any{[]byte("b")}, "TypeError", []string{"Expected `str` but got `ffi.SmallBytes`"}},
		{"add_one", []any{1, x}, "TypeError", []string{"Expected `DLTensor*` but got `int`"}},
		{"add_one", []any{tensor(t, []int32{1}), x}, "ValueError", []string{"x must be a vector of float32"}},
		{"half", []any{"x"}, "TypeError", []string{"Expected `Optional<int>`"}},
		{"squares", []any{[]any{1, "x"}}, "TypeError",
			[]string{"Expected `Array<int>` but got `Array[index 1: ffi.SmallStr]`"}},
		{"lengths", []any{runtime.Map{{Key: 1, Value: []any{}}}}, "TypeError",
			[]string{"Expected `Map<str, Array<Any>>` but got `Map[some key is int"}},
		{"turned", []any{[]any{0.5, 2}}, "TypeError", []string{"Expected `Tuple<float, int, str>`"}},
		{"other", []any{0.5}, "TypeError", []string{"Expected `Variant<int, str>` but got `float`"}},
		{"apply", []any{1, 1}, "TypeError", []string{"Expected `ffi.Function` but got `int`"}},
	} {
		_, err := function(t, m, c.function).Call(c.args...)
		e := requireError(t, err, runtime.ErrInvalidArgument, c.says...)
		require.Equal(t, c.code, e.Code, "%s: %v", c.function, err)
	}
}

// inOwnProcess runs a test again in a separate process, for actions that a process can do only once. It returns true in
// that process.
func inOwnProcess(t *testing.T) bool {
	const variable = "TVMGO_RUNTIME_TEST_ALONE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+t.Name(), workVariable+"="+work)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}

// A library that registers functions while it is loaded finds them, and so does Go.
func TestCppKernel_RegistersAtLoad(t *testing.T) {
	for linking, flags := range cppLinkings(t) {
		t.Run(linking, func(t *testing.T) {
			path := cpp(t, "loaded", flags...)
			if !inOwnProcess(t) {
				return
			}
			m := modules.Load(t, path)
			require.Equal(t, int64(12), call(t, function(t, m, "six_times"), 2))
			require.Equal(t, int64(6), call(t, global(t, "tvmgo.test.triple"), 2))
			require.Contains(t, runtime.GlobalNames(), "tvmgo.test.counter_add")

			c := call(t, global(t, "tvmgo.test.counter"), 3, "mine").(*runtime.Object)
			require.Equal(t, int64(8), call(t, global(t, "tvmgo.test.counter_add"), c, 5))
			require.Equal(t, int64(8), call(t, function(t, m, "count_of"), c))
			require.Equal(t, "mine", call(t, function(t, m, "name_of"), c))
			require.NoError(t, c.Close())

			made := call(t, function(t, m, "new_counter"), 4).(*runtime.Object)
			require.Equal(t, int64(5), call(t, global(t, "tvmgo.test.counter_add"), made, 1))
			require.NoError(t, made.Close())
			_, err := function(t, m, "count_of").Call("no counter")
			requireError(t, err, runtime.ErrInvalidArgument, "Expected `tvmgo.test.Counter` but got `ffi.String`")
		})
	}
}

// Files that are linked with tvm-ffi's library load without it, and do not load it into the process.
func TestCppKernel_LinkedWithTheirLibrary(t *testing.T) {
	machine.Need(t, filepath.Join(cpptest.Wheel(t), "lib", "libtvm_ffi.so"))
	path := cpp(t, "typed", cppLinkings(t)["tvm_ffi"]...)
	f := must.Open(elf.Open(path))(t)
	require.Contains(t, must.Get(f.ImportedLibraries())(t), "libtvm_ffi.so")
	for name, m := range map[string]*runtime.Module{"file": modules.Load(t, path),
		"bytes": loadBytes(t, readFile(t, path))} {
		require.Equal(t, int64(5), call(t, function(t, m, "add"), 2, 3), name)
	}
	require.NotContains(t, string(must.Get(os.ReadFile("/proc/self/maps"))(t)), "libtvm_ffi")
}

// Plain C with only the symbol, from a compiler that does not know tvm-ffi.
func TestPlainKernel(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, buildC(t, `
typedef struct { int index; unsigned pad; union { long long i; double d; } v; } value;
int __tvm_ffi_sum(void* self, const value* a, int n, value* r) {
  r->index = 1; r->v.i = 0;
  for (int i = 0; i < n; i++) r->v.i += a[i].v.i;
  return self != 0;
}
int __tvm_ffi_half(void* self, const value* a, int n, value* r) {
  r->index = 3; r->v.d = a[0].v.d / 2;
  return self != 0 || n != 1;
}
int __tvm_ffi_bad(void* self, const value* a, int n, value* r) { return -1; }`, "-Wno-unused"))
	require.Equal(t, []string{"bad", "half", "sum"}, m.Functions())
	require.Equal(t, int64(6), call(t, function(t, m, "sum"), 1, 2, 3))
	require.Equal(t, 0.25, call(t, function(t, m, "half"), 0.5))
	requireError(t, must.Fail(function(t, m, "bad").Call()), runtime.ErrFailed, "without raising an error")
}
