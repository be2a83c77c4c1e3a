/* Shapes: a counted, immutable list of 64-bit integers. */
#include "object/object.h"

#include <string.h>

typedef struct {
  TVMFFIObject header;
  TVMFFIShapeCell cell;
  int64_t dims[];
} shape_object;

TVMFFIObject* tvmgo_shape_new_uninit(size_t n, int64_t** dims) {
  if (n > (PTRDIFF_MAX - sizeof(shape_object)) / sizeof **dims) {
    tvmgo_raise_oom();
    return NULL;
  }
  shape_object* s = tvmgo_object_new_uninit(sizeof *s + n * sizeof **dims, kTVMFFIShape,
                                            tvmgo_object_plain_deleter);
  if (s == NULL) return NULL;
  s->cell.data = *dims = s->dims;
  s->cell.size = n;
  return &s->header;
}

TVMFFIObject* tvmgo_shape_new(const int64_t* dims, size_t n) {
  int64_t* own;
  TVMFFIObject* shape = tvmgo_shape_new_uninit(n, &own);
  if (shape != NULL && n > 0) memcpy(own, dims, n * sizeof *dims);
  return shape;
}
