/* Kernels of a module and their launches. */
#pragma once

#include "driver.h"
#include "kernels.h"

/* A kernel that is loaded on a device. */
typedef struct cu_built {
  CUfunction f;         /* belongs to a CUmodule that Go owns */
  uint32_t epoch;       /* the device's epoch when it was loaded */
  struct cu_built* older; /* the same kernel in earlier epochs */
  const char* name;     /* from tvmgo_cu_intern_name */
  size_t max_threads;   /* largest number of threads in a block */
  size_t static_shared; /* bytes of static shared memory of a block */
  _Atomic size_t dynamic; /* current limit of dynamic shared memory, in bytes */
  _Atomic int non_portable; /* clusters of more than 8 blocks are allowed */
  pthread_mutex_t lock;     /* protects changes of the previous two */
} cu_built;

/* A kernel of a module. It does not change after the module is loaded. */
typedef struct {
  tvmgo_kernel k;
  int special; /* some of its launches need cuLaunchKernelEx */
} cu_function;

extern const tvmgo_kernel_class tvmgo_cu_kernels;

/* Loads an image, which must end with a zero byte, on a device. Returns 0; or a CUresult, with the messages of the
 * driver's compiler in log; or -1 with an error raised. */
int tvmgo_cu_load(cu_device* d, const void* image, CUmodule* out, char* log, size_t size);
/* Unloads a module; ignores errors. */
void tvmgo_cu_unload(cu_device* d, CUmodule module);

/* Finds a kernel in a loaded module and publishes it. Returns 0; or a CUresult if the kernel is not there; or -1 with
 * an error raised. The caller holds the Builder's lock. */
int tvmgo_cu_built_make(cu_function* f, cu_device* d, CUmodule module);

/* A new function object that sets the module's global barrier on the active device to 0; the caller owns it. NULL with
 * an error raised. */
void* tvmgo_cu_barrier_object(tvmgo_kernels* m);
