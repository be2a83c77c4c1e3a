/* Vulkan: a chain of dispatches, each of which reads what the previous one wrote, by a function of a module, and by
 * Vulkan directly, recorded into one command buffer with a barrier after each. Both use the same shader with 64 numbers
 * and one workgroup, and wait after every ROUND dispatches. Also: copies to and from host-visible memory, of COPY and
 * of SMALL bytes. */
#include "program.h"

#ifdef BENCH_VULKAN
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/tvmgo_vulkan.h>

/* Copies of an array are up to a fifth faster or slower depending on the physical addresses of its pages, which do not
 * change while it exists. Therefore both sides copy to and from several arrays, one after the other. */
enum { ROUND = 1000, NUMBERS = 64, COPY = 16 << 20, SMALL = 4 << 10, ARRAYS = 8 };

#define LAUNCH_DEVICE kDLVulkan
#include "launch.h"

/* ---- by the module ---- */

static TVMFFIAny kernel_function, module, copied[ARRAYS];
static TVMFFIAny values[5]; /* numbers, two scalars, grid, block */
static char* host;          /* COPY bytes */

static TVMFFIAny array(int64_t numbers) {
  return bench_tensor(numbers, (DLDataType){kDLUInt, 32, 1}, (DLDevice){kDLVulkan, 0});
}

static void prepare_module(void) {
  if (module.v_obj != NULL) return;
  module = bench_load(bench_vulkan_so);
  kernel_function = bench_module_function(bench_import(module), "step", 0); /* not the host function of this name */
  values[0] = array(NUMBERS);
  values[1] = bench_int(3), values[2] = bench_int(1), values[3] = bench_int(1), values[4] = bench_int(NUMBERS);
  bench_call(kernel_function.v_obj, values, 5);
}

static void chain(int64_t n) { launch(kernel_function.v_obj, values, 5, n); }

static TVMFFIAny copied_small[ARRAYS];

static inline void copies_to(const TVMFFIAny* arrays, size_t size, int64_t n) {
  static unsigned next;
  for (int64_t i = 0; i < n; i++) {
    DLTensor* t = TVMFFITensorGetDLTensorPtr(arrays[next++ % ARRAYS].v_obj);
    bench_check(TVMArrayCopyFromBytes((TVMArrayHandle)t, host, size), "copy");
  }
}

static inline void copies_from(const TVMFFIAny* arrays, size_t size, int64_t n) {
  static unsigned next;
  for (int64_t i = 0; i < n; i++) {
    DLTensor* t = TVMFFITensorGetDLTensorPtr(arrays[next++ % ARRAYS].v_obj);
    bench_check(TVMArrayCopyToBytes((TVMArrayHandle)t, host, size), "copy");
  }
}

static void copy_to(int64_t n) { copies_to(copied, COPY, n); }
static void copy_from(int64_t n) { copies_from(copied, COPY, n); }
static void copy_small_to(int64_t n) { copies_to(copied_small, SMALL, n); }
static void copy_small_from(int64_t n) { copies_from(copied_small, SMALL, n); }

static void prepare_copy(void) {
  if (host != NULL) return;
  host = calloc(1, COPY);
  bench_need(host != NULL, "calloc");
  memset(host, 1, COPY);
  for (int i = 0; i < ARRAYS; i++) copied[i] = array(COPY / 4), copied_small[i] = array(SMALL / 4);
  copy_to(ARRAYS);
  copy_small_to(ARRAYS);
}

/* ---- direct use of Vulkan ---- */

static tvmgo_vulkan_device vk;
static VkDevice device;
static VkQueue queue;
static VkPhysicalDeviceMemoryProperties2 memory_types;
static VkCommandPool pool;
static VkCommandBuffer commands;
static VkPipelineLayout layout;
static VkPipeline pipeline;
static VkDescriptorSet set;
static char* mapped[ARRAYS];

static void ok(VkResult rc, const char* what) { bench_need(rc == VK_SUCCESS, what); }

static void find_device(void) {
  void* library = bench_driver("TVMGO_VULKAN_LIBRARY", "libvulkan.so.1");
  PFN_vkVoidFunction (*get)(VkInstance, const char*) = (__typeof__(get))bench_symbol(library, "vkGetInstanceProcAddr");
  VkResult (*create)(const VkInstanceCreateInfo*, const VkAllocationCallbacks*,
                     VkInstance*) = (__typeof__(create))get(NULL, "vkCreateInstance");
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  VkInstance instance;
  ok(create(&info, NULL, &instance), "vkCreateInstance");
  VkResult (*list)(VkInstance, uint32_t*, VkPhysicalDevice*) = (__typeof__(list))get(instance,
      "vkEnumeratePhysicalDevices");
  VkPhysicalDevice physical;
  uint32_t one = 1;
  bench_need(list(instance, &one, &physical) >= 0 && one == 1, "vkEnumeratePhysicalDevices");
  void (*types)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2*) = (__typeof__(types))get(instance,
      "vkGetPhysicalDeviceMemoryProperties2");
  memory_types.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  types(physical, &memory_types);
  float priority = 1;
  VkDeviceQueueCreateInfo queues = {
      /* on all known devices the first family supports compute */
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo open = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queues};
  VkResult (*create_device)(VkPhysicalDevice, const VkDeviceCreateInfo*, const VkAllocationCallbacks*,
                            VkDevice*) = (__typeof__(create_device))get(instance, "vkCreateDevice");
  ok(create_device(physical, &open, NULL, &device), "vkCreateDevice");
  PFN_vkVoidFunction (*entry)(VkDevice, const char*) = (__typeof__(entry))get(instance, "vkGetDeviceProcAddr");
#define ENTRY(f) vk.f = (__typeof__(vk.f))entry(device, #f);
  TVMGO_VULKAN_DEVICE(ENTRY, ENTRY)
  vk.vkGetDeviceQueue(device, 0, 0, &queue);
}

/* A buffer in memory that is visible to the host, with the address where it is mapped. */
static VkBuffer buffer_of(VkDeviceSize size, char** at) {
  enum { VISIBLE = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT };
  VkBuffer b;
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size,
                             .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  ok(vk.vkCreateBuffer(device, &info, NULL, &b), "vkCreateBuffer");
  VkMemoryRequirements2 wants = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  VkBufferMemoryRequirementsInfo2 of = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = b};
  vk.vkGetBufferMemoryRequirements2(device, &of, &wants);
  uint32_t type = 0;
  const VkPhysicalDeviceMemoryProperties* all = &memory_types.memoryProperties;
  while (type < all->memoryTypeCount &&
         (!(wants.memoryRequirements.memoryTypeBits >> type & 1) ||
          (all->memoryTypes[type].propertyFlags & VISIBLE) != VISIBLE))
    type++;
  bench_need(type < all->memoryTypeCount, "finding memory that is visible to the host");
  VkMemoryAllocateInfo ask = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = wants.memoryRequirements.size,
          .memoryTypeIndex = type};
  VkDeviceMemory memory;
  ok(vk.vkAllocateMemory(device, &ask, NULL, &memory), "vkAllocateMemory");
  ok(vk.vkBindBufferMemory(device, b, memory, 0), "vkBindBufferMemory");
  ok(vk.vkMapMemory(device, memory, 0, ~0ull, 0, (void**)at), "vkMapMemory");
  return b;
}

static void make_pipeline(void) {
  static uint32_t words[1 << 14];
  FILE* f = fopen(bench_step_spv, "rb");
  bench_need(f != NULL, bench_step_spv);
  size_t n = fread(words, 4, sizeof words / 4, f);
  fclose(f);
  VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = 4 * n,
                                   .pCode = words};
  VkShaderModule shader;
  ok(vk.vkCreateShaderModule(device, &code, NULL, &shader), "vkCreateShaderModule");
  VkDescriptorSetLayoutBinding binding = {
      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 1,
          .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo of_set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
  VkDescriptorSetLayout set_layout;
  ok(vk.vkCreateDescriptorSetLayout(device, &of_set, NULL, &set_layout), "vkCreateDescriptorSetLayout");
  VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 16};
  VkPipelineLayoutCreateInfo of_pipeline = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
                                            .pSetLayouts = &set_layout, .pushConstantRangeCount = 1,
                                                .pPushConstantRanges = &push};
  ok(vk.vkCreatePipelineLayout(device, &of_pipeline, NULL, &layout), "vkCreatePipelineLayout");
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = shader,
                                                    .pName = "step"},
                                      .layout = layout};
  ok(vk.vkCreateComputePipelines(device, NULL, 1, &info, NULL, &pipeline), "vkCreateComputePipelines");
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
  VkDescriptorPoolCreateInfo sets = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
  VkDescriptorPool from;
  ok(vk.vkCreateDescriptorPool(device, &sets, NULL, &from), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo ask = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = from,
                                     .descriptorSetCount = 1, .pSetLayouts = &set_layout};
  ok(vk.vkAllocateDescriptorSets(device, &ask, &set), "vkAllocateDescriptorSets");
}

static void prepare_raw(void) {
  if (device != NULL) return;
  prepare_copy();
  find_device();
  make_pipeline();
  char* at;
  VkDescriptorBufferInfo numbers = {.buffer = buffer_of(4 * NUMBERS, &at), .range = 4 * NUMBERS};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &numbers};
  vk.vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
  VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT};
  ok(vk.vkCreateCommandPool(device, &info, NULL, &pool), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo ask = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool,
                                     .commandBufferCount = 1};
  ok(vk.vkAllocateCommandBuffers(device, &ask, &commands), "vkAllocateCommandBuffers");
  for (int i = 0; i < ARRAYS; i++) {
    buffer_of(COPY, &mapped[i]);
    memset(mapped[i], 1, COPY);
  }
}

static void round_raw(int64_t n) {
  const uint64_t scalars[2] = {3, 1};
  const VkMemoryBarrier seen = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  ok(vk.vkResetCommandPool(device, pool, 0), "vkResetCommandPool");
  ok(vk.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
  for (int64_t i = 0; i < n; i++) {
    vk.vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof scalars, scalars);
    vk.vkCmdDispatch(commands, 1, 1, 1);
    vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1,
                            &seen, 0, NULL, 0, NULL);
  }
  ok(vk.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  ok(vk.vkQueueSubmit(queue, 1, &submit, NULL), "vkQueueSubmit");
  ok(vk.vkDeviceWaitIdle(device), "vkDeviceWaitIdle");
}

static void chain_raw(int64_t n) {
  for (; n > ROUND; n -= ROUND) round_raw(ROUND);
  round_raw(n);
}

static inline void copies_to_raw(size_t size, int64_t n) {
  static unsigned next;
  for (int64_t i = 0; i < n; i++) memcpy(mapped[next++ % ARRAYS], host, size);
}

static inline void copies_from_raw(size_t size, int64_t n) {
  static unsigned next;
  for (int64_t i = 0; i < n; i++) memcpy(host, mapped[next++ % ARRAYS], size);
}

static void copy_to_raw(int64_t n) { copies_to_raw(COPY, n); }
static void copy_from_raw(int64_t n) { copies_from_raw(COPY, n); }
static void copy_small_to_raw(int64_t n) { copies_to_raw(SMALL, n); }
static void copy_small_from_raw(int64_t n) { copies_from_raw(SMALL, n); }

const bench_row bench_vulkan_rows[] = {
    {"vk-chain", prepare_module, chain},
    {"vk-chain-raw", prepare_raw, chain_raw},
    {"vk-copy-to", prepare_copy, copy_to},
    {"vk-copy-to-raw", prepare_raw, copy_to_raw},
    {"vk-copy-from", prepare_copy, copy_from},
    {"vk-copy-from-raw", prepare_raw, copy_from_raw},
    {"vk-copy-small-to", prepare_copy, copy_small_to},
    {"vk-copy-small-to-raw", prepare_raw, copy_small_to_raw},
    {"vk-copy-small-from", prepare_copy, copy_small_from},
    {"vk-copy-small-from-raw", prepare_raw, copy_small_from_raw},
    {0},
};
#else
const bench_row bench_vulkan_rows[] = {{0}};
#endif
