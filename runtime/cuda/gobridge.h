/* What the Go files of this folder call. */
#pragma once

#include "driver.h"

/* A device as Go found it. */
typedef struct {
  CUdevice id;
  const char* name;
  const char* broken; /* why it cannot be used; "" when it can */
  size_t total_bytes;
  int major, minor, max_block, max_threads[3], max_grid[3], max_shared, max_shared_optin;
  int pools, clusters, cooperative, managed;
} cu_found;

/* Takes over all devices that Go found, at once. */
void tvmgo_cu_set_devices(const cu_found* found, int32_t n, int driver_version);

/* Keeps the calling thread's current context as a device's. */
CUresult tvmgo_cu_take_context(int32_t index);

/* A device's epoch. */
static inline uint32_t tvmgo_cu_epoch(int32_t index) { return atomic_load(&tvmgo_cu_devices[index].epoch); }

/* Raises what the driver answered; always returns -1. */
int tvmgo_cu_raise_code(CUresult code, const char* what);

/* Frees what alloc_on_stream of a device holds for later; *freed are the bytes. */
int tvmgo_cu_trim_device(int32_t index, int64_t* freed);
