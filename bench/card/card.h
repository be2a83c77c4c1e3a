/* A comparison on a card: what the library does, and the same by the driver alone, in one process and one context, in
 * alternation.
 *
 *   main.c   options, rounds, the result as JSON
 *   raw.c    the driver, opened by name
 *   module.c modules and files
 *   rows.c   what is measured */
#pragma once

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvmgo/device_api.h>

/* Ends the program with status 1, a message, and the error of this thread where there is one. */
_Noreturn __attribute__((format(printf, 1, 2))) void card_fail(const char* format, ...);

/* Ends the program when rc is not 0. */
static inline void card_check(int rc, const char* what) {
  if (__builtin_expect(rc != 0, 0)) card_fail("%s", what);
}

/* ---- raw.c ---- */

/* The driver's functions that are used: the names, as cuda.h has them. */
#define CARD_FUNCTIONS(F)                                                                                             \
  F(cuInit) F(cuDriverGetVersion) F(cuDeviceGet) F(cuDeviceGetName) F(cuDeviceGetAttribute)                           \
  F(cuDevicePrimaryCtxRetain) F(cuCtxSetCurrent) F(cuModuleLoadData) F(cuModuleGetFunction) F(cuModuleUnload)         \
  F(cuLaunchKernel) F(cuStreamCreate) F(cuStreamDestroy) F(cuStreamSynchronize) F(cuStreamBeginCapture)               \
  F(cuStreamEndCapture) F(cuGraphInstantiate) F(cuGraphLaunch) F(cuGraphDestroy) F(cuGraphExecDestroy) F(cuMemAlloc)  \
  F(cuMemFree) F(cuMemHostAlloc) F(cuMemFreeHost) F(cuMemcpyHtoDAsync) F(cuMemcpyDtoHAsync) F(cuMemcpyDtoDAsync)      \
  F(cuMemsetD32Async) F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventSynchronize)                       \
  F(cuEventElapsedTime)

#ifndef cuStreamBeginCapture
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#endif
#ifndef cuGraphInstantiate
#define cuGraphInstantiate cuGraphInstantiate_v2
#endif

/* raw.cuLaunchKernel(...), by the name that the driver exports. */
#define CARD_FIELD(f) __typeof__(&f) f;
typedef struct {
  CARD_FUNCTIONS(CARD_FIELD)
} card_driver;
#undef CARD_FIELD
extern card_driver raw;

/* Opens the driver that the library uses too, and makes its context of a device current, which is the library's as
 * well. */
void raw_open(int device);

/* Ends the program when the driver does not answer CUDA_SUCCESS. */
void raw_check(CUresult rc, const char* what);

/* ---- module.c: each ends the program when it fails ---- */

/* The module in a library. */
TVMFFIAny card_load(const char* path);
/* A function of a module or of what it imports. */
TVMFFIAny card_function(TVMFFIAny module, const char* name);
/* The whole file with a zero byte behind it, to be freed. */
char* card_contents(const char* path);

/* ---- rows.c ---- */

typedef enum {
  CARD_RATIO_AT_MOST,  /* ours / raw */
  CARD_RATIO_AT_LEAST, /* ours / raw */
  CARD_DIFFERENCE,     /* ours - raw, at most */
  CARD_RECORD          /* nothing is aimed at */
} card_relation;

typedef struct {
  const char *name, *unit;
  card_relation relation;
  double target;
  double (*ours)(void); /* one sample in the unit; ends the program when a result is wrong */
  double (*raw)(void);  /* NULL: the driver has no such thing */
  size_t bytes;         /* what one operation moves, set by rows_prepare; 0 where that is not the point */
} card_row;

/* Sizes of what is measured. */
typedef struct {
  int launches;              /* in one batch; a driver holds that many back without waiting */
  int graph_launches;        /* in one graph */
  int batches;               /* of one sample, which is the best of them */
  size_t copy, device_copy;  /* bytes */
  size_t elements;           /* of vadd */
} card_sizes;
extern card_sizes sizes;

/* Ends with a row without a name. */
extern card_row card_rows[];

/* Loads the kernels of a folder, and a library with a host function addone, and makes all that rows need. */
void rows_prepare(const char* folder, const char* artifact, int device);

/* Frees it. */
void rows_close(void);
