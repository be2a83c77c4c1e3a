package blas

/*
#include <stddef.h>
#include <stdint.h>

// The functions of CLBlast: buffers are cl_mem, offsets and sizes count elements.
typedef int (*sgemm)(int layout, int ta, int tb, size_t m, size_t n, size_t k, float alpha, uintptr_t a,
                     size_t a_offset, size_t lda, uintptr_t b, size_t b_offset, size_t ldb, float beta, uintptr_t c,
                     size_t c_offset, size_t ldc, uintptr_t* queue, void* event);
typedef int (*hgemm)(int layout, int ta, int tb, size_t m, size_t n, size_t k, uint16_t alpha, uintptr_t a,
                     size_t a_offset, size_t lda, uintptr_t b, size_t b_offset, size_t ldb, uint16_t beta, uintptr_t c,
                     size_t c_offset, size_t ldc, uintptr_t* queue, void* event);

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, HALF_ONE = 0x3c00 };

static int clblast_f32(void* f, size_t n, uintptr_t x, size_t at, uintptr_t y, size_t bt, uintptr_t z, size_t ct,
                       uintptr_t queue) {
  return ((sgemm)f)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, x, at, n, y, bt, n, 0, z, ct, n, &queue, NULL);
}
static int clblast_f16(void* f, size_t n, uintptr_t x, size_t at, uintptr_t y, size_t bt, uintptr_t z, size_t ct,
                       uintptr_t queue) {
  return ((hgemm)f)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, HALF_ONE, x, at, n, y, bt, n, 0, z, ct, n, &queue,
                    NULL);
}
*/
import "C"

import (
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/internal/dl"
	"tvmgo/runtime"
)

var clBlast = vendor{"CLBlast", "CLBLAST_LIBRARY", []string{"libclblast.so.1"}, "install it (Debian: libclblast1)"}

// noHalves is CLBlast's status for a device without cl_khr_fp16.
const noHalves = -2045

// CLBlast is the product of float32 (CLBlastSgemm, with sums in float32) or float16 (CLBlastHgemm, with sums in
// float16) on an OpenCL device. The first call compiles kernels.
func CLBlast(x, y, z *runtime.Tensor) (*Product, error) {
	n, err := check(clBlast, dlpack.OpenCL, x, y, z, dlpack.Float32, dlpack.Float16)
	if err != nil {
		return nil, err
	}
	library, err := clBlast.open()
	if err != nil {
		return nil, err
	}
	name := "CLBlastSgemm"
	if x.DType() == dlpack.Float16 {
		name = "CLBlastHgemm"
	}
	f := library.Symbol(name)
	if f == nil {
		return nil, clBlast.lacks(library, name)
	}
	native, ok := runtime.NativeObjectsOf(dlpack.OpenCL)
	if !ok {
		return nil, fmt.Errorf("%w: this program is built without OpenCL", ErrMissing)
	}
	queue, err := native.Queue(x.Device(), nil)
	if err != nil {
		return nil, err
	}
	var buffers [3]C.uintptr_t
	var offsets [3]C.size_t
	for i, t := range []*runtime.Tensor{x, y, z} {
		mem, err := native.Buffer(t)
		if err != nil {
			return nil, err
		}
		buffers[i], offsets[i] = C.uintptr_t(mem), C.size_t(t.ByteOffset()/uint64(t.DType().Bits/8))
	}
	call := func() (status C.int) {
		// its kernels are compiled by the driver, which may replace signal handlers
		dl.Quietly(func() {
			b, o := buffers, offsets
			if name == "CLBlastHgemm" {
				status = C.clblast_f16(f, C.size_t(n), b[0], o[0], b[1], o[1], b[2], o[2], C.uintptr_t(queue))
			} else {
				status = C.clblast_f32(f, C.size_t(n), b[0], o[0], b[1], o[1], b[2], o[2], C.uintptr_t(queue))
			}
		})
		return status
	}
	return &Product{Library: library.Path(), Sums: x.DType(), all: [3]*runtime.Tensor{x, y, z}, Call: func() error {
		switch status := call(); status {
		case 0:
			return nil
		case noHalves:
			return fmt.Errorf("%w: CLBlast has no float16 on %v: the device lacks cl_khr_fp16", ErrMissing, x.Device())
		default:
			return fmt.Errorf("%s returns %d", name, status)
		}
	}}, nil
}
