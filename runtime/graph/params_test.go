package graph_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gpuprograms"
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

// Parameters of a loaded factory are views of the library if they are aligned, and otherwise one copy; all executors
// share them, and they outlive the factory.
func TestParams_OfALibrary(t *testing.T) {
	noLeaks(t)
	const n = 1 << 16
	fill := func(k int) []float32 {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(k*n + i)
		}
		return data
	}
	nodes := []node{}
	for k := range 4 {
		nodes = append(nodes, node{name: fmt.Sprint("w", k), out: f32(k, n)})
	}
	heads := []ref{}
	for k := range 4 {
		nodes = append(nodes, node{name: fmt.Sprint("y", k), fn: "triple", in: []ref{{k, 0}}, out: f32(4+k, n)})
		heads = append(heads, ref{4 + k, 0})
	}
	lib := gpuprograms.Scaled(t, "c", "triple", n, 3)
	exported := func(pad int) string {
		args := []any{graphText(t, nodes, heads...) + strings.Repeat(" ", pad), lib, "default"}
		for k := range 4 {
			args = append(args, fmt.Sprint("w", k), modules.Tensor(t, fill(k)))
		}
		create := must.Open(runtime.Global("tvm.graph_executor_factory.create"))(t)
		factory := must.Open(must.Get(create.Call(args...))(t).(*runtime.Module), nil)(t)
		path := filepath.Join(t.TempDir(), "model.so")
		require.NoError(t, export.Library(ctx, factory, path))
		return path
	}
	elements := make([]byte, 4*n)
	for i, x := range fill(1) {
		binary.LittleEndian.PutUint32(elements[4*i:], math.Float32bits(x))
	}
	at := bytes.Index(must.Get(os.ReadFile(exported(0)))(t), elements)
	pad := (64 - at%16) % 16 // with it, one of four is aligned
	path := exported(pad)
	m := must.Get(runtime.Load(ctx, path))(t)
	f := must.Open(m.Function("default"))(t)
	s := must.Open(must.Get(f.Call(cpu))(t).(*runtime.Module), nil)(t)
	before := runtime.Live().TensorBytes
	other := must.Open(must.Get(f.Call(cpu))(t).(*runtime.Module), nil)(t)
	require.Equal(t, int64(4*4*n), runtime.Live().TensorBytes-before, "the memory of the four outputs")
	require.NoError(t, m.Close())
	views := 0
	for k := range 4 {
		name := fmt.Sprint("w", k)
		one := call(t, s, "__share_input", name).(*runtime.Tensor)
		two := call(t, other, "__share_input", name).(*runtime.Tensor)
		require.Equal(t, one.Data(), two.Data())
		require.Zero(t, one.Data()%dlpack.AllocAlignment)
		if modules.InFile(t, path, one.Data()) {
			views++
		}
		one.Close()
		two.Close()
	}
	require.Equal(t, 1, views)
	call(t, s, "run")
	for k := range 4 {
		want := fill(k)
		for i := range want {
			want[i] *= 3
		}
		require.True(t, slices.Equal(want, output[float32](t, s, k)))
	}
	own := call(t, s, "get_input", "w1").(*runtime.Tensor)
	require.False(t, modules.InFile(t, path, own.Data()), "a caller gets memory that it may write to")
	require.True(t, slices.Equal(fill(1), modules.Slice[float32](t, own)))
	own.Close()
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
