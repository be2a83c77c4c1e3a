package graph_test

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/weights"
)

// dictionary is a parameter dictionary with vectors of float32.
func dictionary(t testing.TB, names []string, shape []int64, values ...float32) []byte {
	t.Helper()
	var list []weights.Array
	for i, name := range names {
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		data := make([]float32, n)
		for k := range data {
			data[k] = values[i]
		}
		list = append(list, weights.Array{Name: name, DType: dlpack.Float32, Shape: shape,
			Data: unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), 4*n)})
	}
	var b bytes.Buffer
	require.NoError(t, weights.Encode(&b, weights.Params, list, nil))
	return b.Bytes()
}

// sum is a graph x + w.
func sum(t testing.TB) (string, *runtime.Module) {
	lib := goLibrary(t, map[string]func(args []*runtime.Tensor) error{"add": func(args []*runtime.Tensor) error {
		a, b := must.Get(runtime.ToSlice[float32](args[0]))(t), must.Get(runtime.ToSlice[float32](args[1]))(t)
		for i := range a {
			a[i] += b[i]
		}
		return runtime.CopyFrom(args[2], a)
	}})
	return graphText(t, []node{
		{name: "x", out: f32(0, 16)}, {name: "w", out: f32(1, 16)},
		{name: "y", fn: "add", in: []ref{{0, 0}, {1, 0}}, out: f32(2, 16)},
	}, ref{2, 0}), lib
}

func TestParams_Load(t *testing.T) {
	noLeaks(t)
	text, lib := sum(t)
	s := create(t, text, lib, cpu)
	call(t, s, "set_input", "x", modules.Tensor(t, make([]float32, 16)))
	call(t, s, "load_params", dictionary(t, []string{"w"}, []int64{16}, 3))
	call(t, s, "run")
	require.Equal(t, float32(3), output[float32](t, s, 0)[15])
	info := call(t, s, "get_input_info").(runtime.Map)
	require.Equal(t, runtime.Map{{Key: "x", Value: runtime.Shape{16}}}, info[0].Value, "w is a parameter now")

	// All parameters are checked before the first is changed.
	good := dictionary(t, []string{"w", "wx"}, []int64{16}, 4, 4)
	require.ErrorContains(t, fails(t, s, "load_params", good), `parameter "wx": the graph has no input "wx"`)
	require.ErrorContains(t, fails(t, s, "load_params", dictionary(t, []string{"w"}, []int64{4, 4}, 4)),
		`parameter "w" is float32[4 4], but the input of the graph is float32[16]`)
	whole := dictionary(t, []string{"w"}, []int64{16}, 4)
	for n := range whole {
		fails(t, s, "load_params", whole[:n])
	}
	call(t, s, "run")
	require.Equal(t, float32(3), output[float32](t, s, 0)[0])
}

// Two executors use one copy of a parameter, until one of them changes it.
func TestParams_Share(t *testing.T) {
	noLeaks(t)
	text, lib := sum(t)
	a, b := create(t, text, lib, cpu), create(t, text, lib, cpu)
	params := dictionary(t, []string{"w"}, []int64{16}, 7)
	zero := modules.Tensor(t, make([]float32, 16))
	call(t, a, "load_params", params)
	before := runtime.Live().TensorBytes
	call(t, b, "share_params", a, params)
	require.Equal(t, before, runtime.Live().TensorBytes, "no copy")
	run := func(s *runtime.Module) float32 {
		call(t, s, "set_input", "x", zero)
		call(t, s, "run")
		return output[float32](t, s, 0)[1]
	}
	require.Equal(t, float32(7), run(b))
	require.NoError(t, a.Close())
	require.Equal(t, float32(7), run(b))
	c := create(t, text, lib, cpu)
	call(t, c, "share_params", b, params)
	call(t, c, "set_input", "w", zero)
	require.Equal(t, float32(0), run(c))
	require.Equal(t, float32(7), run(b))
}

// Parameters in the library, by its own function and by the caller's.
func TestParams_Linked(t *testing.T) {
	text, _ := sum(t)
	w := modules.Tensor(t, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	zero := modules.Tensor(t, make([]float32, 16))
	add := func(args []*runtime.Tensor) error {
		a, b := must.Get(runtime.ToSlice[float32](args[0]))(t), must.Get(runtime.ToSlice[float32](args[1]))(t)
		for i := range a {
			a[i] += b[i]
		}
		return runtime.CopyFrom(args[2], a)
	}
	asked := 0
	lib := must.Open(runtime.NewModule("go", runtime.Runnable, linkedModule{goModule{
		functions: map[string]func(args []*runtime.Tensor) error{"add": add}}, w}))(t)
	lookup := must.Open(runtime.NewFunction(func(args ...any) (any, error) {
		asked++
		if args[1].(int64) != 1 {
			return nil, nil
		}
		return w, nil
	}))(t)
	create := must.Open(runtime.Global("tvm.graph_executor.create"))(t)
	for _, args := range [][]any{{text, lib, int(dlpack.CPU), 0}, {text, lib, lookup, int(dlpack.CPU), 0}} {
		s := must.Get(create.Call(args...))(t).(*runtime.Module)
		call(t, s, "set_input", "x", zero)
		call(t, s, "run")
		require.Equal(t, float32(16), output[float32](t, s, 0)[15])
		call(t, s, "set_input", "w", zero) // the library's memory may be read-only
		call(t, s, "run")
		require.Equal(t, float32(0), output[float32](t, s, 0)[15])
		require.Equal(t, float32(16), modules.Slice[float32](t, w)[15])
		s.Close()
	}
	require.Equal(t, 2, asked)
}

// linkedModule has the tensor w as the parameter with storage id 1.
type linkedModule struct {
	goModule
	w *runtime.Tensor
}

func (m linkedModule) Function(name string) (*runtime.Function, error) {
	if name != "_lookup_linked_param" {
		return m.goModule.Function(name)
	}
	return runtime.NewFunction(func(args ...any) (any, error) {
		if args[0].(int64) != 1 {
			return nil, nil
		}
		return runtime.Ptr(*(*unsafe.Pointer)(unsafe.Pointer(ptr(m.w.Data())))), nil
	})
}

func ptr(v uintptr) *uintptr { return &v }
