package blas

/*
#include <stdint.h>

// The functions of OpenBLAS.
typedef void (*set_threads)(int n);
typedef void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const void* a, int lda,
                      const void* b, int ldb, float beta, void* c, int ldc);

static void call_set_threads(void* f, int n) { ((set_threads)f)(n); }
static void openblas_f32(void* f, int n, uintptr_t x, uintptr_t y, uintptr_t z) {
  enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
  ((sgemm)f)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, (const void*)x, n, (const void*)y, n, 0, (void*)z, n);
}
*/
import "C"

import (
	"os"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

var openBLAS = vendor{"OpenBLAS", "OPENBLAS_LIBRARY", []string{"libopenblas.so.0"},
	"install it (Debian: libopenblas0)"}

// OpenBLAS is the product of float32 on the CPU (cblas_sgemm), with as many threads as the runtime has.
func OpenBLAS(x, y, z *runtime.Tensor) (*Product, error) {
	n, err := check(openBLAS, dlpack.CPU, x, y, z, dlpack.Float32)
	if err != nil {
		return nil, err
	}
	// Its threads sleep between calls instead of waiting in a loop, which would slow down what is measured next.
	const timeout = "OPENBLAS_THREAD_TIMEOUT" // 2 to the power of it are the cycles that a thread waits
	if os.Getenv(timeout) == "" {
		if err := os.Setenv(timeout, "4"); err != nil {
			return nil, err
		}
	}
	library, err := openBLAS.open()
	if err != nil {
		return nil, err
	}
	f, threads := library.Symbol("cblas_sgemm"), library.Symbol("openblas_set_num_threads")
	if f == nil {
		return nil, openBLAS.lacks(library, "cblas_sgemm")
	}
	if threads == nil {
		return nil, openBLAS.lacks(library, "openblas_set_num_threads")
	}
	a, b, c := C.uintptr_t(address(x)), C.uintptr_t(address(y)), C.uintptr_t(address(z))
	return &Product{Library: library.Path(), Sums: dlpack.Float32, all: [3]*runtime.Tensor{x, y, z}, Call: func() error {
		C.call_set_threads(threads, C.int(runtime.NumThreads()))
		C.openblas_f32(f, C.int(n), a, b, c)
		return nil
	}}, nil
}
