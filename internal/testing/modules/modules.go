// Package modules loads modules, calls their functions, and makes and reads tensors, for tests.
package modules

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sbinet/npyio"
	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Load loads a module, and closes it at the end of the test. It skips the test as machine.Need does.
func Load(t testing.TB, path string, options ...runtime.LoadOption) *runtime.Module {
	t.Helper()
	machine.Need(t, path)
	return must.Open(runtime.Load(context.Background(), path, options...))(t)
}

// Call calls a function of a module.
func Call(t testing.TB, m *runtime.Module, name string, args ...any) (any, error) {
	t.Helper()
	f := must.Get(m.Function(name))(t)
	defer f.Close()
	return f.Call(args...)
}

// Tensor makes a CPU tensor from data, with one dimension if no shape is given. It is closed at the end of the test.
func Tensor[T dlpack.Scalar](t testing.TB, data []T, shape ...int64) *runtime.Tensor {
	t.Helper()
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	return must.Open(runtime.FromSlice(data, shape...))(t)
}

// Empty makes a CPU tensor that is not initialized. It is closed at the end of the test.
func Empty(t testing.TB, dtype dlpack.DataType, shape ...int64) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.NewTensor(dtype, shape, runtime.CPU))(t)
}

// Slice returns a copy of a tensor's elements.
func Slice[T dlpack.Scalar](t testing.TB, x *runtime.Tensor) []T {
	t.Helper()
	return must.Get(runtime.ToSlice[T](x))(t)
}

// NPY reads an array of float32 and its shape.
func NPY(t testing.TB, path string) ([]float32, []int64) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	r := must.Get(npyio.NewReader(f))(t)
	var data []float32
	require.NoError(t, r.Read(&data))
	var shape []int64
	for _, n := range r.Header.Descr.Shape {
		shape = append(shape, int64(n))
	}
	return data, shape
}

// InFile reports whether an address is in a mapping of a file.
func InFile(t testing.TB, path string, at uintptr) bool {
	t.Helper()
	for line := range strings.Lines(string(must.Get(os.ReadFile("/proc/self/maps"))(t))) {
		begin, end, _ := strings.Cut(strings.Fields(line)[0], "-")
		from, to := must.Get(strconv.ParseUint(begin, 16, 64))(t), must.Get(strconv.ParseUint(end, 16, 64))(t)
		if uint64(at) >= from && uint64(at) < to {
			return strings.HasSuffix(strings.TrimSpace(line), path)
		}
	}
	return false
}
