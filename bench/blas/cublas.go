package blas

/*
#include <stdint.h>

// The functions of cuBLAS, with the types of its interface: a handle, enumerations, and pointers to device memory.
typedef int (*create)(void** handle);
typedef int (*destroy)(void* handle);
typedef int (*sgemm)(void* handle, int opa, int opb, int m, int n, int k, const float* alpha, uintptr_t a, int lda,
                     uintptr_t b, int ldb, const float* beta, uintptr_t c, int ldc);
typedef int (*gemm_ex)(void* handle, int opa, int opb, int m, int n, int k, const void* alpha, uintptr_t a, int ta,
                       int lda, uintptr_t b, int tb, int ldb, const void* beta, uintptr_t c, int tc, int ldc,
                       int compute, int algorithm);

static int call_create(void* f, void** handle) { return ((create)f)(handle); }
static int call_destroy(void* f, void* handle) { return ((destroy)f)(handle); }

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
	"fmt"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

var cuBLAS = vendor{"cuBLAS", "CUBLAS_LIBRARY", []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"},
	"install NVIDIA's CUDA toolkit (Debian: libcublas12)"}

// CuBLAS is the product of float32 (cublasSgemm) or float16 (cublasGemmEx) on a CUDA device, with sums in float32. It
// does not use TF32: that is cuBLAS's default.
func CuBLAS(x, y, z *runtime.Tensor) (*Product, error) {
	n, err := check(cuBLAS, dlpack.CUDA, x, y, z, dlpack.Float32, dlpack.Float16)
	if err != nil {
		return nil, err
	}
	return bindCuBLAS(n, x, y, z)
}

// bindCuBLAS is CuBLAS for matrices at any addresses.
func bindCuBLAS(n int, x, y, z *runtime.Tensor) (*Product, error) {
	library, err := cuBLAS.open()
	if err != nil {
		return nil, err
	}
	name, product := "cublasSgemm_v2", func(f, handle unsafe.Pointer, n C.int, x, y, z C.uintptr_t) C.int {
		return C.product_f32(f, handle, n, x, y, z)
	}
	if x.DType() == dlpack.Float16 {
		name, product = "cublasGemmEx", func(f, handle unsafe.Pointer, n C.int, x, y, z C.uintptr_t) C.int {
			return C.product_f16(f, handle, n, x, y, z)
		}
	}
	functions := map[string]unsafe.Pointer{"cublasCreate_v2": nil, "cublasDestroy_v2": nil, name: nil}
	for f := range functions {
		if functions[f] = library.Symbol(f); functions[f] == nil {
			return nil, cuBLAS.lacks(library, f)
		}
	}
	var handle unsafe.Pointer
	if status := C.call_create(functions["cublasCreate_v2"], &handle); status != 0 {
		return nil, fmt.Errorf("%s: cublasCreate_v2 returns %d", library.Path(), status)
	}
	a, b, c := C.uintptr_t(address(x)), C.uintptr_t(address(y)), C.uintptr_t(address(z))
	return &Product{Library: library.Path(), Sums: dlpack.Float32, all: [3]*runtime.Tensor{x, y, z},
		Call: func() error {
			if status := product(functions[name], handle, C.int(n), a, b, c); status != 0 {
				return fmt.Errorf("%s returns %d", name, status)
			}
			return nil
		},
		close: func() error {
			if status := C.call_destroy(functions["cublasDestroy_v2"], handle); status != 0 {
				return fmt.Errorf("cublasDestroy_v2 returns %d", status)
			}
			return nil
		}}, nil
}
