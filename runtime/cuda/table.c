//go:build cuda

/* The device tables and their registration. */
#include "driver.h"

#include <stdlib.h>

cu_device tvmgo_cu_devices[TVMGO_MAX_DEVICES];
int32_t tvmgo_cu_num_devices;
int tvmgo_cu_driver_version;

cu_device* tvmgo_cu_device(int32_t index) {
  if (index >= 0 && index < tvmgo_cu_num_devices) {
    cu_device* d = &tvmgo_cu_devices[index];
    if (TVMGO_LIKELY(d->broken[0] == 0)) return d;
    tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "cuda:%d cannot be used: %s", (int)index, d->broken);
    return NULL;
  }
  const char* hint = " (CUDA_VISIBLE_DEVICES is set, and selects and numbers the devices)";
  tvmgo_no_device((DLDevice){kDLCUDA, index}, tvmgo_cu_num_devices, getenv("CUDA_VISIBLE_DEVICES") != NULL ? hint : "");
  return NULL;
}

static cu_space space_of(int32_t device_type) {
  return device_type == kDLCUDAHost ? SPACE_HOST : device_type == kDLCUDAManaged ? SPACE_MANAGED : SPACE_DEVICE;
}

cu_device* tvmgo_cu_device_of(DLDevice dev, cu_space* space) {
  if (space != NULL) *space = space_of(dev.device_type);
  return tvmgo_cu_device(dev.device_id);
}

const char* tvmgo_cu_space_name(cu_space space) {
  static const char* const names[NUM_SPACES] = {"cuda", "cuda_host", "cuda_managed"};
  return names[space];
}

int tvmgo_cu_set_device(const TVMGODeviceAPI* api, int32_t id) {
  return tvmgo_cu_device(id) == NULL ? -1 : 0;
}

#define TABLE(name, ...)                                                   \
  const TVMGODeviceAPI name = {                                            \
      .struct_size = sizeof name,                                          \
      TVMGO_DEVICE_TABLE(tvmgo_cu),                                        \
      .capture_begin = tvmgo_cu_capture_begin,                             \
      .capture_end = tvmgo_cu_capture_end,                                 \
      .graph_launch = tvmgo_cu_graph_launch,                               \
      .graph_free = tvmgo_cu_graph_free,                                   \
      .stream_priority_range = tvmgo_cu_stream_priority_range,             \
      .create_stream_with_priority = tvmgo_cu_stream_create_with_priority, \
      __VA_ARGS__                                                          \
  }

/* Only device memory is stream-ordered. */
TABLE(tvmgo_cu_table, .alloc_on_stream = tvmgo_cu_alloc_on_stream, .free_on_stream = tvmgo_cu_free_on_stream);
TABLE(tvmgo_cu_host_table);
TABLE(tvmgo_cu_managed_table);

int tvmgoCUDAStart(void); /* driver.go */

static int create(void* ctx, const TVMGODeviceAPI** out) {
  if (tvmgo_enter_go("starting CUDA") != 0 || tvmgoCUDAStart() != 0) return -1;
  *out = ctx;
  return 0;
}

/* A constructor, so that the devices are registered before the first call from C. */
__attribute__((constructor(120))) static void register_cuda(void) {
  tvmgo_device_builtin(kDLCUDA, NULL, create, (void*)&tvmgo_cu_table);
  tvmgo_device_builtin(kDLCUDAHost, NULL, create, (void*)&tvmgo_cu_host_table);
  tvmgo_device_builtin(kDLCUDAManaged, NULL, create, (void*)&tvmgo_cu_managed_table);
}
