package kernels

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// Products of cuBLAS, here a library with its conventions on memory of the host, are those of the case.
func TestCuBLAS_Product(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libcublas.so")
	out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, "testdata/cublas.c").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, c := range []Case{matmul("f32", 24, tir.Float32), matmul("f16", 24, tir.Float16)} {
		a, err := NewArrays(c, dlpack.Device{Type: dlpack.CPU})
		require.NoError(t, err)
		defer a.Close()
		_, err = Open(t.Context(), "", a, CuBLAS)
		require.ErrorIs(t, err, ErrNoCuBLAS)
		t.Setenv(libraryOfCuBLAS, library)
		call, err := bindCuBLAS(a)
		require.NoError(t, err)
		require.NoError(t, (&Kernel{arrays: a, call: call}).Check(t.Context()), c.Name)
	}
}
