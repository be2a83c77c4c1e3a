package blas_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/blas"
	"tvmgo/bench/operators"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/tir"
)

// product is a library's function.
type product func(x, y, z *runtime.Tensor) (*blas.Product, error)

// check returns the error of a library's product of 70 x 70, compared with the reference.
func check(t *testing.T, on dlpack.DeviceType, of tir.Type, library product) error {
	a := must.Open(operators.NewArrays(operators.Matmul(70, of), dlpack.Device{Type: on}))(t)
	x := a.Tensors()
	p, err := library(x[0], x[1], x[2])
	if err != nil {
		return err
	}
	defer func() {
		require.NoError(t, p.Close())
		require.NoError(t, p.Close())
	}()
	a.HalfSums = p.Sums == dlpack.Float16
	_, err = a.Check(t.Context(), func() error {
		if err := p.Call(); err != nil {
			return err
		}
		return runtime.SyncDevice(t.Context(), a.Device)
	})
	return err
}

func TestOpenBLAS(t *testing.T) {
	require.NoError(t, check(t, dlpack.CPU, tir.Float32, blas.OpenBLAS))
	err := check(t, dlpack.CPU, tir.Float16, blas.OpenBLAS)
	require.ErrorIs(t, err, blas.ErrMissing)
	require.ErrorContains(t, err, "OpenBLAS has no product of float16")
	err = check(t, dlpack.CPU, tir.Float32, blas.CLBlast)
	require.ErrorContains(t, err, "CLBlast computes on opencl, and a matrix is on cpu:0")
}

// CLBlast computes in the queue of the runtime's stream: what the stream wrote before is read, and its wait is enough.
func TestCLBlast(t *testing.T) {
	if !runtime.DeviceExists(dlpack.Device{Type: dlpack.OpenCL}) {
		gputest.Missing(t, dlpack.OpenCL, "there is no device")
	}
	gputest.NoLeaks(t, []dlpack.Device{{Type: dlpack.OpenCL}})
	require.NoError(t, check(t, dlpack.OpenCL, tir.Float32, blas.CLBlast))
	if err := check(t, dlpack.OpenCL, tir.Float16, blas.CLBlast); err != nil {
		require.ErrorIs(t, err, blas.ErrMissing)
		require.ErrorContains(t, err, "lacks cl_khr_fp16")
	}
	// exchanged operands are noticed
	require.ErrorIs(t, check(t, dlpack.OpenCL, tir.Float32, func(x, y, z *runtime.Tensor) (*blas.Product, error) {
		return blas.CLBlast(y, x, z)
	}), bench.ErrWrongResult)
}

// A library that is not installed, or is another one, is ErrMissing with what to do.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		variable string
		on       dlpack.DeviceType
		library  product
		cure     string
	}{
		{"OPENBLAS_LIBRARY", dlpack.CPU, blas.OpenBLAS, "there is no OpenBLAS: install it (Debian: libopenblas0), or set "},
		{"CLBLAST_LIBRARY", dlpack.OpenCL, blas.CLBlast, "there is no CLBlast: install it (Debian: libclblast1), or set "},
	} {
		if !runtime.DeviceExists(dlpack.Device{Type: c.on}) {
			continue
		}
		t.Setenv(c.variable, "/no/such/library.so")
		err := check(t, c.on, tir.Float32, c.library)
		require.ErrorIs(t, err, blas.ErrMissing)
		require.ErrorContains(t, err, c.cure+c.variable+" to its file")
		require.ErrorContains(t, err, "/no/such/library.so")
		t.Setenv(c.variable, "libm.so.6")
		err = check(t, c.on, tir.Float32, c.library)
		require.ErrorIs(t, err, blas.ErrMissing)
		require.ErrorContains(t, err, "has no function")
	}
}

func TestProducts_OfOtherShapes(t *testing.T) {
	x := must.Open(runtime.FromSlice([]float32{1, 2}, 1, 2))(t)
	_, err := blas.OpenBLAS(x, x, x)
	require.ErrorContains(t, err, "want square matrices of one size and type")
}

// fakeCuBLAS is a library with the conventions of cuBLAS on memory of the host.
func fakeCuBLAS(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libcublas.so")
	out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, "testdata/cublas.c").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("CUBLAS_LIBRARY", library)
}

// Products of cuBLAS, here a library with its conventions on memory of the host, are those of the operator.
func TestCuBLAS(t *testing.T) {
	err := check(t, dlpack.CPU, tir.Float32, blas.CuBLAS)
	require.ErrorContains(t, err, "cuBLAS computes on cuda, and a matrix is on cpu:0")
	if os.Getenv("CUBLAS_LIBRARY") == "" {
		t.Setenv("CUBLAS_LIBRARY", "/no/such/libcublas.so")
		require.ErrorIs(t, check(t, dlpack.CPU, tir.Float32, blas.OnHost), blas.ErrMissing)
	}
	fakeCuBLAS(t)
	require.NoError(t, check(t, dlpack.CPU, tir.Float32, blas.OnHost))
	require.NoError(t, check(t, dlpack.CPU, tir.Float16, blas.OnHost))
}
