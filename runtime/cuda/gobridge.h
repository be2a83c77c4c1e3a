/* Declarations of the C functions that the Go files of this folder call. */
#pragma once

#include "driver.h"

/* The properties of a device that Go has queried. */
typedef struct {
  CUdevice id;
  const char* name;
  const char* broken; /* the reason why it cannot be used; "" if it can */
  size_t total_bytes;
  int major, minor, max_block, max_threads[3], max_grid[3], max_shared, max_shared_optin;
  int pools, clusters, cooperative, managed;
} cu_found;

/* Sets tvmgo_cu_devices to all devices that Go found. */
void tvmgo_cu_set_devices(const cu_found* found, int32_t n, int driver_version);

/* Stores the calling thread's current context as the context of a device. */
CUresult tvmgo_cu_store_context(int32_t index);

/* The epoch of a device. */
static inline uint32_t tvmgo_cu_epoch(int32_t index) { return atomic_load(&tvmgo_cu_devices[index].epoch); }

/* Raises the error of a driver's code; always returns -1. */
int tvmgo_cu_raise_code(CUresult code, const char* what);

/* Frees memory that alloc_on_stream of a device holds for reuse; *freed is its bytes. 0, or -1 with an error raised. */
int tvmgo_cu_trim_device(int32_t index, int64_t* freed);
