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

// Accesses that are outside are skipped and reported.
func TestBoundsCheck(t *testing.T) { harness.BoundsCheck(t) }

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
