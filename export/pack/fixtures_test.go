package pack_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

var ctx = context.Background()

// addSignature is the signature of add in k.c, with the launch parameters of device kernels.
const addSignature = "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32) launch " +
	"blockIdx.x=ceildiv(n, 64), threadIdx.x=64"

// write writes a file into a new folder.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
	return path
}

func kernelsOf(inputs []string, signatures ...string) pack.Kernels {
	var k pack.Kernels
	for _, in := range inputs {
		k.Inputs = append(k.Inputs, pack.Input{Path: in})
	}
	for _, s := range signatures {
		k.Functions = append(k.Functions, pack.Function{Signature: s})
	}
	return k
}

// packed packs into a new folder, which must then contain only the output.
func packed(t testing.TB, k pack.Kernels, options ...export.Option) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "k.so")
	require.NoError(t, pack.Library(ctx, k, path, options...))
	require.Len(t, must.Get(os.ReadDir(filepath.Dir(path)))(t), 1)
	return path
}

func function(t testing.TB, m *runtime.Module, name string) *runtime.Function {
	t.Helper()
	return must.Open(m.Function(name))(t)
}

// array returns the content of a test vector's tensor.
func array[T dlpack.Scalar](data []T, shape ...int64) *pack.Array {
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	size := len(data) * int(unsafe.Sizeof(data[0]))
	return &pack.Array{DType: dlpack.DataTypeOf[T](), Shape: shape,
		Data: append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), size)...)}
}
