package runtime_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// values are pairs of a passed value and the expected returned value.
func values() []struct{ in, out any } {
	var word int64
	same := func(v any) struct{ in, out any } { return struct{ in, out any }{v, v} }
	list := []struct{ in, out any }{
		same(nil), same(true), same(false),
		same(int64(0)), same(int64(math.MinInt64)), same(int64(math.MaxInt64)),
		{7, int64(7)}, {int8(-8), int64(-8)}, {int16(-9), int64(-9)}, {int32(-10), int64(-10)},
		{uint(11), int64(11)}, {uint8(255), int64(255)}, {uint16(65535), int64(65535)},
		{uint32(math.MaxUint32), int64(math.MaxUint32)}, {uint64(12), int64(12)},
		same(0.0), same(-1.5), same(math.Inf(1)), same(math.MaxFloat64), {float32(0.5), 0.5},
		{dlpack.Float16Of(-1.5), -1.5}, {dlpack.BFloat16Of(2.5), 2.5},
		same(dlpack.Float32), same(dlpack.Bool), same(dlpack.ClassicBool), same(dlpack.Void),
		same(dlpack.DataType{Code: 2, Bits: 32, Lanes: 0xfffc}),
		same(dlpack.Device{Type: dlpack.CUDA, ID: 3}), same(dlpack.Device{Type: -1, ID: -1}),
		same(runtime.Ptr(&word)), {unsafe.Pointer(&word), runtime.Ptr(&word)},
		{runtime.Ptr(nil), nil}, {unsafe.Pointer(nil), nil},
		same(runtime.Shape{}), {runtime.Shape(nil), runtime.Shape{}}, same(runtime.Shape{1, 0, -1, math.MaxInt64}),
		same([]any{}), {[]any(nil), []any{}}, same(runtime.Map{}), {runtime.Map(nil), runtime.Map{}},
		same([]any{int64(1), "two", nil, []any{3.0, []any{}}, runtime.Shape{4}}),
		{(*runtime.Tensor)(nil), nil}, {(*runtime.Function)(nil), nil}, {(*runtime.Module)(nil), nil},
		{(*runtime.Object)(nil), nil},
		{[]byte(nil), []byte{}},
	}
	for _, n := range []int{0, 1, 6, 7, 8, 9, 63, 64, 1000, 1 << 20} {
		text := strings.Repeat("ä\x00z", n)[:n]
		list = append(list, same(text), same([]byte(text)))
	}
	var long runtime.Map
	for i := range 300 { // in the order of insertion, small maps and large ones
		long = append(long, runtime.Entry{Key: fmt.Sprint("key ", 1000-i), Value: int64(i)})
	}
	for _, n := range []int{1, 3, 4, 5, 300} {
		list = append(list, same(long[:n:n]))
	}
	return append(list, same(runtime.Map{{int64(2), "two"}, {"s", runtime.Map{{int64(1), []any{nil}}}}, {true, false},
		{int64(1), 1.5}}))
}

func TestValues_RoundTrip(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	goEcho := goFunction(t, func(args ...any) (any, error) { return args[0], nil })
	for name, f := range map[string]*runtime.Function{
		"through C":                function(t, p, "echo"),
		"through Go":               goEcho,
		"through C and Go":         nil,
		"through a global of Go's": nil,
	} {
		t.Run(name, func(t *testing.T) {
			args := func(v any) []any { return []any{v} }
			switch name {
			case "through C and Go":
				f = function(t, p, "call")
				args = func(v any) []any { return []any{goEcho, v} }
			case "through a global of Go's":
				require.NoError(t, runtime.RegisterGlobal("tvmgo_test.echo", goEcho, false))
				t.Cleanup(func() { runtime.RemoveGlobal("tvmgo_test.echo") })
				f = function(t, p, "env")
				args = func(v any) []any { return []any{"tvmgo_test.echo", v} }
			}
			for i, v := range values() {
				got := call(t, f, args(v.in)...)
				require.Equal(t, v.out, got, "value %d: %T", i, v.in)
			}
			got := call(t, f, args(math.NaN())...)
			require.True(t, math.IsNaN(got.(float64)))
		})
	}
}

// Text of up to seven bytes is stored in the value itself, longer text in an object.
func TestValues_TypeIndices(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	f := function(t, p, "type_index")
	x := tensor(t, []int32{1})
	for _, c := range []struct {
		v    any
		want int64
	}{
		{nil, 0}, {1, 1}, {true, 2}, {1.0, 3}, {runtime.Ptr(&struct{ int }{}), 4}, {dlpack.Int8, 5}, {runtime.CPU, 6},
		{"", 11}, {"1234567", 11}, {"12345678", 65}, {[]byte{}, 12}, {[]byte("1234567"), 12}, {[]byte("12345678"), 66},
		{errors.New("e"), 67}, {f, 68}, {runtime.Shape{}, 69}, {x, 70}, {[]any{}, 71}, {runtime.Map{}, 72}, {p, 73},
	} {
		require.Equal(t, c.want, call(t, f, c.v), "%T", c.v)
	}
}

func TestValues_ObjectsComeBackAsThemselves(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	for _, name := range []string{"echo", "go"} {
		f := goFunction(t, func(args ...any) (any, error) { return args[0], nil })
		if name == "echo" {
			f = function(t, p, name)
		}
		x := tensor(t, []float32{1, 2})
		y := call(t, f, x).(*runtime.Tensor)
		require.Equal(t, x.Data(), y.Data())
		require.NoError(t, x.Close())
		require.Equal(t, []float32{1, 2}, slice[float32](t, y), "the result is a separate reference")
		require.NoError(t, y.Close())

		m := call(t, f, p).(*runtime.Module)
		require.Equal(t, p.Functions(), m.Functions())
		require.NoError(t, m.Close())

		g := call(t, f, f).(*runtime.Function)
		require.Equal(t, int64(5), call(t, g, 5))
		require.NoError(t, g.Close())

		list := call(t, f, []any{p, []any{f}, runtime.Map{{"t", tensor(t, []int8{3})}}}).([]any)
		require.Equal(t, "library", list[0].(*runtime.Module).Kind())
		require.Equal(t, []int8{3}, slice[int8](t, list[2].(runtime.Map)[0].Value.(*runtime.Tensor)))
		list[0].(*runtime.Module).Close()
		list[1].([]any)[0].(*runtime.Function).Close()
		list[2].(runtime.Map)[0].Value.(*runtime.Tensor).Close()
	}
}

func TestValues_OpaqueObject(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	o := call(t, function(t, p, "opaque")).(*runtime.Object)
	require.Equal(t, 74, o.TypeIndex())
	echo := function(t, p, "echo")
	again := call(t, echo, o).(*runtime.Object)
	require.NoError(t, o.Close())
	require.NoError(t, o.Close())
	require.Zero(t, o.TypeIndex())
	requireError(t, must.Fail(echo.Call(o)), runtime.ErrClosed, "argument 0")
	require.Equal(t, 74, again.TypeIndex())
	require.NoError(t, again.Close())
	require.NoError(t, (*runtime.Object)(nil).Close())
	require.Zero(t, (*runtime.Object)(nil).TypeIndex())
}

func TestValues_ErrorsAreValuesToo(t *testing.T) {
	noLeaks(t)
	f := function(t, probe(t), "echo")
	sorry := fmt.Errorf("sorry: %w", runtime.ErrNotSupported)
	got, ok := call(t, f, sorry).(*runtime.Error)
	require.True(t, ok)
	require.ErrorIs(t, got, sorry)
	require.ErrorIs(t, got, runtime.ErrNotSupported)
	require.Equal(t, "sorry: not supported", got.Message)
}

// Views of C strings, bytes and tensors can only be arguments. C programs and generated code pass them.
func TestValues_ViewsOfC(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	var kept *runtime.Tensor
	f := goFunction(t, func(args ...any) (any, error) {
		require.Equal(t, "a C string", args[0])
		require.Equal(t, []byte("a\x00b"), args[1])
		x := args[2].(*runtime.Tensor)
		require.Equal(t, []int64{2, 3}, x.Shape())
		require.Equal(t, []int64{3, 1}, x.Strides())
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, slice[float32](t, x))
		kept = x
		return nil, nil
	})
	call(t, function(t, p, "call_with_views"), f)
	require.Nil(t, kept.Shape(), "an argument is closed when the function returns")
	_, err := function(t, p, "call_with_views").Call(f, "one more")
	requireError(t, err, runtime.ErrNotSupported, "type index 10")
}

func TestValues_ThatCannotBePassed(t *testing.T) {
	noLeaks(t)
	echo := function(t, probe(t), "echo")
	cyclic := []any{nil}
	cyclic[0] = cyclic
	deep := any(nil)
	for range 300 {
		deep = []any{deep}
	}
	deepMap := any(nil)
	for range 300 {
		deepMap = runtime.Map{{"m", deepMap}}
	}
	for _, c := range []struct {
		v    any
		says string
	}{
		{struct{}{}, "a struct {} cannot be passed"},
		{[]int{1}, "a []int cannot be passed"},
		{map[string]any{}, "a map[string]interface {} cannot be passed"},
		{make(chan int), "a chan int cannot be passed"},
		{complex(1, 2), "complex128"},
		{uint64(math.MaxUint64), "does not fit"},
		{uintptr(1), "uintptr"},
		{new(int), "*int"},
		{[]any{1, []any{"x", struct{}{}}}, "argument 1"},
		{runtime.Map{{struct{}{}, 1}}, "struct {}"},
		{cyclic, "nested deeper"},
		{deep, "nested deeper"},
		{deepMap, "nested deeper"},
	} {
		requireError(t, must.Fail(echo.Call(c.v)), runtime.ErrInvalidArgument, "call function: argument 0", c.says)
		requireError(t, must.Fail(echo.Bind(1, c.v)), runtime.ErrInvalidArgument, "bind function: argument 1", c.says)
	}
}

func TestValues_DeepNestingFromC(t *testing.T) {
	noLeaks(t)
	nest := function(t, probe(t), "nest")
	v := call(t, nest, 200)
	for range 200 {
		v = v.([]any)[0]
	}
	require.Nil(t, v)
	requireError(t, must.Fail(nest.Call(1000)), runtime.ErrInvalidArgument, "nested deeper")
}

func TestValues_MapKeysAreUnique(t *testing.T) {
	noLeaks(t)
	echo := function(t, probe(t), "echo")
	require.Equal(t, runtime.Map{{"a", int64(3)}, {"b", int64(2)}},
		call(t, echo, runtime.Map{{"a", 1}, {"b", 2}, {"a", 3}}))
	long := strings.Repeat("k", 100)
	require.Equal(t, runtime.Map{{long, int64(2)}}, call(t, echo, runtime.Map{{long, 1}, {long, 2}}))
}

// The arguments of a failed call are not kept.
func TestValues_NothingLeaksWhenPackingFails(t *testing.T) {
	noLeaks(t)
	echo := function(t, probe(t), "echo")
	x := tensor(t, []int64{1})
	_, err := echo.Call("a text of more than seven bytes", x, []any{x, "another text that needs room"}, struct{}{})
	requireError(t, err, runtime.ErrInvalidArgument, "argument 3")
}

func TestValues_ManyArguments(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	sum := goFunction(t, func(args ...any) (any, error) {
		var s int64
		for _, a := range args {
			s += a.(int64)
		}
		return s, nil
	})
	for _, n := range []int{0, 1, 7, 8, 9, 64, 65, 1000} {
		args, want := []any{sum}, int64(0)
		for i := range n {
			args = append(args, i)
			want += int64(i)
		}
		require.Equal(t, want, call(t, function(t, p, "call"), args...))
		require.Equal(t, want, call(t, sum, args[1:]...))
	}
}

// ---- the classic generation (docs/abi.md I.5) ----

func TestValues_ToClassicFunctions(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, buildC(t, classicSource))
	codes := function(t, m, "codes")
	x := tensor(t, []float32{1})
	for _, c := range []struct {
		v    any
		want int64
	}{
		{5, 0}, {true, 0}, {1.5, 2}, {runtime.Ptr(&struct{ int }{}), 3}, {nil, 4}, {dlpack.Int8, 5}, {runtime.CPU, 6},
		{runtime.Shape{1}, 8}, {[]any{1}, 8}, {m, 9}, {codes, 10}, {"", 11}, {"long enough for an object", 11},
		{[]byte{}, 12}, {[]byte("short"), 12}, {[]byte("long enough for an object"), 12}, {x, 13},
	} {
		require.Equal(t, c.want, call(t, codes, c.v), "%T", c.v)
	}
	require.Equal(t, int64(11_12_13), call(t, codes, "s", []byte("b"), x))

	text := function(t, m, "text")
	for _, s := range []string{"", "a", "seven b", "eight by", strings.Repeat("x", 1000)} {
		want := int64(len(s)) * 1000
		if s != "" {
			want += int64(s[0])
		}
		require.Equal(t, want, call(t, text, s))
		require.Equal(t, want, call(t, text, []byte(s)))
	}
	require.Equal(t, 0.75, call(t, function(t, m, "half"), 1.5))

	many := make([]any, 100) // more than the stack buffer holds
	for i := range many {
		many[i] = []byte("b")
	}
	many[99] = 1
	require.NotNil(t, call(t, codes, many...))
}

func TestValues_ThroughTheClassicEnvironment(t *testing.T) {
	noLeaks(t)
	env := function(t, modules.Load(t, buildC(t, classicSource)), "env")
	echo := goFunction(t, func(args ...any) (any, error) { return args[0], nil })
	require.NoError(t, runtime.RegisterGlobal("tvmgo_test.echo", echo, false))
	defer runtime.RemoveGlobal("tvmgo_test.echo")
	x := tensor(t, []int32{4, 5})
	for _, v := range []any{nil, int64(7), 2.5, runtime.CPU, runtime.Shape{1, 2}, []any{int64(1)}} {
		require.Equal(t, v, call(t, env, "tvmgo_test.echo", v), "%T", v)
	}
	y := call(t, env, "tvmgo_test.echo", x).(*runtime.Tensor)
	defer y.Close()
	require.Equal(t, []int32{4, 5}, slice[int32](t, y))
	for _, s := range []string{"", "short", "a text that is longer"} {
		require.Equal(t, s, call(t, env, "tvmgo_test.echo", s))
		require.Equal(t, []byte(s), call(t, env, "tvmgo_test.echo", []byte(s)))
	}
}
