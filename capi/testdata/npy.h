/* Reads .npy files of little-endian float32 in C order, the format of the artifacts' inputs and outputs. */
#ifndef NPY_H_
#define NPY_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  float* data; /* 64-byte aligned, as generated code requires */
  int64_t shape[4], count;
  int ndim;
} npy;

/* Allocates memory for as many elements as like has. Returns 0 if that fails. */
static inline int npy_alloc(npy* out, const npy* like) {
  *out = *like;
  size_t bytes = ((size_t)like->count * sizeof(float) + 63) / 64 * 64;
  out->data = (float*)aligned_alloc(64, bytes == 0 ? 64 : bytes);
  return out->data != NULL;
}

/* Returns 0 and prints a line if the file has another format. */
static inline int npy_read(const char* path, npy* out) {
  unsigned char magic[10];
  char header[1024] = "";
  npy a = {NULL, {0}, 1, 0};
  FILE* f = fopen(path, "rb");
  int ok = f != NULL && fread(magic, 1, 10, f) == 10 && memcmp(magic, "\x93NUMPY\1", 7) == 0;
  size_t len = ok ? (size_t)magic[8] | (size_t)magic[9] << 8 : 0;
  ok = ok && len < sizeof header && fread(header, 1, len, f) == len;
  const char* p = ok ? strstr(header, "'shape': (") : NULL;
  ok = p != NULL && strstr(header, "'<f4'") != NULL && strstr(header, "'fortran_order': False") != NULL;
  if (ok) p += strlen("'shape': (");
  while (ok && *p >= '0' && *p <= '9' && a.ndim < 4) {
    char* end;
    a.shape[a.ndim] = strtoll(p, &end, 10);
    a.count *= a.shape[a.ndim++];
    p = end + strspn(end, ", ");
  }
  ok = ok && *p == ')' && npy_alloc(out, &a) && fread(out->data, sizeof(float), (size_t)a.count, f) == (size_t)a.count;
  if (f != NULL) fclose(f);
  if (!ok) printf("%s: cannot be read\n", path);
  return ok;
}

/* Returns the largest difference, relative to the larger of 1 and the expected value; infinite for NaN. */
static inline double npy_error(const npy* got, const npy* want) {
  double worst = 0;
  for (int64_t i = 0; i < want->count; i++) {
    double d = (double)got->data[i] - want->data[i], size = want->data[i] < 0 ? -want->data[i] : want->data[i];
    d = (d < 0 ? -d : d) / (size > 1 ? size : 1);
    if (!(d <= 1e30)) return 1e30;
    if (d > worst) worst = d;
  }
  return worst;
}

#endif
