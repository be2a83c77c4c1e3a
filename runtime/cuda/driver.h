/* CUDA behind the device interface: what the C files of this folder share.
 *
 * Go finds the devices, retains their primary contexts and loads modules (driver.go, module.go); everything that is used per
 * call is here. Streams are CUstreams and data are device addresses, so that what other libraries of the process made of the same
 * primary context (PyTorch, cuBLAS) can be used, and they can use ours. */
#ifndef TVMGO_CUDA_DRIVER_H_
#define TVMGO_CUDA_DRIVER_H_

#include <cuda.h>
#include <pthread.h>

#include "core.h"

enum { MAX_DEVICES = 64 };

/* A device, filled in by Go before the table is given out; constant then, but for the context and the counters. */
typedef struct {
  int32_t index; /* its number: cuda:index */
  CUdevice id;   /* the driver's */
  char name[256];
  int major, minor;    /* compute capability */
  int max_block;       /* threads of a block */
  int max_threads[3];  /* the same in each direction */
  int max_grid[3];     /* blocks in each direction */
  int max_shared;      /* bytes of shared memory of a block without asking for more */
  int max_shared_optin; /* and with */
  int has_pools, has_clusters, has_cooperative; /* the device and the driver have stream-ordered memory, clusters, grids in step */
  size_t total_bytes;
  pthread_mutex_t lock;      /* while the context is retained */
  _Atomic(CUcontext) context; /* the primary one; NULL before the first use, then for good */
  _Atomic(CUmemoryPool) pool; /* of stream-ordered memory; made at its first use */
  _Atomic int64_t data_bytes, data_peak, data_count, pinned_bytes;
} cu_device;

extern cu_device tvmgo_cu_devices[MAX_DEVICES];
extern int32_t tvmgo_cu_num_devices;
extern const TVMGODeviceAPI tvmgo_cu_table; /* of kDLCUDA */

/* The device of an index; NULL with an error raised that says how many there are. Does not start it. */
cu_device* tvmgo_cu_device(int32_t index);

/* "CUDA_ERROR_INVALID_VALUE" and "invalid argument" for 1, as the driver says it. */
const char* tvmgo_cu_code_name(CUresult code);
const char* tvmgo_cu_code_text(CUresult code);
/* Raises "what: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)" with the kind of error that fits, or why CUDA cannot be used; for
 * an error that work of before has left behind (an illegal address, a lost device) it says that, too. Always returns -1. */
int tvmgo_cu_raise(CUresult code, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the context ----
 *
 * Every call that works with a device stands between enter and leave: enter makes the device's primary context the thread's current
 * one (and retains it, the first time), leave puts back what was current, so that a host's own CUDA code never notices. */
typedef struct {
  CUcontext before;
  int changed;
} cu_scope;

int tvmgo_cu_retain(cu_device* d); /* makes the context; -1 with an error raised */
int tvmgo_cu_switch(cu_device* d, CUcontext to, cu_scope* s);

/* 0, or -1 with an error raised; then there is nothing to leave. */
static inline int tvmgo_cu_enter(cu_device* d, cu_scope* s) {
  CUcontext c = atomic_load_explicit(&d->context, memory_order_acquire);
  s->before = NULL;
  s->changed = 0;
  if (TVMGO_UNLIKELY(c == NULL)) {
    if (tvmgo_cu_retain(d) != 0) return -1;
    c = atomic_load_explicit(&d->context, memory_order_acquire);
  }
  if (TVMGO_LIKELY(cuCtxGetCurrent(&s->before) == CUDA_SUCCESS && s->before == c)) return 0;
  return tvmgo_cu_switch(d, c, s);
}
static inline void tvmgo_cu_leave(const cu_scope* s) {
  if (TVMGO_UNLIKELY(s->changed)) cuCtxSetCurrent(s->before);
}

#endif
