//go:build opencl

/* Attributes and target properties of a device (docs/abi.md E.2). */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const cl_device* d, cl_int rc) { return tvmgo_cl_raise(rc, "query opencl:%d", (int)d->index); }

static int query_text(const cl_device* d, cl_device_info what, char* buf, size_t cap) {
  memset(buf, 0, cap);
  cl_int rc = clGetDeviceInfo(d->id, what, cap - 1, buf, NULL);
  return rc == CL_SUCCESS ? 0 : failed(d, rc);
}

/* Stores a number that the driver reported. 0 means that the driver does not know it: then *out stays None. */
static int known_number(int64_t v, TVMFFIAny* out) {
  if (v != 0) *out = tvmgo_any_int(v);
  return 0;
}

static int query_size(const cl_device* d, cl_device_info what, TVMFFIAny* out) {
  size_t v = 0;
  cl_int rc = clGetDeviceInfo(d->id, what, sizeof v, &v, NULL);
  if (rc != CL_SUCCESS) return failed(d, rc);
  return known_number((int64_t)v, out);
}

static int query_ulong(const cl_device* d, cl_device_info what, TVMFFIAny* out) {
  cl_ulong v = 0;
  cl_int rc = clGetDeviceInfo(d->id, what, sizeof v, &v, NULL);
  if (rc != CL_SUCCESS) return failed(d, rc);
  return known_number((int64_t)v, out);
}

static int query_uint(const cl_device* d, cl_device_info what, int64_t times, TVMFFIAny* out) {
  cl_uint v = 0;
  cl_int rc = clGetDeviceInfo(d->id, what, sizeof v, &v, NULL);
  if (rc != CL_SUCCESS) return failed(d, rc);
  return known_number((int64_t)v * times, out);
}

/* The version number in a text such as "OpenCL 3.0 PoCL HSTR": "3.0". */
static int version(const cl_device* d, TVMFFIAny* out) {
  char buf[256];
  if (query_text(d, CL_DEVICE_VERSION, buf, sizeof buf) != 0) return -1;
  char* v = strncmp(buf, "OpenCL ", 7) == 0 ? buf + 7 : buf;
  v[strcspn(v, " ")] = 0;
  return tvmgo_text_value(v, out);
}

/* The subgroup size. OpenCL 1.2 does not report it; the user may set it in TVM_OPENCL_WARP_SIZE. */
static int64_t warp_size(void) {
  const char* s = getenv("TVM_OPENCL_WARP_SIZE");
  long v = s == NULL ? 0 : strtol(s, NULL, 10);
  return v > 0 ? v : 1;
}

int tvmgo_cl_get_attr(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out) {
  char buf[256];
  *out = tvmgo_any_none();
  if (kind == kTVMGODeviceAttrExist) {
    *out = tvmgo_any_int(id >= 0 && id < tvmgo_cl_num_devices);
    return 0;
  }
  const cl_device* d = tvmgo_cl_device(id);
  if (d == NULL) return -1;
  switch (kind) {
    case kTVMGODeviceAttrMaxThreadsPerBlock: return query_size(d, CL_DEVICE_MAX_WORK_GROUP_SIZE, out);
    case kTVMGODeviceAttrWarpSize: *out = tvmgo_any_int(warp_size()); return 0;
    case kTVMGODeviceAttrMaxSharedMemoryPerBlock: return query_ulong(d, CL_DEVICE_LOCAL_MEM_SIZE, out);
    case kTVMGODeviceAttrComputeVersion: return version(d, out);
    case kTVMGODeviceAttrDeviceName: return tvmgo_text_value(d->name, out);
    case kTVMGODeviceAttrMaxClockRate: return query_uint(d, CL_DEVICE_MAX_CLOCK_FREQUENCY, 1000, out);
    case kTVMGODeviceAttrMultiProcessorCount: return query_uint(d, CL_DEVICE_MAX_COMPUTE_UNITS, 1, out);
    case kTVMGODeviceAttrMaxThreadDimensions:
      snprintf(buf, sizeof buf, "[%zu, %zu, %zu]", d->max_items[0], d->max_items[1], d->max_items[2]);
      return tvmgo_text_value(buf, out);
    case kTVMGODeviceAttrApiVersion: *out = tvmgo_any_int(120); return 0; /* OpenCL 1.2, which build/include has */
    case kTVMGODeviceAttrDriverVersion:
      return query_text(d, CL_DRIVER_VERSION, buf, sizeof buf) != 0 ? -1 : tvmgo_text_value(buf, out);
    case kTVMGODeviceAttrL2CacheSizeBytes: return query_ulong(d, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, out);
    case kTVMGODeviceAttrTotalGlobalMemory: return known_number((int64_t)d->global_bytes, out);
    case kTVMGODeviceAttrImagePitchAlignment:
      return d->has_images ? query_uint(d, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, 1, out) : 0;
  }
  return 0;
}

static int image_size(const cl_device* d, cl_device_info what, TVMFFIAny* out) {
  return d->has_images ? query_size(d, what, out) : 0;
}

/* What the driver runs kernels on. */
static int device_type(const cl_device* d, TVMFFIAny* out) {
  cl_device_type type = 0;
  cl_int rc = clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  if (rc != CL_SUCCESS) return failed(d, rc);
  return tvmgo_text_value(type & CL_DEVICE_TYPE_GPU           ? "gpu"
                          : type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
                          : type & CL_DEVICE_TYPE_CPU         ? "cpu"
                                                              : "other", out);
}

static int platform_name(const cl_device* d, TVMFFIAny* out) {
  char buf[256] = "";
  cl_int rc = clGetPlatformInfo(d->platform, CL_PLATFORM_NAME, sizeof buf - 1, buf, NULL);
  return rc == CL_SUCCESS ? tvmgo_text_value(buf, out) : failed(d, rc);
}

static int unified(const cl_device* d, TVMFFIAny* out) {
  cl_bool yes = 0;
  cl_int rc = clGetDeviceInfo(d->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof yes, &yes, NULL);
  if (rc != CL_SUCCESS) return failed(d, rc);
  *out = tvmgo_any_bool(yes != 0);
  return 0;
}

/* The options of target kind "opencl" that a device reports (docs/abi.md F.2). */
int tvmgo_cl_target_property(const TVMGODeviceAPI* api, int32_t id, const char* name, TVMFFIAny* out) {
  *out = tvmgo_any_none();
  const cl_device* d = tvmgo_cl_device(id);
  if (d == NULL) return -1;
  if (strcmp(name, "max_num_threads") == 0 || strcmp(name, "max_threads_per_block") == 0)
    return tvmgo_cl_get_attr(api, id, kTVMGODeviceAttrMaxThreadsPerBlock, out);
  if (strcmp(name, "max_shared_memory_per_block") == 0)
    return tvmgo_cl_get_attr(api, id, kTVMGODeviceAttrMaxSharedMemoryPerBlock, out);
  if (strcmp(name, "thread_warp_size") == 0) return tvmgo_cl_get_attr(api, id, kTVMGODeviceAttrWarpSize, out);
  if (strcmp(name, "device_type") == 0) return device_type(d, out);
  if (strcmp(name, "platform_name") == 0) return platform_name(d, out);
  if (strcmp(name, "max_allocation_bytes") == 0) return known_number((int64_t)d->max_alloc, out);
  if (strcmp(name, "timer_resolution_ns") == 0) return query_size(d, CL_DEVICE_PROFILING_TIMER_RESOLUTION, out);
  if (strcmp(name, "host_unified_memory") == 0) return unified(d, out);
  int rc = tvmgo_cl_extension_property(d, name, out);
  if (rc != 0 || out->type_index != kTVMFFINone) return rc;
  if (strcmp(name, "texture_spatial_limit") == 0) return image_size(d, CL_DEVICE_IMAGE2D_MAX_WIDTH, out);
  if (strcmp(name, "texture_depth_limit") == 0) return image_size(d, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, out);
  if (strcmp(name, "image_base_address_alignment") == 0 && d->has_images)
    return query_uint(d, CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, 1, out);
  return 0;
}
