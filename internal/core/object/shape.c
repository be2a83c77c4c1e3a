/* Shapes: a counted, immutable list of 64-bit integers. */
#include "object/object.h"

#include <string.h>

typedef struct {
  TVMFFIObject header;
  TVMFFIShapeCell cell;
  int64_t dims[];
} shape_object;

TVMFFIObject* tvmgo_shape_new(const int64_t* dims, size_t n) {
  if (n > (PTRDIFF_MAX - sizeof(shape_object)) / sizeof *dims) {
    tvmgo_raise_oom();
    return NULL;
  }
  shape_object* s = tvmgo_object_new_uninit(sizeof *s + n * sizeof *dims, kTVMFFIShape,
                                            tvmgo_object_plain_deleter);
  if (s == NULL) return NULL;
  s->cell.data = s->dims;
  s->cell.size = n;
  if (n > 0) memcpy(s->dims, dims, n * sizeof *dims);
  return &s->header;
}
