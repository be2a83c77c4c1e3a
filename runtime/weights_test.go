package runtime_test

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/weights"
)

// saved writes a file with float32 tensors a (3×2, not aligned in .params) and b (16), and an empty one.
func saved(t *testing.T, format weights.Format) string {
	t.Helper()
	list := []weights.Array{
		{Name: "a", DType: dlpack.Float32, Shape: []int64{3, 2}, Data: bytes.Repeat([]byte{0, 0, 128, 63}, 6)},
		{Name: "b", DType: dlpack.Float32, Shape: []int64{16}, Data: bytes.Repeat([]byte{0, 0, 0, 64}, 16)},
		{Name: "none", DType: dlpack.Int8, Shape: []int64{0, 2}, Data: []byte{}},
	}
	path := filepath.Join(t.TempDir(), "w."+string(format))
	require.NoError(t, weights.Write(path, format, list, nil))
	return path
}

// On the CPU a tensor is a view of the file that outlives the set; unaligned elements are copied once.
func TestFromWeights_CPU(t *testing.T) {
	noLeaks(t)
	for _, format := range []weights.Format{weights.NPZ, weights.Params, weights.Safetensors} {
		set := must.Get(weights.Open(saved(t, format)))(t)
		a, b := must.Get(set.Lookup("a"))(t), must.Get(set.Lookup("b"))(t)
		view := format != weights.Params
		require.Equal(t, view, a.IsAligned(), format)
		x := must.Get(runtime.FromWeights(a, runtime.CPU))(t)
		again := must.Get(runtime.FromWeights(a, runtime.CPU))(t)
		y := must.Get(runtime.FromWeights(b, runtime.CPU))(t)
		none := must.Get(runtime.FromWeights(must.Get(set.Lookup("none"))(t), runtime.CPU))(t)
		require.Equal(t, x.Data(), again.Data(), "one copy")
		require.Equal(t, view, a.IsView())
		require.Zero(t, x.Data()%64)
		require.NoError(t, set.Close())
		_, err := runtime.FromWeights(a, runtime.CPU)
		require.NoError(t, err, "tensors hold the set")
		require.Equal(t, []int64{3, 2}, x.Shape())
		require.Equal(t, []int64{0, 2}, none.Shape())
		require.Equal(t, []float32{1, 1, 1, 1, 1, 1}, slice[float32](t, x))
		require.NoError(t, runtime.CopyFrom(x, []float32{1, 2, 3, 4, 5, 6})) // a private change
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, slice[float32](t, again))
		v := must.Get(y.View(dlpack.Float32, []int64{2}, nil, 8))(t)
		for _, c := range []*runtime.Tensor{x, again, y, none} {
			require.NoError(t, c.Close())
		}
		leaks.Collect()
		require.Equal(t, []float32{2, 2}, slice[float32](t, v), "a view holds the set")
		require.NoError(t, v.Close())
		_, err = runtime.FromWeights(a, runtime.CPU)
		requireError(t, err, runtime.ErrClosed, "the set is closed")
	}
}

// Weights makes each tensor once for each device, also for many goroutines.
func TestWeights_UploadedOnce(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	w := must.Get(runtime.OpenWeights(saved(t, weights.Safetensors)))(t)
	require.Equal(t, []string{"b", "none", "a"}, w.Names())
	for _, d := range []dlpack.Device{runtime.CPU, dev} {
		first := must.Get(w.Tensor("b", d))(t)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				x := must.Get(w.Tensor("b", d))(t)
				require.Equal(t, first.Data(), x.Data())
				require.Equal(t, d, x.Device())
				require.NoError(t, x.Close())
			})
		}
		all.Wait()
		require.Equal(t, bytes.Repeat([]byte{0, 0, 0, 64}, 16), func() []byte {
			b := make([]byte, first.Size())
			require.NoError(t, first.CopyToBytes(b))
			return b
		}())
		require.NoError(t, first.Close())
	}
	requireError(t, must.Fail(w.Tensor("c", runtime.CPU)), runtime.ErrNotFound, `"c"`, "did you mean")
	requireError(t, must.Fail(w.Tensor("a", dlpack.Device{Type: dlpack.Hexagon})), runtime.ErrDeviceUnavailable)
	x := must.Get(w.Tensor("a", runtime.CPU))(t)
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.Equal(t, []float32{1, 1, 1, 1, 1, 1}, slice[float32](t, x))
	require.NoError(t, x.Close())
	requireError(t, must.Fail(w.Tensor("a", runtime.CPU)), runtime.ErrClosed, "closed")
	requireError(t, must.Fail(runtime.OpenWeights("/none")), runtime.ErrNotFound, "open weights /none")
}

func callGlobal(t *testing.T, name string, args ...any) (any, error) {
	t.Helper()
	f := must.Get(runtime.Global(name))(t)
	defer f.Close()
	return f.Call(args...)
}

func mustCall(t *testing.T, name string, args ...any) any {
	t.Helper()
	v, err := callGlobal(t, name, args...)
	require.NoError(t, err)
	return v
}

// The functions that TVM's save_param_dict and load_param_dict call.
func TestParams_Globals(t *testing.T) {
	noLeaks(t)
	x, y := tensor(t, []float32{1, 2, 3}, 3), tensor(t, []bool{true, false}, 2, 1)
	given := runtime.Map{{Key: "x", Value: x}, {Key: "y", Value: y}}
	data := mustCall(t, "runtime.SaveParams", given).([]byte)
	path := filepath.Join(t.TempDir(), "w.params")
	require.Nil(t, mustCall(t, "runtime.SaveParamsToFile", given, path))
	for _, v := range []any{mustCall(t, "runtime.LoadParams", data), mustCall(t, "runtime.LoadParamsFromFile", path)} {
		loaded := v.(runtime.Map)
		require.Len(t, loaded, 2)
		require.Equal(t, "x", loaded[0].Key)
		require.Equal(t, []float32{1, 2, 3}, slice[float32](t, loaded[0].Value.(*runtime.Tensor)))
		require.Equal(t, []bool{true, false}, slice[bool](t, loaded[1].Value.(*runtime.Tensor)))
		for _, e := range loaded {
			require.NoError(t, e.Value.(*runtime.Tensor).Close())
		}
	}
	for name, args := range map[string][]any{
		"runtime.SaveParams": {3}, "runtime.LoadParams": {data[:50]}, "runtime.LoadParamsFromFile": {"/none"},
		"runtime.SaveParamsToFile": {given},
	} {
		_, err := callGlobal(t, name, args...)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, x.Close())
	require.NoError(t, y.Close())
}

// The cache of named tensors, by TVM's functions.
func TestTensorCache(t *testing.T) {
	noLeaks(t)
	const in = "vm.builtin.tensor_cache."
	t.Cleanup(func() { mustCall(t, in+"clear") })
	x, y := tensor(t, []float32{1, 2}, 2), tensor(t, []float32{3}, 1)
	mustCall(t, in+"update", "p_0", x)
	_, err := callGlobal(t, in+"update", "p_0", y)
	require.ErrorContains(t, err, `has a tensor "p_0" already`)
	mustCall(t, in+"update", "p_1", x, false)
	mustCall(t, in+"update", "p_1", y, true)
	data := x.Data()
	require.NoError(t, x.Close())
	require.NoError(t, y.Close())
	got := mustCall(t, in+"get", "p_0").(*runtime.Tensor)
	require.Equal(t, data, got.Data(), "the same tensor")
	require.NoError(t, got.Close())
	require.Nil(t, mustCall(t, in+"get", "p_2"))

	list := func(v any) (sizes []int64) {
		for _, e := range v.([]any) {
			sizes = append(sizes, e.(*runtime.Tensor).Len())
			require.NoError(t, e.(*runtime.Tensor).Close())
		}
		return sizes
	}
	const array, module = "vm.builtin.param_array_from_cache", "vm.builtin.param_module_from_cache"
	require.Equal(t, []int64{2, 1}, list(mustCall(t, array, "p", -1)))
	require.Equal(t, []int64{2}, list(mustCall(t, array, "p", 1)))
	require.Equal(t, []int64{1, 2}, list(mustCall(t, array+"_by_name", []any{"p_1", "p_0"})))
	require.Equal(t, []int64{1, 2}, list(mustCall(t, array+"_by_name_unpacked", "p_1", "p_0")))
	_, err = callGlobal(t, array, "p", 3)
	require.ErrorContains(t, err, `the cache has no tensor "p_2"; did you mean`)
	_, err = callGlobal(t, array+"_by_name_unpacked", "p_1", 5)
	require.ErrorContains(t, err, "expected a string")
	for _, v := range []any{mustCall(t, module, "p", -1), mustCall(t, module+"_by_name", []any{"p_0", "p_1"})} {
		m := v.(*runtime.Module)
		require.Equal(t, "param_module", m.Kind())
		f := must.Get(m.Function("get_params"))(t)
		require.Equal(t, []int64{2, 1}, list(must.Get(f.Call())(t)))
		require.NoError(t, f.Close())
		require.NoError(t, m.Close())
	}

	mustCall(t, in+"remove", "p_0")
	mustCall(t, in+"remove", "p_0")
	require.Nil(t, mustCall(t, in+"get", "p_0"))
	dev := fakeDevice(t)
	mustCall(t, in+"load", saved(t, weights.Safetensors), int(dev.Type), int(dev.ID))
	got = mustCall(t, in+"get", "a").(*runtime.Tensor)
	require.Equal(t, dev, got.Device())
	require.NoError(t, got.Close())
	_, err = callGlobal(t, in+"load", "/none", 1, 0)
	require.ErrorContains(t, err, "/none")
	mustCall(t, in+"clear")
	require.Nil(t, mustCall(t, in+"get", "a"))
	require.Empty(t, list(mustCall(t, array, "p", -1)))
}
