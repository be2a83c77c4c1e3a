// Package examples tests the C kernel, which the programs in its subdirectories share.
package examples

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func kernel(t *testing.T) *runtime.Function {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "add.so")
	out, err := exec.Command("cc", "-std=c99", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC",
		"-I../include",
		"kernel/add.c", "-o", lib).CombinedOutput()
	require.NoError(t, err, string(out))
	m := must.Get(runtime.Load(context.Background(), lib))(t)
	defer m.Close()
	return must.Open(m.Function("add"))(t)
}

func tensor(t *testing.T, dtype dlpack.DataType, shape ...int64) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.NewTensor(dtype, shape, runtime.CPU))(t)
}

func TestKernel_Adds(t *testing.T) {
	f := kernel(t)
	a := must.Get(runtime.FromSlice([]float32{1, 2, 3}))(t)
	defer a.Close()
	c := tensor(t, dlpack.Float32, 3)
	must.Get(f.Call(a, a, c))(t)
	_, err := f.Call(a, c, a) // in place
	require.NoError(t, err)
	got := must.Get(runtime.ToSlice[float32](a))(t)
	require.Equal(t, []float32{3, 6, 9}, got)

	view, err := c.View(dlpack.Float32, []int64{2}, nil, 4) // begins one element in
	require.NoError(t, err)
	defer view.Close()
	two := tensor(t, dlpack.Float32, 2)
	must.Get(f.Call(view, view, two))(t)
	got = must.Get(runtime.ToSlice[float32](two))(t)
	require.Equal(t, []float32{8, 12}, got)

	empty := tensor(t, dlpack.Float32, 0)
	must.Get(f.Call(empty, empty, empty))(t)
}

func TestKernel_Refuses(t *testing.T) {
	f := kernel(t)
	good := tensor(t, dlpack.Float32, 8)
	every2nd := must.Open(good.View(dlpack.Float32, []int64{4}, []int64{2}, 0))(t)
	for _, c := range []struct {
		args []any
		want string
	}{
		{nil, "add: 3 arguments are needed (A, B, C), got 0"},
		{[]any{good, good, good, good}, "got 4"},
		{[]any{good, 3, good}, "add: B is no tensor (type index 1)"},
		{[]any{good, good, nil}, "add: C is no tensor (type index 0)"},
		{[]any{tensor(t, dlpack.Float64, 8), good, good}, "add: A has elements of type code 2 with 64 bits and 1 " +
			"lanes, not float32"},
		{[]any{good, tensor(t, dlpack.Int32, 8), good}, "add: B has elements of type code 0"},
		{[]any{good, good, tensor(t, dlpack.Float32, 2, 4)}, "add: C has 2 dimensions, not 1"},
		{[]any{good, good, tensor(t, dlpack.Float32)}, "add: C has 0 dimensions, not 1"},
		{[]any{good, good, tensor(t, dlpack.Float32, 7)}, "add: C has 7 elements, A has 8"},
		{[]any{every2nd, every2nd, every2nd}, "add: the elements of A are 2 apart: make it contiguous"},
	} {
		_, err := f.Call(c.args...)
		require.ErrorContains(t, err, c.want)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	}
}
