//go:build cuda

package cuda_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir/text"
)

// marks returns a library of a function that adds a number to each element: another one in the variant of each target,
// so that a result shows which of them ran.
func marks(t *testing.T, by map[string]int) *runtime.Module {
	t.Helper()
	var variants []codegen.Variant
	for to, mark := range by {
		loop := "for i in range(100) {"
		if to != "c" {
			loop = `thread i in range(100), thread "threadIdx.x" {`
		}
		program := fmt.Sprintf("func f(A: handle) {\n  buffer a: float32[100], param A\n  %s a[i] = a[i] + %d.0 }\n}\n", loop,
			mark)
		variants = append(variants, codegen.Variant{Target: must.Get(target.New(to))(t),
			Program: must.Get(text.Parse(program))(t)})
	}
	m := must.Get(codegen.BuildVariants(variants))(t)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "fat.so")
	require.NoError(t, export.Library(context.Background(), m, path))
	return gputest.Module(t, path)
}

// The compute capability of a device, here 9.0, selects among several architectures in one file; their kernels are real
// ones, executed on the CPU.
func TestFat_SelectsArchitecture(t *testing.T) {
	cudarun.Use(t)
	require.Equal(t, "9.0", must.Get(runtime.DeviceAttr(cudarun.Device, runtime.AttrComputeVersion))(t))
	run := func(m *runtime.Module, device dlpack.Device) (float32, error) {
		x := must.Open(runtime.NewTensor(dlpack.Float32, []int64{100}, device))(t)
		require.NoError(t, x.CopyFromBytes(make([]byte, 400)))
		if _, err := gputest.Function(t, m, "f").Call(x); err != nil {
			return 0, err
		}
		got := must.Get(runtime.ToSlice[float32](x))(t)
		require.Equal(t, got[0], got[99])
		return got[57], nil
	}
	for _, row := range []struct {
		by   map[string]int
		want float32
	}{
		{map[string]int{"c": 1, "cuda -arch=sm_75": 75, "cuda -arch=sm_80": 80, "cuda -arch=sm_90": 90,
			"cuda -arch=sm_100": 100}, 90},
		{map[string]int{"c": 1, "cuda -arch=sm_75": 75, "cuda -arch=sm_86": 86, "cuda -arch=sm_100": 100}, 86},
		{map[string]int{"c": 1, "cuda -arch=sm_80": 80}, 80},
	} {
		m := marks(t, row.by)
		require.Equal(t, float32(1), must.Get(run(m, runtime.CPU))(t))
		require.Equal(t, row.want, must.Get(run(m, cudarun.Device))(t))
	}
	m := marks(t, map[string]int{"c": 1, "cuda -arch=sm_100": 100, "cuda -arch=sm_120": 120})
	_, err := run(m, cudarun.Device)
	require.ErrorContains(t, err, "f: argument 0 (a): the tensor is on cuda:0, which has compute capability 9.0, and the "+
		"file has f for cuda (cuda -arch=sm_120; cuda -arch=sm_100): build it for a target that this device is suitable "+
		"for, too")
	require.Equal(t, float32(1), must.Get(run(m, runtime.CPU))(t))
}
