/* Attributes of a device (docs/abi.md E.2), and the options of target kind "vulkan" that it reports (F.2). */
#include <stdio.h>
#include <string.h>

#include "memory_type.h"
#include "driver.h"

enum { HEADER_VERSION = 239 }; /* version of the Vulkan registry on which vulkan.spec is based */

/* The size of a subgroup if all kernels have the same, so that code may rely on it; otherwise 1. */
static int64_t warp_size(const vk_device* d) {
  const int fixed = d->min_subgroup_size == d->max_subgroup_size && d->subgroup_size != 0;
  return fixed && d->subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT ? d->subgroup_size : 1;
}

int tvmgo_vk_get_attr(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out) {
  char buf[256];
  *out = tvmgo_any_none();
  if (kind == kTVMGODeviceAttrExist) {
    *out = tvmgo_any_int(id >= 0 && id < tvmgo_vk_num_devices);
    return 0;
  }
  const vk_device* d = tvmgo_vk_device(id);
  if (d == NULL) return -1;
  const VkPhysicalDeviceLimits* l = &d->properties.limits;
  uint32_t v = d->properties.apiVersion;
  switch (kind) {
    case kTVMGODeviceAttrMaxThreadsPerBlock: *out = tvmgo_any_int(l->maxComputeWorkGroupInvocations); return 0;
    case kTVMGODeviceAttrWarpSize: *out = tvmgo_any_int(warp_size(d)); return 0;
    case kTVMGODeviceAttrMaxSharedMemoryPerBlock: *out = tvmgo_any_int(l->maxComputeSharedMemorySize); return 0;
    case kTVMGODeviceAttrComputeVersion:
      snprintf(buf, sizeof buf, "%u.%u.%u", v >> 22 & 0x7f, v >> 12 & 0x3ff, v & 0xfff);
      return tvmgo_text_value(buf, out);
    case kTVMGODeviceAttrDeviceName: return tvmgo_text_value(d->properties.deviceName, out);
    case kTVMGODeviceAttrMaxThreadDimensions:
      snprintf(buf, sizeof buf, "[%u, %u, %u]", l->maxComputeWorkGroupSize[0], l->maxComputeWorkGroupSize[1],
               l->maxComputeWorkGroupSize[2]);
      return tvmgo_text_value(buf, out);
    case kTVMGODeviceAttrApiVersion: *out = tvmgo_any_int(HEADER_VERSION); return 0;
    case kTVMGODeviceAttrDriverVersion:
      v = d->properties.driverVersion;
      snprintf(buf, sizeof buf, "%u.%u.%u", v >> 22, v >> 12 & 0x3ff, v & 0xfff);
      return tvmgo_text_value(buf, out);
    case kTVMGODeviceAttrTotalGlobalMemory:
      *out = tvmgo_any_int((int64_t)d->memory.memoryHeaps[d->memory.memoryTypes[d->data_type].heapIndex].size);
      return 0;
  }
  return 0;
}

static const char* kind_text(VkPhysicalDeviceType kind) {
  switch (kind) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
    default: return "other";
  }
}

static int bool_property(const vk_device* d, const char* name, int* yes) {
  const struct {
    const char* name;
    int yes;
  } all[] = {
      {"supports_float16", d->has.float16},
      {"supports_float32", 1},
      {"supports_float64", d->has.float64},
      {"supports_int8", d->has.int8},
      {"supports_int16", d->has.int16},
      {"supports_int32", 1},
      {"supports_int64", d->has.int64},
      {"supports_8bit_buffer", d->has.storage8},
      {"supports_16bit_buffer", d->has.storage16},
      {"supports_storage_buffer_storage_class", d->has.storage_class},
      {"supports_push_descriptor", d->has.push_descriptor},
      {"supports_dedicated_allocation", d->has.dedicated_allocation},
      {"supports_integer_dot_product", d->has.integer_dot_product},
      {"supports_cooperative_matrix", d->has.cooperative_matrix},
      {"supports_float16_rte", d->has.float_mode[FLOAT_RTE][0]},
      {"supports_bfloat16", d->has.bfloat16},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, name) == 0) {
      *yes = all[i].yes;
      return 1;
    }
  return 0;
}

static int int_property(const vk_device* d, const char* name, int64_t* n) {
  const VkPhysicalDeviceLimits* l = &d->properties.limits;
  const struct {
    const char* name;
    int64_t n;
  } all[] = {
      /* Kernels have no subgroup operations if only other stages support them. */
      {"supported_subgroup_operations", d->subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT ? d->subgroup_operations : 0},
      {"max_num_threads", l->maxComputeWorkGroupInvocations},
      {"max_threads_per_block", l->maxComputeWorkGroupInvocations},
      {"thread_warp_size", warp_size(d)},
      {"max_block_size_x", l->maxComputeWorkGroupSize[0]},
      {"max_block_size_y", l->maxComputeWorkGroupSize[1]},
      {"max_block_size_z", l->maxComputeWorkGroupSize[2]},
      {"max_push_constants_size", l->maxPushConstantsSize},
      {"max_uniform_buffer_range", l->maxUniformBufferRange},
      {"max_storage_buffer_range", l->maxStorageBufferRange},
      {"max_per_stage_descriptor_storage_buffer", l->maxPerStageDescriptorStorageBuffers},
      {"max_shared_memory_per_block", l->maxComputeSharedMemorySize},
      {"driver_version", d->properties.driverVersion},
      {"vulkan_api_version", d->properties.apiVersion},
      {"max_spirv_version", d->max_spirv_version},
      {"subgroup_size", d->subgroup_size},
      {"max_allocation_bytes", d->max_allocation > INT64_MAX ? INT64_MAX : (int64_t)d->max_allocation},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, name) == 0) {
      *n = all[i].n;
      return 1;
    }
  return 0;
}

/* device_api.vulkan.get_target_property(device, name) */
static int get_target_property(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  static const char f[] = "device_api.vulkan.get_target_property";
  TVMFFIByteArray name;
  char text[64];
  if (tvmgo_check_count(f, n, 2, 2) != 0 || tvmgo_arg_kind(f, args, 0, kTVMFFIDevice) != 0 ||
      tvmgo_arg_text(f, args, 1, &name) != 0)
    return -1;
  if (args[0].v_device.device_type != kDLVulkan)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument 0 is a device of type %d, not vulkan", f,
                       (int)args[0].v_device.device_type);
  const TVMGODeviceAPI* api = tvmgo_device_api(kDLVulkan);
  if (api == NULL) return -1;
  snprintf(text, sizeof text, "%.*s", (int)(name.size < sizeof text ? name.size : 0), name.data);
  return api->target_property(api, args[0].v_device.device_id, text, result);
}

__attribute__((constructor(121))) static void register_target_property(void) {
  tvmgo_global_builtin("device_api.vulkan.get_target_property", get_target_property);
}

/* Whether kernels use the memory of the host. */
static int unified(const vk_device* d) {
  return d->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
      d->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

int tvmgo_vk_target_property(const TVMGODeviceAPI* api, int32_t id, const char* name, TVMFFIAny* out) {
  int yes;
  int64_t n;
  char buf[128];
  *out = tvmgo_any_none();
  const vk_device* d = tvmgo_vk_device(id);
  if (d == NULL) return -1;
  if (bool_property(d, name, &yes)) *out = tvmgo_any_bool(yes);
  else if (int_property(d, name, &n)) *out = tvmgo_any_int(n);
  else if (strcmp(name, "device_type") == 0) return tvmgo_text_value(kind_text(d->properties.deviceType), out);
  else if (strcmp(name, "device_name") == 0) return tvmgo_text_value(d->properties.deviceName, out);
  else if (strcmp(name, "driver_name") == 0) return tvmgo_text_value(d->driver_name, out);
  else if (strcmp(name, "driver_info") == 0) return tvmgo_text_value(d->driver_info, out);
  else if (strcmp(name, "pci_bus_id") == 0 && d->pci_bus_id[0] != 0) return tvmgo_text_value(d->pci_bus_id, out);
  else if (strcmp(name, "uuid") == 0) return tvmgo_text_value(tvmgo_uuid_text(d->uuid, buf, sizeof buf), out);
  else if (strcmp(name, "host_unified_memory") == 0) *out = tvmgo_any_bool(unified(d));
  else if (strcmp(name, "timer_resolution_ns") == 0 && d->has.timestamps)
    *out = tvmgo_any_float(d->properties.limits.timestampPeriod);
  else if (strcmp(name, "memory_type") == 0)
    return tvmgo_text_value(tvmgo_vk_type_text(&d->memory, d->data_type, buf, sizeof buf), out);
  return 0;
}
