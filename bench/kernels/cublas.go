package kernels

/*
#include <stdint.h>

// The functions of cuBLAS, with the types of its interface: a handle, enumerations, and pointers to device memory.
typedef int (*create)(void** handle);
typedef int (*sgemm)(void* handle, int opa, int opb, int m, int n, int k, const float* alpha, uintptr_t a, int lda,
                     uintptr_t b, int ldb, const float* beta, uintptr_t c, int ldc);
typedef int (*gemm_ex)(void* handle, int opa, int opb, int m, int n, int k, const void* alpha, uintptr_t a, int ta,
                       int lda, uintptr_t b, int tb, int ldb, const void* beta, uintptr_t c, int tc, int ldc,
                       int compute, int algorithm);

static int call_create(void* f, void** handle) { return ((create)f)(handle); }

// cuBLAS stores columns together: the product of the transposed matrices, in the other order, is that of ours.
static int product_f32(void* f, void* handle, int n, uintptr_t x, uintptr_t y, uintptr_t z) {
  const float one = 1, zero = 0;
  return ((sgemm)f)(handle, 0, 0, n, n, n, &one, y, n, x, n, &zero, z, n);
}
static int product_f16(void* f, void* handle, int n, uintptr_t x, uintptr_t y, uintptr_t z) {
  enum { R_16F = 2, COMPUTE_32F = 68, ALGORITHM_DEFAULT = -1 };
  const float one = 1, zero = 0;
  return ((gemm_ex)f)(handle, 0, 0, n, n, n, &one, y, R_16F, n, x, R_16F, n, &zero, z, R_16F, n, COMPUTE_32F,
                      ALGORITHM_DEFAULT);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/dl"
	"tvmgo/runtime"
)

// libraryOfCuBLAS is the environment variable with the path of cuBLAS, for a machine where the linker does not find it.
const libraryOfCuBLAS = "CUBLAS_LIBRARY"

// ErrNoCuBLAS says that this machine has no cuBLAS.
var ErrNoCuBLAS = errors.New("there is no cuBLAS: install it, or set " + libraryOfCuBLAS)

// openCuBLAS returns a call of cuBLAS that computes the product of two square matrices, on the default stream, with
// sums in float32. It uses TF32 for none of them: that is cuBLAS's default.
func openCuBLAS(a *Arrays) (call func() error, err error) {
	if a.device.Type != dlpack.CUDA {
		return nil, ErrNoCuBLAS
	}
	return bindCuBLAS(a)
}

// bindCuBLAS is openCuBLAS for arrays at any addresses.
func bindCuBLAS(a *Arrays) (call func() error, err error) {
	var library *dl.Handle
	for _, name := range []string{os.Getenv(libraryOfCuBLAS), "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"} {
		if name != "" && library == nil {
			library, err = dl.OpenFile(name)
		}
	}
	if library == nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCuBLAS, err)
	}
	name, product := "cublasSgemm_v2", func(f, handle unsafe.Pointer, n C.int, x, y, z C.uintptr_t) C.int {
		return C.product_f32(f, handle, n, x, y, z)
	}
	if a.all[0].DType() == dlpack.Float16 {
		name, product = "cublasGemmEx", func(f, handle unsafe.Pointer, n C.int, x, y, z C.uintptr_t) C.int {
			return C.product_f16(f, handle, n, x, y, z)
		}
	}
	create, gemm := library.Symbol("cublasCreate_v2"), library.Symbol(name)
	if create == nil || gemm == nil {
		return nil, fmt.Errorf("%s lacks %s", library.Path(), name)
	}
	var handle unsafe.Pointer
	if status := C.call_create(create, &handle); status != 0 {
		return nil, fmt.Errorf("%s: cublasCreate_v2 returns %d", library.Path(), status)
	}
	at := func(t *runtime.Tensor) C.uintptr_t { return C.uintptr_t(uint64(t.Data()) + t.ByteOffset()) }
	x, y, z := at(a.all[0]), at(a.all[1]), at(a.all[2])
	n := C.int(a.all[0].Shape()[0])
	return func() error {
		if status := product(gemm, handle, n, x, y, z); status != 0 {
			return fmt.Errorf("%s returns %d", name, status)
		}
		return nil
	}, nil
}
