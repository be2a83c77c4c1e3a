//go:build cuda

/* Attributes of a device (docs/abi.md E.2), and the options of target kind "cuda" that it reports (F.2). */
#include "driver.h"

#include <stdio.h>
#include <string.h>

#include "../../internal/dl/dl.h"

static int failed(const cu_device* d, CUresult rc) { return tvmgo_cu_raise(rc, "query cuda:%d", (int)d->index); }

/* Queries an attribute. *out stays None if the driver does not know the attribute. */
static int query(const cu_device* d, CUdevice_attribute what, TVMFFIAny* out) {
  int v = 0;
  CUresult rc = cuDeviceGetAttribute(&v, what, d->id);
  if (rc == CUDA_ERROR_INVALID_VALUE) return 0;
  if (rc != CUDA_SUCCESS) return failed(d, rc);
  *out = tvmgo_any_int(v);
  return 0;
}

/* Queries an attribute for which 0 means that the device does not have it; then *out is None. */
static int query_nonzero(const cu_device* d, CUdevice_attribute what, TVMFFIAny* out) {
  int rc = query(d, what, out);
  if (rc == 0 && out->type_index == kTVMFFIInt && out->v_int64 == 0) *out = tvmgo_any_none();
  return rc;
}

static int store_int(int64_t v, TVMFFIAny* out) {
  *out = tvmgo_any_int(v);
  return 0;
}

static int free_memory(cu_device* d, TVMFFIAny* out) {
  size_t free_bytes = 0, total = 0;
  cu_scope s;
  if (tvmgo_cu_enter_relaxed(d, &s) != 0) return -1;
  CUresult rc = cuMemGetInfo(&free_bytes, &total);
  tvmgo_cu_leave(&s);
  return rc == CUDA_SUCCESS ? store_int((int64_t)free_bytes, out) : failed(d, rc);
}

int tvmgo_cu_get_attr(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out) {
  char buf[128];
  *out = tvmgo_any_none();
  if (kind == kTVMGODeviceAttrExist) {
    const cu_device* found = id >= 0 && id < tvmgo_cu_num_devices ? &tvmgo_cu_devices[id] : NULL;
    int usable = found != NULL && found->broken[0] == 0 && (api != &tvmgo_cu_managed_table || found->has_managed);
    return store_int(usable, out);
  }
  cu_device* d = tvmgo_cu_device(id);
  if (d == NULL) return -1;
  switch (kind) {
    case kTVMGODeviceAttrMaxThreadsPerBlock: return store_int(d->max_block, out);
    case kTVMGODeviceAttrWarpSize: return query_nonzero(d, CU_DEVICE_ATTRIBUTE_WARP_SIZE, out);
    case kTVMGODeviceAttrMaxSharedMemoryPerBlock: return store_int(d->max_shared, out);
    case kTVMGODeviceAttrComputeVersion:
      snprintf(buf, sizeof buf, "%d.%d", d->major, d->minor);
      return tvmgo_text_value(buf, out);
    case kTVMGODeviceAttrDeviceName: return tvmgo_text_value(d->name, out);
    case kTVMGODeviceAttrMaxClockRate: return query_nonzero(d, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, out);
    case kTVMGODeviceAttrMultiProcessorCount: return query_nonzero(d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, out);
    case kTVMGODeviceAttrMaxThreadDimensions:
      snprintf(buf, sizeof buf, "[%d, %d, %d]", d->max_threads[0], d->max_threads[1], d->max_threads[2]);
      return tvmgo_text_value(buf, out);
    case kTVMGODeviceAttrMaxRegistersPerBlock:
      return query_nonzero(d, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, out);
    /* the version of the header with which this is built */
    case kTVMGODeviceAttrApiVersion: return store_int(CUDA_VERSION, out);
    case kTVMGODeviceAttrL2CacheSizeBytes: return query_nonzero(d, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, out);
    case kTVMGODeviceAttrTotalGlobalMemory: return store_int((int64_t)d->total_bytes, out);
    case kTVMGODeviceAttrAvailableGlobalMemory: return free_memory(d, out);
  }
  return 0;
}

/* The UUID "GPU-…" that nvidia-smi shows. If the device is a MIG instance, it is the UUID of the instance, with drivers
 * that report it. */
static int uuid(const cu_device* d, TVMFFIAny* out) {
  CUuuid id;
  char buf[64];
  int v2 = tvmgo_dl_has(&tvmgo_dl_cuda, "cuDeviceGetUuid_v2");
  CUresult rc = v2 ? cuDeviceGetUuid_v2(&id, d->id) : cuDeviceGetUuid(&id, d->id);
  if (rc != CUDA_SUCCESS) return failed(d, rc);
  return tvmgo_text_value(tvmgo_uuid_text(id.bytes, buf, sizeof buf), out);
}

static int pci_bus_id(const cu_device* d, TVMFFIAny* out) {
  char buf[32] = "";
  CUresult rc = cuDeviceGetPCIBusId(buf, sizeof buf, d->id);
  return rc == CUDA_SUCCESS ? tvmgo_text_value(buf, out) : failed(d, rc);
}

/* The architecture of the device, such as "sm_90". */
static int arch(const cu_device* d, TVMFFIAny* out) {
  char buf[32];
  snprintf(buf, sizeof buf, "sm_%d%d", d->major, d->minor);
  return tvmgo_text_value(buf, out);
}

int tvmgo_cu_target_property(const TVMGODeviceAPI* api, int32_t id, const char* name, TVMFFIAny* out) {
  static const struct {
    const char* name;
    CUdevice_attribute what;
  } queried[] = {
      {"thread_warp_size", CU_DEVICE_ATTRIBUTE_WARP_SIZE},
      {"registers_per_block", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
      {"l2_cache_size_bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {"multi_processor_count", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {"memory_clock_rate", CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE}, /* kHz */
      {"memory_bus_width", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH}, /* bits */
      {"max_shared_memory_per_multi_processor", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
      {"max_threads_per_multi_processor", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
      {"async_engine_count", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
      {"memory_pools_supported", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
  };
  *out = tvmgo_any_none();
  const cu_device* d = tvmgo_cu_device(id);
  if (d == NULL) return -1;
  if (strcmp(name, "arch") == 0) return arch(d, out);
  if (strcmp(name, "uuid") == 0) return uuid(d, out);
  if (strcmp(name, "pci_bus_id") == 0) return pci_bus_id(d, out);
  if (strcmp(name, "host_unified_memory") == 0) {
    int rc = query(d, CU_DEVICE_ATTRIBUTE_INTEGRATED, out);
    if (rc == 0 && out->type_index == kTVMFFIInt) *out = tvmgo_any_bool(out->v_int64 != 0);
    return rc;
  }
  if (strcmp(name, "max_num_threads") == 0 || strcmp(name, "max_threads_per_block") == 0)
    return store_int(d->max_block, out);
  if (strcmp(name, "max_shared_memory_per_block") == 0) return store_int(d->max_shared, out);
  if (strcmp(name, "max_shared_memory_per_block_optin") == 0) return store_int(d->max_shared_optin, out);
  for (size_t i = 0; i < sizeof queried / sizeof *queried; i++)
    if (strcmp(name, queried[i].name) == 0) return query(d, queried[i].what, out);
  return 0;
}
