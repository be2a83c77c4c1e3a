//go:build cuda

/* The device tables, and their registration. */
#include "driver.h"

#include <stdlib.h>

cu_device tvmgo_cu_devices[MAX_DEVICES];
int32_t tvmgo_cu_num_devices;
int tvmgo_cu_driver_version;

cu_device* tvmgo_cu_device(int32_t index) {
  if (index >= 0 && index < tvmgo_cu_num_devices) {
    cu_device* d = &tvmgo_cu_devices[index];
    if (TVMGO_LIKELY(d->broken[0] == 0)) return d;
    tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "cuda:%d cannot be used: %s", (int)index, d->broken);
    return NULL;
  }
  tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "there is no device cuda:%d: this machine has %d, from cuda:0 to cuda:%d%s", (int)index,
              (int)tvmgo_cu_num_devices, (int)tvmgo_cu_num_devices - 1,
              getenv("CUDA_VISIBLE_DEVICES") != NULL ? " (CUDA_VISIBLE_DEVICES, which is set, chooses and numbers them)" : "");
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

static int set_device(const TVMGODeviceAPI* api, int32_t id) {
  (void)api;
  return tvmgo_cu_device(id) == NULL ? -1 : 0;
}

#define TABLE(name, ...)                                                      \
  const TVMGODeviceAPI name = {                                           \
      .struct_size = sizeof name,                                         \
      .set_device = set_device,                                           \
      .get_attr = tvmgo_cu_get_attr,                                      \
      .alloc_data_space = tvmgo_cu_alloc,                                 \
      .free_data_space = tvmgo_cu_free,                                   \
      .copy_data_from_to = tvmgo_cu_copy,                                 \
      .stream_sync = tvmgo_cu_stream_sync,                                \
      .create_stream = tvmgo_cu_stream_create,                            \
      .free_stream = tvmgo_cu_stream_free,                                \
      .set_stream = tvmgo_cu_stream_set,                                  \
      .sync_stream_from_to = tvmgo_cu_stream_order,                       \
      .timer_create = tvmgo_cu_timer_create,                              \
      .timer_start = tvmgo_cu_timer_start,                                \
      .timer_stop = tvmgo_cu_timer_stop,                                  \
      .timer_elapsed_ns = tvmgo_cu_timer_elapsed_ns,                      \
      .timer_free = tvmgo_cu_marks_free,                                  \
      .memory_stats = tvmgo_cu_memory_stats,                              \
      .pinned_alloc = tvmgo_cu_pinned_alloc,                              \
      .pinned_free = tvmgo_cu_pinned_free,                                \
      .event_create = tvmgo_cu_event_create,                              \
      .event_record = tvmgo_cu_event_record,                              \
      .event_wait = tvmgo_cu_event_wait,                                  \
      .event_sync = tvmgo_cu_event_sync,                                  \
      .event_query = tvmgo_cu_event_query,                                \
      .event_free = tvmgo_cu_marks_free,                                  \
      .target_property = tvmgo_cu_target_property,                        \
      .capture_begin = tvmgo_cu_capture_begin,                            \
      .capture_end = tvmgo_cu_capture_end,                                \
      .graph_launch = tvmgo_cu_graph_launch,                              \
      .graph_free = tvmgo_cu_graph_free,                                  \
      .stream_priority_range = tvmgo_cu_stream_priority_range,            \
      .create_stream_with_priority = tvmgo_cu_stream_create_with_priority, \
      __VA_ARGS__                                                         \
  }

/* Stream-ordered memory is the device's alone. */
TABLE(tvmgo_cu_table, .alloc_on_stream = tvmgo_cu_alloc_on_stream, .free_on_stream = tvmgo_cu_free_on_stream);
TABLE(tvmgo_cu_host_table);
TABLE(tvmgo_cu_managed_table);

int tvmgoCUDAStart(void); /* driver.go */

static int create(void* ctx, const TVMGODeviceAPI** out) {
  if (tvmgo_enter_go("starting CUDA") != 0 || tvmgoCUDAStart() != 0) return -1;
  *out = ctx;
  return 0;
}

static void register_one(int32_t type, const char* name, const TVMGODeviceAPI* table) {
  const TVMGODeviceSpec spec = {
      .struct_size = sizeof spec, .device_type = type, .name = name, .create = create, .ctx = (void*)table};
  if (TVMGODeviceAPIRegister(&spec) != 0) abort();
}

/* A constructor, so that the devices are there at C's first call. */
__attribute__((constructor(120))) static void register_cuda(void) {
  register_one(kDLCUDA, "cuda", &tvmgo_cu_table);
  register_one(kDLCUDAHost, "cuda_host", &tvmgo_cu_host_table);
  register_one(kDLCUDAManaged, "cuda_managed", &tvmgo_cu_managed_table);
}
