/* The device table, and the registration. */
#include <stdlib.h>

#include "../../internal/dl/dl.h"
#include "driver.h"

vk_device tvmgo_vk_devices[MAX_DEVICES];
int32_t tvmgo_vk_num_devices;

vk_device* tvmgo_vk_device(int32_t index) {
  if (TVMGO_UNLIKELY(!tvmgo_dl_use(&tvmgo_dl_vulkan))) { /* a child of fork */
    tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "vulkan:%d: Vulkan is not usable: %s: %s", (int)index, tvmgo_dl_vulkan.why,
                tvmgo_dl_vulkan.cure);
    return NULL;
  }
  if (index >= 0 && index < tvmgo_vk_num_devices) return &tvmgo_vk_devices[index];
  tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "there is no device vulkan:%d: this machine has %d, from vulkan:0 to vulkan:%d",
              (int)index, (int)tvmgo_vk_num_devices, (int)tvmgo_vk_num_devices - 1);
  return NULL;
}

static int set_device(const TVMGODeviceAPI* api, int32_t id) {
  (void)api;
  return tvmgo_vk_device(id) == NULL ? -1 : 0;
}

TVMGODeviceAPI tvmgo_vk_table = {
    .struct_size = sizeof tvmgo_vk_table,
    .set_device = set_device,
    .get_attr = tvmgo_vk_get_attr,
    .alloc_data_space = tvmgo_vk_alloc,
    .free_data_space = tvmgo_vk_free,
    .copy_data_from_to = tvmgo_vk_copy,
    .stream_sync = tvmgo_vk_stream_sync,
    .create_stream = tvmgo_vk_stream_create,
    .free_stream = tvmgo_vk_stream_free,
    .set_stream = tvmgo_vk_stream_set,
    .sync_stream_from_to = tvmgo_vk_stream_order,
    .alloc_data_space_with_scope = tvmgo_vk_alloc_scoped,
    .timer_create = tvmgo_vk_timer_create,
    .timer_start = tvmgo_vk_timer_start,
    .timer_stop = tvmgo_vk_timer_stop,
    .timer_elapsed_ns = tvmgo_vk_timer_elapsed_ns,
    .timer_free = tvmgo_vk_marks_free,
    .memory_stats = tvmgo_vk_memory_stats,
    .pinned_alloc = tvmgo_vk_pinned_alloc,
    .pinned_free = tvmgo_vk_pinned_free,
    .event_create = tvmgo_vk_event_create,
    .event_record = tvmgo_vk_event_record,
    .event_wait = tvmgo_vk_event_wait,
    .event_sync = tvmgo_vk_event_sync,
    .event_query = tvmgo_vk_event_query,
    .event_free = tvmgo_vk_marks_free,
    .target_property = tvmgo_vk_target_property,
};

int tvmgoVulkanStart(void); /* driver.go */

static int create(void* ctx, const TVMGODeviceAPI** out) {
  (void)ctx;
  if (tvmgo_enter_go("starting Vulkan") != 0 || tvmgoVulkanStart() != 0) return -1;
  *out = &tvmgo_vk_table;
  return 0;
}

/* A constructor, so that the device is there at C's first call. */
__attribute__((constructor(120))) static void register_vulkan(void) {
  static const TVMGODeviceSpec spec = {
      .struct_size = sizeof spec, .device_type = kDLVulkan, .name = "vulkan", .create = create};
  if (TVMGODeviceAPIRegister(&spec) != 0) abort();
}
