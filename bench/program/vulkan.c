/* Shaders of Vulkan: a chain of dispatches of which each needs what the one before wrote, through a function of a
 * module, and by the calls of Vulkan alone, recorded into one command buffer with a barrier after each. The same
 * shader, 64 numbers, one block; after every ROUND dispatches they are submitted and waited for. And copies, to memory
 * that the host sees. */
#include "program.h"

#ifdef BENCH_VULKAN
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <vulkan/tvmgo_vulkan.h>

/* Where an array's pages lie in the machine makes its copies up to a fifth faster or slower, and stays as it is as long
 * as the array: each side copies to and from several, in turn. */
enum { ROUND = 1000, NUMBERS = 64, COPY = 16 << 20, ARRAYS = 8 };

static void need(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "bench: %s fails\n", what);
  exit(1);
}

/* ---- through the module ---- */

static TVMFFIAny kernel_function, module, copied[ARRAYS];
static TVMFFIAny values[5]; /* numbers, two scalars, grid, block */
static char* host;          /* COPY bytes */

static TVMFFIAny device_tensor(int64_t numbers) {
  TVMFFIAny dim = bench_int(numbers), args[4] = {{0}};
  TVMFFIObjectHandle shape = bench_global("ffi.Shape"), alloc = bench_global("runtime.TVMTensorAllocWithScope");
  args[0] = bench_call(shape, &dim, 1);
  args[1].type_index = kTVMFFIDataType, args[1].v_dtype = (DLDataType){kDLUInt, 32, 1};
  args[2].type_index = kTVMFFIDevice, args[2].v_device = (DLDevice){kDLVulkan, 0};
  TVMFFIAny t = bench_call(alloc, args, 4);
  bench_release(args[0]);
  TVMFFIObjectDecRef(shape), TVMFFIObjectDecRef(alloc);
  return t;
}

static void prepare_module(void) {
  if (module.v_obj != NULL) return;
  module = bench_load(bench_vulkan_so);
  TVMFFIObjectHandle get = bench_global("ffi.ModuleGetFunction");
  TVMFFIAny args[3] = {module, bench_text("step"), {.type_index = kTVMFFIBool}};
  TVMFFIObjectHandle import = bench_global("runtime.ModuleGetImport");
  TVMFFIAny of[2] = {module, bench_int(0)};
  args[0] = bench_call(import, of, 2); /* the kernel itself, not the host function of its name */
  kernel_function = bench_call(get, args, 3);
  if (kernel_function.type_index != kTVMFFIFunction) bench_fail("step");
  TVMFFIObjectDecRef(get), TVMFFIObjectDecRef(import);
  values[0] = device_tensor(NUMBERS);
  values[1] = bench_int(3), values[2] = bench_int(1), values[3] = bench_int(1), values[4] = bench_int(NUMBERS);
  bench_call(kernel_function.v_obj, values, 5);
}

static void chain(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny result = {0};
    bench_check(TVMFFIFunctionCall(kernel_function.v_obj, values, 5, &result), "launch");
    if (i % ROUND == ROUND - 1) bench_check(TVMSynchronize(kDLVulkan, 0, NULL), "wait");
  }
  bench_check(TVMSynchronize(kDLVulkan, 0, NULL), "wait");
}

static void copy_to(int64_t n) {
  static unsigned turn;
  for (int64_t i = 0; i < n; i++) {
    DLTensor* t = TVMFFITensorGetDLTensorPtr(copied[turn++ % ARRAYS].v_obj);
    bench_check(TVMArrayCopyFromBytes((TVMArrayHandle)t, host, COPY), "copy");
  }
}

static void copy_from(int64_t n) {
  static unsigned turn;
  for (int64_t i = 0; i < n; i++) {
    DLTensor* t = TVMFFITensorGetDLTensorPtr(copied[turn++ % ARRAYS].v_obj);
    bench_check(TVMArrayCopyToBytes((TVMArrayHandle)t, host, COPY), "copy");
  }
}

static void prepare_copy(void) {
  if (host != NULL) return;
  host = calloc(1, COPY);
  need(host != NULL, "calloc");
  memset(host, 1, COPY);
  for (int i = 0; i < ARRAYS; i++) copied[i] = device_tensor(COPY / 4);
  copy_to(ARRAYS);
}

/* ---- Vulkan alone ---- */

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

static void ok(VkResult rc, const char* what) { need(rc == VK_SUCCESS, what); }

static void find_device(void) {
  const char* name = getenv("TVMGO_VULKAN_LIBRARY");
  void* library = dlopen(name != NULL && *name != 0 ? name : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  need(library != NULL, "opening the Vulkan loader");
  PFN_vkVoidFunction (*get)(VkInstance, const char*) = (__typeof__(get))dlsym(library, "vkGetInstanceProcAddr");
  need(get != NULL, "vkGetInstanceProcAddr");
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
  need(list(instance, &one, &physical) >= 0 && one == 1, "vkEnumeratePhysicalDevices");
  void (*types)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2*) = (__typeof__(types))get(instance,
      "vkGetPhysicalDeviceMemoryProperties2");
  memory_types.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  types(physical, &memory_types);
  float priority = 1;
  VkDeviceQueueCreateInfo queues = {
      /* the first family computes everywhere */
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

/* A buffer in memory that the host sees, and where. */
static VkBuffer buffer_of(VkDeviceSize size, char** at) {
  enum { SEEN = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT };
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
          (all->memoryTypes[type].propertyFlags & SEEN) != SEEN))
    type++;
  need(type < all->memoryTypeCount, "finding memory that the host sees");
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
  need(f != NULL, bench_step_spv);
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
                            &seen, 0,
                            NULL, 0, NULL);
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

static void copy_to_raw(int64_t n) {
  static unsigned turn;
  for (int64_t i = 0; i < n; i++) memcpy(mapped[turn++ % ARRAYS], host, COPY);
}

static void copy_from_raw(int64_t n) {
  static unsigned turn;
  for (int64_t i = 0; i < n; i++) memcpy(host, mapped[turn++ % ARRAYS], COPY);
}

const bench_row bench_vulkan_rows[] = {
    {"vk-chain", prepare_module, chain},
    {"vk-chain-raw", prepare_raw, chain_raw},
    {"vk-copy-to", prepare_copy, copy_to},
    {"vk-copy-to-raw", prepare_raw, copy_to_raw},
    {"vk-copy-from", prepare_copy, copy_from},
    {"vk-copy-from-raw", prepare_raw, copy_from_raw},
    {0},
};
#else
const bench_row bench_vulkan_rows[] = {{0}};
#endif
