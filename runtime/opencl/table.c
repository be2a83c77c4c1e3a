//go:build opencl

/* The device table, and the registration. */
#include "driver.h"

#include <stdlib.h>

cl_device tvmgo_cl_devices[MAX_DEVICES];
int32_t tvmgo_cl_num_devices;

cl_device* tvmgo_cl_device(int32_t index) {
  if (index >= 0 && index < tvmgo_cl_num_devices) return &tvmgo_cl_devices[index];
  tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "there is no device opencl:%d: this machine has %d, from opencl:0 to opencl:%d",
              (int)index, (int)tvmgo_cl_num_devices, (int)tvmgo_cl_num_devices - 1);
  return NULL;
}

static int set_device(const TVMGODeviceAPI* api, int32_t id) {
  (void)api;
  return tvmgo_cl_device(id) == NULL ? -1 : 0;
}

const TVMGODeviceAPI tvmgo_cl_table = {
    .struct_size = sizeof tvmgo_cl_table,
    .set_device = set_device,
    .get_attr = tvmgo_cl_get_attr,
    .alloc_data_space = tvmgo_cl_alloc,
    .free_data_space = tvmgo_cl_free,
    .copy_data_from_to = tvmgo_cl_copy,
    .stream_sync = tvmgo_cl_stream_sync,
    .create_stream = tvmgo_cl_stream_create,
    .free_stream = tvmgo_cl_stream_free,
    .set_stream = tvmgo_cl_stream_set,
    .sync_stream_from_to = tvmgo_cl_stream_order,
    .alloc_data_space_with_scope = tvmgo_cl_alloc_scoped,
    .timer_create = tvmgo_cl_timer_create,
    .timer_start = tvmgo_cl_timer_start,
    .timer_stop = tvmgo_cl_timer_stop,
    .timer_elapsed_ns = tvmgo_cl_timer_elapsed_ns,
    .timer_free = tvmgo_cl_marks_free,
    .memory_stats = tvmgo_cl_memory_stats,
    .pinned_alloc = tvmgo_cl_pinned_alloc,
    .pinned_free = tvmgo_cl_pinned_free,
    .event_create = tvmgo_cl_event_create,
    .event_record = tvmgo_cl_event_record,
    .event_wait = tvmgo_cl_event_wait,
    .event_sync = tvmgo_cl_event_sync,
    .event_query = tvmgo_cl_event_query,
    .event_free = tvmgo_cl_marks_free,
    .target_property = tvmgo_cl_target_property,
};

int tvmgoOpenCLStart(void); /* driver.go */

static int create(void* ctx, const TVMGODeviceAPI** out) {
  (void)ctx;
  if (tvmgo_enter_go("starting OpenCL") != 0 || tvmgoOpenCLStart() != 0) return -1;
  *out = &tvmgo_cl_table;
  return 0;
}

/* A constructor, so that the device is there at C's first call. */
__attribute__((constructor(120))) static void register_opencl(void) {
  static const TVMGODeviceSpec spec = {
      .struct_size = sizeof spec, .device_type = kDLOpenCL, .name = "opencl", .create = create};
  if (TVMGODeviceAPIRegister(&spec) != 0) abort();
}
