package gpuprograms

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func (h *Harness) boundsLibrary(t *testing.T) *runtime.Module {
	t.Helper()
	return h.LibraryFor(t, Parsed(t, BoundsKernels), h.Target(t, "bounds-check"))
}

// filled returns a tensor on the first device; without a shape it has one dimension.
func filled[T dlpack.Scalar](t *testing.T, h *Harness, values []T, shape ...int64) *runtime.Tensor {
	t.Helper()
	host := must.Get(runtime.FromSlice(values, shape...))(t)
	defer host.Close()
	x := must.Open(runtime.NewTensor(host.DType(), host.Shape(), h.Devices[0]))(t)
	require.NoError(t, x.CopyFromTensor(host, nil))
	return x
}

func callOf(t *testing.T, m *runtime.Module, name string, args ...any) error {
	t.Helper()
	f := must.Get(m.Function(name))(t)
	defer f.Close()
	_, err := f.Call(args...)
	return err
}

// BoundsCheck skips accesses that are outside, and reports the first of them as functions on the CPU do.
func (h *Harness) BoundsCheck(t *testing.T) {
	h.Need(t)
	m := h.boundsLibrary(t)
	t.Run("NothingLeaks", func(t *testing.T) { h.nothingLeaks(t, m) })
	got := func(x *runtime.Tensor) []float32 {
		t.Helper()
		return must.Get(runtime.ToSlice[float32](x))(t)
	}
	refused := func(why, name string, args ...any) {
		t.Helper()
		err := callOf(t, m, name, args...)
		var e *runtime.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "IndexError", e.Code)
		require.Regexp(t, "^(call )?"+name+": "+why+": pass a larger tensor, or other indices", e.Message)
	}
	zeros := func() *runtime.Tensor { return filled(t, h, make([]float32, 8)) }
	a := zeros()
	for range 3 { // each call has its own record
		refused("index -(1[0-4]|[1-9]) is outside of dimension 0 of buffer A, which has 8", "fill", a, 14)
		require.Equal(t, []float32{3, 3, 0, 0, 0, 0, 0, 0}, got(a), "the others are below index 0")
	}
	refused("index ([89]|1[0-9]|2[01]) is outside of dimension 0 of buffer A, which has 8", "fill", a, -6)
	require.Equal(t, []float32{3, 3, 0, 0, 0, 0, 3, 3}, got(a), "the others are beyond the end")
	b := zeros()
	refused("index (-1|1073741824|8|-2147483648) is outside of dimension 0 of buffer A, which has 8", "gather", a,
		filled(t, h, []int32{0, -1, 1 << 30, 7, 8, -1 << 31, 6, 1}), b)
	require.Equal(t, []float32{4, 1, 1, 4, 1, 1, 4, 4}, got(b))
	refused("index -2147483648 is outside of dimension 0 of buffer A, which has 8", "gather", a,
		filled(t, h, []int32{0, 1, 2, -1 << 31, 4, 5, 6, 7}), b)
	require.NoError(t, callOf(t, m, "gather", a, filled(t, h, []int32{7, 6, 5, 4, 3, 2, 1, 0}), b))
	require.Equal(t, []float32{4, 4, 1, 1, 1, 1, 4, 4}, got(b))
	c := zeros()
	refused("index (9|10) is outside of dimension 0 of buffer A, which has 8", "vectors", c, 2)
	require.Equal(t, []float32{0, 0, 5, 5, 5, 5, 0, 0}, got(c), "a vector that is partly outside is skipped")
	refused("index (-1|10) is outside of dimension 0 of buffer A, which has 8", "vectors", c, -1)
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "vectors", c, 0)

	// several kernels
	upwards := filled(t, h, []int32{0, 1, 2, 3, 4, 5, 6, 7})
	require.NoError(t, callOf(t, m, "two", a, upwards, b, 0))
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "two", a, upwards, b, 2)
	require.Equal(t, []float32{2, 2, 2, 2, 2, 2, 0, 0}, got(b), "the launches after it still happen")
	// the function returns early
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "two", a, upwards, b, 3)
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "two", a, upwards, b, 1)
	// the second of several dimensions, and a size that only the call determines
	s := filled(t, h, make([]float32, 12))
	x := must.Open(s.View(dlpack.Float32, []int64{2, 6}, nil, 0))(t)
	two := filled(t, h, make([]float32, 2))
	require.NoError(t, callOf(t, m, "square", x, filled(t, h, []int32{5, 0}), two))
	refused("index 6 is outside of dimension 1 of buffer A, which has 6", "square", x, filled(t, h, []int32{6, 5}), two)
	// branches that are not taken are not reported
	require.NoError(t, callOf(t, m, "pick", a, filled(t, h, []int32{0, 8, 1 << 30, 7, 0, 0, 0, 0}), b))
	refused("index -3 is outside of dimension 0 of buffer A, which has 8", "pick", a,
		filled(t, h, []int32{0, 8, -3, 7, 0, 0, 0, 0}), b)
	require.NoError(t, callOf(t, m, "quads", a, upwards, b))
	require.Equal(t, got(a), got(b))
	refused("index 9 is outside of dimension 0 of buffer A, which has 8", "quads", a,
		filled(t, h, []int32{0, 1, 2, 3, 4, 9, 6, 7}), b)
	matrix := func() *runtime.Tensor { return filled(t, h, make([]float32, 16), 4, 4) }
	require.NoError(t, callOf(t, m, "relu", matrix(), matrix()))
}

// nothingLeaks expects calls to free their records, also those that fail.
func (h *Harness) nothingLeaks(t *testing.T, m *runtime.Module) {
	f := must.Open(m.Function("gather"))(t)
	a, b := filled(t, h, make([]float32, 8)), filled(t, h, make([]float32, 8))
	good, bad := filled(t, h, make([]int32, 8)), filled(t, h, []int32{0, 0, 0, 8, 0, 0, 0, 0})
	calls := func() {
		must.Get(f.Call(a, good, b))(t)
		require.ErrorContains(t, must.Fail(f.Call(a, bad, b)), "index 8 is outside")
	}
	calls()
	live := runtime.Live()
	stats := must.Get(runtime.WorkspaceMemory(h.Devices[0]))(t)
	for range 50 {
		calls()
	}
	require.Equal(t, live, runtime.Live())
	after := must.Get(runtime.WorkspaceMemory(h.Devices[0]))(t)
	require.Equal(t, stats.InUse, after.InUse)
	require.Equal(t, stats.Held, after.Held)
}
