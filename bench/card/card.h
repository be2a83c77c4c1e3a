/* Compares the library with direct use of the driver ("raw") on a GPU, alternately in one process and one context.
 *
 *   main.c   options, rounds, the result as JSON
 *   raw.c    opens the driver
 *   module.c modules and files
 *   rows.c   the measurements */
#pragma once

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvmgo/device_api.h>

/* Ends the program with status 1, a message, and the error of this thread if there is one. */
_Noreturn __attribute__((format(printf, 1, 2))) void card_fail(const char* format, ...);

/* Ends the program if rc is not 0. */
static inline void card_check(int rc, const char* what) {
  if (__builtin_expect(rc != 0, 0)) card_fail("%s", what);
}

/* ---- raw.c ---- */

/* The functions of the driver that are used, with the names of cuda.h. */
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

/* Opens the driver that the library uses, and makes the primary context of the device current, which the library uses,
 * too. */
void raw_open(int device);

/* Ends the program if rc is not CUDA_SUCCESS. */
void raw_check(CUresult rc, const char* what);

/* ---- module.c: these functions end the program if they fail ---- */

/* Loads a module from a file. */
TVMFFIAny card_load(const char* path);
/* A function of a module or of its imported modules. */
TVMFFIAny card_function(TVMFFIAny module, const char* name);
/* The contents of a file, followed by a zero byte; the caller frees them. */
char* card_contents(const char* path);

/* ---- rows.c ---- */

typedef enum {
  CARD_RATIO_AT_MOST,  /* ours / raw */
  CARD_RATIO_AT_LEAST, /* ours / raw */
  CARD_DIFFERENCE,     /* ours - raw, at most */
  CARD_RECORD          /* there is no target */
} card_relation;

typedef struct {
  const char *name, *unit;
  card_relation relation;
  double target;
  double (*ours)(void); /* one sample in this unit; ends the program if a result is wrong */
  double (*raw)(void);  /* NULL if the driver has no such function */
  size_t bytes;         /* bytes that one operation moves, set by rows_prepare; 0 if irrelevant */
} card_row;

/* The sizes of the measurements. */
typedef struct {
  int launches;              /* per batch; a driver queues as many without waiting */
  int graph_launches;        /* per graph */
  int batches;               /* per sample, which is the best of them */
  size_t copy, device_copy;  /* bytes */
  size_t elements;           /* of vadd */
} card_sizes;
extern card_sizes sizes;

/* The last row has no name. */
extern card_row card_rows[];

/* Loads the kernels of a folder and a library with a host function addone, and creates everything that rows need. */
void rows_prepare(const char* folder, const char* artifact, int device);

/* Frees what rows_prepare created. */
void rows_close(void);
