/* Kernels of a module, and their launch. */
#pragma once

#include "driver.h"
#include "kernels.h"

/* A kernel that is loaded on a device. */
typedef struct cu_built {
  CUfunction f;         /* of a module that the Go side holds */
  uint32_t epoch;       /* of the device, when it was made */
  struct cu_built* older; /* of contexts before */
  const char* name;     /* kept for good, for errors that come late */
  size_t max_threads;   /* of a block: what its registers allow */
  size_t static_shared; /* bytes of a block, fixed by the code */
  _Atomic size_t dynamic; /* bytes that a launch may ask for as things are; more has to be announced */
  _Atomic int non_portable; /* clusters of more than 8 blocks are announced */
  pthread_mutex_t lock;     /* while something is announced */
} cu_built;

/* A kernel of a module. What a call looks like is fixed when the module is loaded. */
typedef struct {
  tvmgo_kernel k;
  int special; /* some of its launches need cuLaunchKernelEx */
} cu_function;

extern const tvmgo_kernel_class tvmgo_cu_kernels; /* of all modules of this kind */

/* Loads an image, which ends with a zero byte, on a device. 0; a CUresult, with what the driver's compiler wrote in
 * log; or -1 with an error raised. */
int tvmgo_cu_load(cu_device* d, const void* image, CUmodule* out, char* log, size_t size);
/* Unloads it; there is nobody to tell of errors. */
void tvmgo_cu_unload(cu_device* d, CUmodule module);

/* Takes a kernel from a module that is loaded on a device: 0, a CUresult when it isn't there, or -1 with an error
 * raised. Called under Go's lock. */
int tvmgo_cu_built_make(cu_function* f, cu_device* d, CUmodule module);

/* The function that sets the module's global barrier on the active device to 0; owned, NULL with an error raised. */
void* tvmgo_cu_barrier_object(tvmgo_kernels* m);
