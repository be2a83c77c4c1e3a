//go:build opencl

package opencl_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir/text"
)

func boundsLibrary(t *testing.T, to string) *runtime.Module {
	t.Helper()
	m := must.Get(text.Parse(gpuprograms.BoundsKernels))(t)
	k := must.Get(target.New(to))(t)
	built := must.Get(codegen.Build(m, k))(t)
	defer built.Close()
	path := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, export.Library(context.Background(), built, path))
	return gputest.Module(t, path)
}

func filled[T dlpack.Scalar](t *testing.T, values []T) *runtime.Tensor {
	t.Helper()
	host := must.Get(runtime.FromSlice(values))(t)
	defer host.Close()
	x := must.Open(runtime.NewTensor(host.DType(), host.Shape(), devices[0]))(t)
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

// TestBoundsCheck skips accesses that are outside, and reports the first of them as functions on the CPU do.
func TestBoundsCheck(t *testing.T) {
	need(t)
	m := boundsLibrary(t, "opencl -bounds-check")
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
	zeros := func() *runtime.Tensor { return filled(t, make([]float32, 8)) }
	a := zeros()
	for range 3 { // each call has its own record
		refused("index -(1[0-4]|[1-9]) is outside of dimension 0 of buffer A, which has 8", "fill", a, 14)
		require.Equal(t, []float32{3, 3, 0, 0, 0, 0, 0, 0}, got(a), "the others are below index 0")
	}
	refused("index ([89]|1[0-9]|2[01]) is outside of dimension 0 of buffer A, which has 8", "fill", a, -6)
	require.Equal(t, []float32{3, 3, 0, 0, 0, 0, 3, 3}, got(a), "the others are beyond the end")
	b := zeros()
	refused("index (-1|1073741824|8|-2147483648) is outside of dimension 0 of buffer A, which has 8", "gather", a,
		filled(t, []int32{0, -1, 1 << 30, 7, 8, -1 << 31, 6, 1}), b)
	require.Equal(t, []float32{4, 1, 1, 4, 1, 1, 4, 4}, got(b))
	refused("index -2147483648 is outside of dimension 0 of buffer A, which has 8", "gather", a,
		filled(t, []int32{0, 1, 2, -1 << 31, 4, 5, 6, 7}), b)
	require.NoError(t, callOf(t, m, "gather", a, filled(t, []int32{7, 6, 5, 4, 3, 2, 1, 0}), b))
	require.Equal(t, []float32{4, 4, 1, 1, 1, 1, 4, 4}, got(b))
	c := zeros()
	refused("index (9|10) is outside of dimension 0 of buffer A, which has 8", "vectors", c, 2)
	require.Equal(t, []float32{0, 0, 5, 5, 5, 5, 0, 0}, got(c), "a vector that is partly outside is skipped")
	refused("index (-1|10) is outside of dimension 0 of buffer A, which has 8", "vectors", c, -1)
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "vectors", c, 0)

	// several kernels
	upwards, one := filled(t, []int32{0, 1, 2, 3, 4, 5, 6, 7}), filled(t, []int32{0, 0, 0, 0, 0, 0, 0, 6})
	require.NoError(t, callOf(t, m, "two", a, upwards, b, 0))
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "two", a, upwards, b, 2)
	require.Equal(t, []float32{2, 2, 2, 2, 2, 2, 0, 0}, got(b), "the launches after it still happen")
	// the function returns early
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "two", a, one, b, 3)
	refused("index 8 is outside of dimension 0 of buffer A, which has 8", "two", a, filled(t, make([]int32, 8)), b, 1)
	// the second of several dimensions, and a size that only the call determines
	s := filled(t, make([]float32, 12))
	x := must.Open(s.View(dlpack.Float32, []int64{2, 6}, nil, 0))(t)
	two := filled(t, make([]float32, 2))
	require.NoError(t, callOf(t, m, "square", x, filled(t, []int32{5, 0}), two))
	refused("index 6 is outside of dimension 1 of buffer A, which has 6", "square", x, filled(t, []int32{6, 5}), two)
	// branches that are not taken are not reported
	require.NoError(t, callOf(t, m, "pick", a, filled(t, []int32{0, 8, 1 << 30, 7, 0, 0, 0, 0}), b))
	refused("index -3 is outside of dimension 0 of buffer A, which has 8", "pick", a,
		filled(t, []int32{0, 8, -3, 7, 0, 0, 0, 0}), b)
	require.NoError(t, callOf(t, m, "quads", a, upwards, b))
	require.Equal(t, got(a), got(b))
	refused("index 9 is outside of dimension 0 of buffer A, which has 8", "quads", a,
		filled(t, []int32{0, 1, 2, 3, 4, 9, 6, 7}), b)
	require.NoError(t, callOf(t, m, "relu", matrix(t), matrix(t)))
}

// TestBoundsCheck_NothingLeaks expects calls to free their records, also those that fail.
func TestBoundsCheck_NothingLeaks(t *testing.T) {
	need(t)
	m := boundsLibrary(t, "opencl -bounds-check")
	f := must.Open(m.Function("gather"))(t)
	a, b := filled(t, make([]float32, 8)), filled(t, make([]float32, 8))
	good, bad := filled(t, make([]int32, 8)), filled(t, []int32{0, 0, 0, 8, 0, 0, 0, 0})
	calls := func() {
		must.Get(f.Call(a, good, b))(t)
		require.ErrorContains(t, must.Fail(f.Call(a, bad, b)), "index 8 is outside")
	}
	calls()
	live := runtime.Live()
	stats := must.Get(runtime.WorkspaceMemory(devices[0]))(t)
	for range 50 {
		calls()
	}
	require.Equal(t, live, runtime.Live())
	after := must.Get(runtime.WorkspaceMemory(devices[0]))(t)
	require.Equal(t, stats.InUse, after.InUse)
	require.Equal(t, stats.Held, after.Held)
}

// TestBoundsCheck_FreeOfRecords expects no record if all indices are proved to be in bounds.
func TestBoundsCheck_FreeOfRecords(t *testing.T) {
	need(t)
	for to, want := range map[string]bool{"opencl -bounds-check": true, "opencl": false} {
		m := must.Get(text.Parse(gpuprograms.BoundsKernels))(t)
		k := must.Get(target.New(to))(t)
		built := must.Get(codegen.Build(m, k))(t)
		code := must.Get(built.GetSource("c"))(t)
		require.Equal(t, want, strings.Contains(code, "tvmgo_check_reports("), to)
		relu := code[strings.LastIndex(code, "\nstatic int32_t relu_body("):]
		relu, _, _ = strings.Cut(relu, "\n}\n")
		require.Contains(t, relu, "relu_kernel")
		require.NotContains(t, relu, "record", to)
		built.Close()
	}
}

func matrix(t *testing.T) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.NewTensor(dlpack.Float32, []int64{4, 4}, devices[0]))(t)
}

// TestAliasCheck compares handles of device memory, and the parts of it that tensors use.
func TestAliasCheck(t *testing.T) {
	need(t)
	m := boundsLibrary(t, "opencl")
	x, y := matrix(t), matrix(t)
	require.NoError(t, callOf(t, m, "transpose", x, y))
	require.ErrorContains(t, callOf(t, m, "transpose", x, x),
		"transpose: argument 0 (A) and argument 1 (B) overlap in memory")
	require.NoError(t, callOf(t, m, "relu", x, x))
	require.NoError(t, callOf(t, boundsLibrary(t, "opencl -alias-check=0"), "transpose", x, x))
}

// TestAliasCheck_Parts compares parts of one allocation, which have the same handle, by their offsets.
func TestAliasCheck_Parts(t *testing.T) {
	need(t)
	m := boundsLibrary(t, "opencl")
	base, other := filled(t, make([]float32, 32)), filled(t, make([]float32, 32))
	part := func(x *runtime.Tensor, at int64) *runtime.Tensor {
		return must.Open(x.View(dlpack.Float32, []int64{8}, nil, at*4))(t)
	}
	for at, overlaps := range map[int64]bool{0: false, 1: true, 7: true, 8: true, 9: true, 15: true, 16: false,
		24: false} {
		err := callOf(t, m, "mirror", part(base, 8), part(base, at))
		if overlaps {
			require.ErrorContains(t, err,
				"mirror: argument 0 (A) and argument 1 (B) overlap in memory: the function writes B, and reads A",
				"%d", at)
		} else {
			require.NoError(t, err, "%d", at)
		}
		require.NoError(t, callOf(t, m, "mirror", part(base, 8), part(other, at)), "memory of its own, %d", at)
	}
}

// TestAliasCheck_Many compares the handles of a function with so many tensors that its entry has a table of the pairs.
// Two handles are closer to each other, as numbers, than the length of a tensor.
func TestAliasCheck_Many(t *testing.T) {
	need(t)
	m := boundsLibrary(t, "opencl")
	args := make([]any, 5)
	for i := range args {
		args[i] = filled(t, make([]float32, 65536))
	}
	require.NoError(t, callOf(t, m, "many", args...))
	for i := range args {
		for j := range i {
			same := slices.Clone(args)
			same[i] = same[j]
			require.ErrorContains(t, callOf(t, m, "many", same...),
				fmt.Sprintf("argument %d (%c) and argument %d (%c) overlap in memory: the function writes both", j,
					'A'+j, i, 'A'+i))
		}
	}
}
