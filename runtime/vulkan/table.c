/* The device table and its registration. */
#include "../../internal/dl/dl.h"
#include "driver.h"

vk_device tvmgo_vk_devices[TVMGO_MAX_DEVICES];
int32_t tvmgo_vk_num_devices;

vk_device* tvmgo_vk_device(int32_t index) {
  if (TVMGO_UNLIKELY(!tvmgo_dl_use(&tvmgo_dl_vulkan))) { /* after a fork */
    tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "vulkan:%d: Vulkan is not usable: %s: %s", (int)index, tvmgo_dl_vulkan.why,
                tvmgo_dl_vulkan.cure);
    return NULL;
  }
  if (index >= 0 && index < tvmgo_vk_num_devices) return &tvmgo_vk_devices[index];
  tvmgo_no_device((DLDevice){kDLVulkan, index}, tvmgo_vk_num_devices, "");
  return NULL;
}

int tvmgo_vk_set_device(const TVMGODeviceAPI* api, int32_t id) {
  return tvmgo_vk_device(id) == NULL ? -1 : 0;
}

TVMGODeviceAPI tvmgo_vk_table = {.struct_size = sizeof tvmgo_vk_table,
                                 TVMGO_DEVICE_TABLE(tvmgo_vk),
                                 .alloc_data_space_with_scope = tvmgo_vk_alloc_scoped};

int tvmgoVulkanStart(void); /* driver.go */

static int create(void* ctx, const TVMGODeviceAPI** out) {
  if (tvmgo_enter_go("starting Vulkan") != 0 || tvmgoVulkanStart() != 0) return -1;
  *out = &tvmgo_vk_table;
  return 0;
}

/* A constructor, so that the device is registered before the first call from C. */
__attribute__((constructor(120))) static void register_vulkan(void) {
  tvmgo_device_builtin(kDLVulkan, NULL, create, NULL);
}
