/* Opening a device: queries its features and properties, and enables all features that kernels may use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../internal/dl/dl.h"
#include "gobridge.h"
#include "memory.h"

int tvmgo_vk_family(VkPhysicalDevice physical, vk_family* out) {
  VkQueueFamilyProperties all[64];
  uint32_t n = 64;
  int best = -1, found = -1;
  tvmgo_vk_instance.vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, all);
  for (uint32_t i = 0; i < n; i++) {
    if (!(all[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || all[i].queueCount == 0) continue;
    int fit = !(all[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) * 2 + (all[i].timestampValidBits > 0);
    if (fit <= best) continue;
    best = fit;
    found = (int)i;
  }
  if (found < 0) return -1;
  *out = (vk_family){(uint32_t)found, all[found].queueCount < MAX_QUEUES ? all[found].queueCount : MAX_QUEUES,
                     all[found].timestampValidBits};
  return 0;
}

/* ---- extensions ---- */

enum { MAX_ENABLED = 32 };

typedef struct {
  VkExtensionProperties* all;
  uint32_t num;
  uint32_t version; /* version of Vulkan that the device supports */
  const char* enabled[MAX_ENABLED];
  uint32_t num_enabled;
} extensions;

static int has_extension(const extensions* e, const char* name) {
  for (uint32_t i = 0; i < e->num; i++)
    if (strcmp(e->all[i].extensionName, name) == 0) return 1;
  return 0;
}

/* Whether a device supports an extension, which is part of Vulkan from version `since` on (0: of no version). Adds it
 * to the enabled extensions if it is not part of the device's version. */
static int enable(extensions* e, uint32_t since, const char* name) {
  if (since != 0 && e->version >= since) return 1;
  if (!has_extension(e, name) || e->num_enabled == MAX_ENABLED) return 0;
  e->enabled[e->num_enabled++] = name;
  return 1;
}

static int is_set(const char* variable) {
  const char* v = getenv(variable);
  return v != NULL && *v != 0 && strcmp(v, "0") != 0;
}

static VkResult list_extensions(VkPhysicalDevice physical, extensions* e) {
  VkResult rc = tvmgo_vk_instance.vkEnumerateDeviceExtensionProperties(physical, NULL, &e->num, NULL);
  if (rc != VK_SUCCESS) return rc;
  e->all = calloc(e->num + 1, sizeof *e->all);
  if (e->all == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
  return tvmgo_vk_instance.vkEnumerateDeviceExtensionProperties(physical, NULL, &e->num, e->all);
}

/* ---- features ---- */

/* Structures that are newer than the oldest headers with which this is compiled. */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MATRIX_KHR ((VkStructureType)1000506000)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BFLOAT16 ((VkStructureType)1000141000)

typedef struct { /* VkPhysicalDeviceCooperativeMatrixFeaturesKHR */
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
} matrix_features;

typedef struct { /* VkPhysicalDeviceShaderBfloat16FeaturesKHR */
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderBFloat16Type, shaderBFloat16DotProduct, shaderBFloat16CooperativeMatrix;
} bfloat16_features;

/* The structures of a query of features. The same structures then enable these features. */
typedef struct {
  VkPhysicalDeviceFeatures2 base;
  VkPhysicalDevice16BitStorageFeatures storage16;
  VkPhysicalDevice8BitStorageFeatures storage8;
  VkPhysicalDeviceShaderFloat16Int8Features small;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
  VkPhysicalDeviceBufferDeviceAddressFeatures address;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot;
  VkPhysicalDeviceSubgroupSizeControlFeatures size;
  VkPhysicalDeviceCooperativeMatrixFeaturesNV matrix;
  matrix_features matrix_khr;
  bfloat16_features bfloat16;
  VkPhysicalDeviceVulkanMemoryModelFeatures model;
  VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures types;
  VkPhysicalDeviceVariablePointersFeatures pointers;
  VkPhysicalDeviceUniformBufferStandardLayoutFeatures layout;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic;
  VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT atomic2;
  VkPhysicalDeviceMaintenance4Features four;
} features;

static void query_features(VkPhysicalDevice physical, extensions* e, features* f) {
  void** end = &f->base.pNext;
  memset(f, 0, sizeof *f);
  f->base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
#define ASK(member, type, has)                                    \
  if (has) {                                                      \
    f->member.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type;   \
    *end = &f->member;                                            \
    end = (void**)&f->member.pNext;                               \
  }
  ASK(storage16, 16BIT_STORAGE_FEATURES, 1)
  ASK(storage8, 8BIT_STORAGE_FEATURES, enable(e, VK_API_VERSION_1_2, "VK_KHR_8bit_storage"))
  ASK(small, SHADER_FLOAT16_INT8_FEATURES, enable(e, VK_API_VERSION_1_2, "VK_KHR_shader_float16_int8"))
  ASK(timeline, TIMELINE_SEMAPHORE_FEATURES, enable(e, VK_API_VERSION_1_2, "VK_KHR_timeline_semaphore"))
  ASK(address, BUFFER_DEVICE_ADDRESS_FEATURES, enable(e, VK_API_VERSION_1_2, "VK_KHR_buffer_device_address"))
  ASK(dot, SHADER_INTEGER_DOT_PRODUCT_FEATURES, enable(e, VK_API_VERSION_1_3, "VK_KHR_shader_integer_dot_product"))
  ASK(size, SUBGROUP_SIZE_CONTROL_FEATURES, enable(e, VK_API_VERSION_1_3, "VK_EXT_subgroup_size_control"))
  ASK(matrix, COOPERATIVE_MATRIX_FEATURES_NV, enable(e, 0, "VK_NV_cooperative_matrix"))
  ASK(matrix_khr, MATRIX_KHR, enable(e, 0, "VK_KHR_cooperative_matrix"))
  ASK(bfloat16, BFLOAT16, enable(e, 0, "VK_KHR_shader_bfloat16"))
  ASK(model, VULKAN_MEMORY_MODEL_FEATURES, enable(e, VK_API_VERSION_1_2, "VK_KHR_vulkan_memory_model"))
  ASK(types, SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES, enable(e, VK_API_VERSION_1_2,
                                                            "VK_KHR_shader_subgroup_extended_types"))
  ASK(pointers, VARIABLE_POINTERS_FEATURES, 1)
  ASK(layout, UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES, enable(e, VK_API_VERSION_1_2,
                                                             "VK_KHR_uniform_buffer_standard_layout"))
  ASK(atomic, SHADER_ATOMIC_FLOAT_FEATURES_EXT, enable(e, 0, "VK_EXT_shader_atomic_float"))
  ASK(atomic2, SHADER_ATOMIC_FLOAT_2_FEATURES_EXT, f->atomic.sType != 0 && enable(e, 0, "VK_EXT_shader_atomic_float2"))
  ASK(four, MAINTENANCE_4_FEATURES, enable(e, VK_API_VERSION_1_3, "VK_KHR_maintenance4"))
#undef ASK
  tvmgo_vk_instance.vkGetPhysicalDeviceFeatures2(physical, &f->base);
  VkPhysicalDeviceFeatures want = {.shaderInt16 = f->base.features.shaderInt16,
                                   .shaderInt64 = f->base.features.shaderInt64,
                                   .shaderFloat64 = f->base.features.shaderFloat64};
  f->base.features = want;
  f->address.bufferDeviceAddressCaptureReplay = f->address.bufferDeviceAddressMultiDevice = 0;
  f->matrix.cooperativeMatrixRobustBufferAccess = f->matrix_khr.cooperativeMatrixRobustBufferAccess = 0;
  /* Kernels do not use images. */
  f->atomic.shaderImageFloat32Atomics = f->atomic.shaderImageFloat32AtomicAdd = 0;
  f->atomic.sparseImageFloat32Atomics = f->atomic.sparseImageFloat32AtomicAdd = 0;
  f->atomic2.shaderImageFloat32AtomicMinMax = f->atomic2.sparseImageFloat32AtomicMinMax = 0;
}

static void store_atomics(vk_features* h, const features* f) {
  const VkPhysicalDeviceShaderAtomicFloatFeaturesEXT* a = &f->atomic;
  const VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT* b = &f->atomic2;
  const VkBool32 add[2][3] = {
      {b->shaderBufferFloat16AtomicAdd, a->shaderBufferFloat32AtomicAdd, a->shaderBufferFloat64AtomicAdd},
      {b->shaderSharedFloat16AtomicAdd, a->shaderSharedFloat32AtomicAdd, a->shaderSharedFloat64AtomicAdd}};
  const VkBool32 min_max[2][3] = {
      {b->shaderBufferFloat16AtomicMinMax, b->shaderBufferFloat32AtomicMinMax, b->shaderBufferFloat64AtomicMinMax},
      {b->shaderSharedFloat16AtomicMinMax, b->shaderSharedFloat32AtomicMinMax, b->shaderSharedFloat64AtomicMinMax}};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 3; k++) h->float_add[i][k] = add[i][k] != 0, h->float_min_max[i][k] = min_max[i][k] != 0;
}

static void store_float_modes(vk_features* h, const VkPhysicalDeviceFloatControlsProperties* p) {
  const VkBool32 modes[5][3] = {
      {p->shaderDenormPreserveFloat16, p->shaderDenormPreserveFloat32, p->shaderDenormPreserveFloat64},
      {p->shaderDenormFlushToZeroFloat16, p->shaderDenormFlushToZeroFloat32, p->shaderDenormFlushToZeroFloat64},
      {p->shaderSignedZeroInfNanPreserveFloat16, p->shaderSignedZeroInfNanPreserveFloat32,
       p->shaderSignedZeroInfNanPreserveFloat64},
      {p->shaderRoundingModeRTEFloat16, p->shaderRoundingModeRTEFloat32, p->shaderRoundingModeRTEFloat64},
      {p->shaderRoundingModeRTZFloat16, p->shaderRoundingModeRTZFloat32, p->shaderRoundingModeRTZFloat64}};
  for (int i = 0; i < 5; i++)
    for (int k = 0; k < 3; k++) h->float_mode[i][k] = modes[i][k] != 0;
  h->denorm_independence = (uint8_t)p->denormBehaviorIndependence;
  h->rounding_independence = (uint8_t)p->roundingModeIndependence;
}

static void store_features(vk_device* d, const features* f) {
  vk_features* h = &d->has;
  h->int16 = f->base.features.shaderInt16 != 0;
  h->int64 = f->base.features.shaderInt64 != 0;
  h->float64 = f->base.features.shaderFloat64 != 0;
  h->int8 = f->small.shaderInt8 != 0;
  h->float16 = f->small.shaderFloat16 != 0;
  h->storage16 = f->storage16.storageBuffer16BitAccess != 0;
  h->uniform16 = f->storage16.uniformAndStorageBuffer16BitAccess != 0;
  h->push16 = f->storage16.storagePushConstant16 != 0;
  h->storage8 = f->storage8.storageBuffer8BitAccess != 0;
  h->uniform8 = f->storage8.uniformAndStorageBuffer8BitAccess != 0;
  h->push8 = f->storage8.storagePushConstant8 != 0;
  h->subgroup_extended_types = f->types.shaderSubgroupExtendedTypes != 0;
  h->subgroup_size_control = f->size.subgroupSizeControl && f->size.computeFullSubgroups;
  h->variable_pointers = f->pointers.variablePointers != 0;
  h->variable_pointers_buffer = f->pointers.variablePointersStorageBuffer != 0;
  h->buffer_device_address = f->address.bufferDeviceAddress != 0;
  h->memory_model = f->model.vulkanMemoryModel != 0;
  h->memory_model_device_scope = f->model.vulkanMemoryModelDeviceScope != 0;
  h->integer_dot_product = f->dot.shaderIntegerDotProduct != 0;
  h->cooperative_matrix_nv = f->matrix.cooperativeMatrix != 0;
  h->cooperative_matrix = f->matrix_khr.cooperativeMatrix != 0;
  h->bfloat16 = f->bfloat16.shaderBFloat16Type && f->bfloat16.shaderBFloat16CooperativeMatrix;
  h->uniform_standard_layout = f->layout.uniformBufferStandardLayout != 0;
  h->maintenance4 = f->four.maintenance4 != 0;
  h->storage_class = 1;
  store_atomics(h, f);
  h->timestamps = d->timestamp_bits > 0;
}

/* ---- properties ---- */

static void query_properties(vk_device* d, extensions* e) {
  VkPhysicalDeviceProperties2 base = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceSubgroupProperties group = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties most = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
                                                 .pNext = &group};
  VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties size = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDevicePushDescriptorPropertiesKHR push = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
  VkPhysicalDeviceFloatControlsProperties floats = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
  int float_controls = enable(e, VK_API_VERSION_1_2, "VK_KHR_shader_float_controls");
  int has_pci = has_extension(e, "VK_EXT_pci_bus_info");
  group.pNext = &id;
  void** end = &id.pNext;
  if (has_pci) *end = &pci, end = (void**)&pci.pNext;
  base.pNext = &most;
  if (float_controls) *end = &floats, end = (void**)&floats.pNext;
  if (enable(e, VK_API_VERSION_1_2, "VK_KHR_driver_properties")) *end = &driver, end = (void**)&driver.pNext;
  if (d->has.subgroup_size_control) *end = &size, end = (void**)&size.pNext;
  if (d->has.push_descriptor) *end = &push;
  tvmgo_vk_instance.vkGetPhysicalDeviceProperties2(d->physical, &base);
  store_float_modes(&d->has, &floats);
  d->properties = base.properties;
  d->subgroup_size = group.subgroupSize;
  d->subgroup_operations = group.supportedOperations;
  d->subgroup_stages = group.supportedStages;
  d->min_subgroup_size = size.minSubgroupSize != 0 ? size.minSubgroupSize : group.subgroupSize;
  d->max_subgroup_size = size.maxSubgroupSize != 0 ? size.maxSubgroupSize : group.subgroupSize;
  d->max_subgroups = size.maxComputeWorkgroupSubgroups;
  d->max_push_descriptors = push.maxPushDescriptors;
  d->max_allocation = most.maxMemoryAllocationSize;
  d->driver_id = driver.driverID;
  snprintf(d->driver_name, sizeof d->driver_name, "%s", driver.driverName);
  snprintf(d->driver_info, sizeof d->driver_info, "%s", driver.driverInfo);
  memcpy(d->uuid, id.deviceUUID, sizeof d->uuid);
  if (has_pci)
    snprintf(d->pci_bus_id, sizeof d->pci_bus_id, "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice,
             pci.pciFunction);
  d->max_spirv_version = e->version >= VK_API_VERSION_1_3 ? 0x10600 : e->version >= VK_API_VERSION_1_2 ? 0x10500
      : 0x10300;
  if (e->version < VK_API_VERSION_1_2 && float_controls && enable(e, 0, "VK_KHR_spirv_1_4"))
    d->max_spirv_version = 0x10400;
}

static void query_memory(vk_device* d) {
  VkPhysicalDeviceMemoryProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  tvmgo_vk_instance.vkGetPhysicalDeviceMemoryProperties2(d->physical, &all);
  d->memory = all.memoryProperties;
  d->data_type = tvmgo_vk_choose(&d->memory, d->properties.deviceType, ~0u, MEMORY_DATA);
  d->upload_type = tvmgo_vk_choose(&d->memory, d->properties.deviceType, ~0u, MEMORY_UPLOAD);
  d->download_type = tvmgo_vk_choose(&d->memory, d->properties.deviceType, ~0u, MEMORY_DOWNLOAD);
}

/* ---- the device ---- */

/* The address of a function. On older devices, functions of extensions have the suffix KHR. */
static PFN_vkVoidFunction function(const vk_device* d, const char* name) {
  PFN_vkVoidFunction at = tvmgo_vk_instance.vkGetDeviceProcAddr(d->handle, name);
  char khr[128];
  snprintf(khr, sizeof khr, "%sKHR", name);
  return at != NULL ? at : tvmgo_vk_instance.vkGetDeviceProcAddr(d->handle, khr);
}

static VkResult create(vk_device* d, const extensions* e, const features* f, const char** why) {
  float priorities[MAX_QUEUES];
  for (int i = 0; i < MAX_QUEUES; i++) priorities[i] = 1;
  VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                    .queueFamilyIndex = d->family,
                                    .queueCount = d->num_queues,
                                    .pQueuePriorities = priorities};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = &f->base,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queues,
                             .enabledExtensionCount = e->num_enabled,
                             .ppEnabledExtensionNames = e->enabled};
  tvmgo_dl_quiet_begin();
  VkResult rc = tvmgo_vk_instance.vkCreateDevice(d->physical, &info, NULL, &d->handle);
  tvmgo_dl_quiet_end();
  if (rc != VK_SUCCESS) return rc;
  const char* missing = NULL;
#define MAY(name) d->f.name = (__typeof__(d->f.name))function(d, #name);
#define MUST(name)     \
  MAY(name)            \
  if (d->f.name == NULL) missing = #name;
  TVMGO_VULKAN_DEVICE(MUST, MAY)
#undef MUST
#undef MAY
  if (missing != NULL) {
    static _Thread_local char text[128];
    snprintf(text, sizeof text, "its driver has no function %s", missing);
    *why = text;
    return VK_ERROR_INCOMPATIBLE_DRIVER;
  }
  for (uint32_t i = 0; i < d->num_queues; i++) {
    pthread_mutex_init(&d->queue_locks[i], NULL);
    d->f.vkGetDeviceQueue(d->handle, d->family, i, &d->queues[i]);
  }
  return VK_SUCCESS;
}

static VkResult open_device(vk_device* d, extensions* e, uint32_t instance_version, const char** why) {
  VkPhysicalDeviceProperties2 first = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  features f;
  VkResult rc = list_extensions(d->physical, e);
  if (rc != VK_SUCCESS) return rc;
  tvmgo_vk_instance.vkGetPhysicalDeviceProperties2(d->physical, &first);
  e->version = d->api_version = first.properties.apiVersion < instance_version ? first.properties.apiVersion
      : instance_version;
  query_features(d->physical, e, &f);
  if (!f.timeline.timelineSemaphore) {
    *why = "it does not support timeline semaphores";
    return VK_ERROR_FEATURE_NOT_PRESENT;
  }
  store_features(d, &f);
  d->has.push_descriptor = !is_set("TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR") && enable(e, 0, "VK_KHR_push_descriptor");
  d->has.dedicated_allocation = !is_set("TVM_VULKAN_DISABLE_DEDICATED_ALLOCATION");
  d->has.memory_budget = (uint8_t)enable(e, 0, "VK_EXT_memory_budget");
  query_properties(d, e);
  query_memory(d);
  if (d->data_type < 0 || d->upload_type < 0 || d->download_type < 0) {
    *why = "it has no memory type for buffers, or none that is host-visible";
    return VK_ERROR_FEATURE_NOT_PRESENT;
  }
  rc = create(d, e, &f, why);
  if (rc != VK_SUCCESS) return rc;
  pthread_mutex_init(&d->lock, NULL);
  d->heap = tvmgo_vk_heap_new();
  if (d->heap != NULL) d->stream = tvmgo_vk_stream_new(d);
  return d->stream == NULL ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_SUCCESS;
}

VkResult tvmgo_vk_add_device(VkPhysicalDevice physical, const vk_family* family, uint32_t instance_version, int staged,
                             const char** why) {
  vk_device* d = &tvmgo_vk_devices[tvmgo_vk_num_devices];
  extensions e = {0};
  memset(d, 0, sizeof *d);
  d->index = tvmgo_vk_num_devices;
  d->physical = physical;
  d->family = family->family;
  d->num_queues = family->num_queues;
  d->timestamp_bits = family->timestamp_bits;
  d->staged = staged;
  VkResult rc = open_device(d, &e, instance_version, why);
  free(e.all);
  if (rc != VK_SUCCESS) {
    free(d->heap);
    if (d->handle != NULL && d->f.vkDestroyDevice != NULL) d->f.vkDestroyDevice(d->handle, NULL);
    return rc;
  }
  tvmgo_vk_name(d, VK_OBJECT_TYPE_DEVICE, (uint64_t)(uintptr_t)d->handle, "vulkan:%d", (int)d->index);
  if (!d->has.timestamps) /* all devices share the table: without it, the runtime measures on the host */
    tvmgo_vk_table.timer_create = NULL;
  tvmgo_vk_num_devices++;
  return VK_SUCCESS;
}
