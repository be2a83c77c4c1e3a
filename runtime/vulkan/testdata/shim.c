/* A Vulkan loader that stands before the real one and does on request what drivers do rarely. Its environment is read at each call,
 * so that a test can change it:
 *
 *   SHIM_FAIL_AT=K,CODE  the K-th call from then on of a function that can fail answers CODE
 *   SHIM_NO_BARRIERS=1   leaves barriers out
 *   SHIM_COUNT_BARRIERS=FILE  writes into it how many there were, but for those before the host looks
 *   SHIM_EMPTY_COPIES=1  makes copies of no bytes
 *   SHIM_NO_COMPUTE=1    no queue can compute
 *   SHIM_NO_TIMELINE=1   the device has no timeline semaphores
 *   SHIM_NO_FLOAT64=1    nor doubles in shaders
 *   SHIM_NO_MAINTENANCE4=1  nor sizes of blocks by constants
 *   SHIM_ALLOCATIONS=N   the device allows N allocations
 *   SHIM_INCOHERENT=1    the host sees a copy of the memory, which flushes and invalidations bring up to date
 *   SHIM_REORDER=1       work of one stream is held back until it is waited for
 *   SHIM_NO_TIMES=1      the queue has no times */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Our header hides the function that is made visible here. */
#define vkGetInstanceProcAddr hidden_one
#include <vulkan/tvmgo_vulkan.h>
#undef vkGetInstanceProcAddr

static PFN_vkVoidFunction (*real_instance)(VkInstance, const char*);
static PFN_vkVoidFunction (*real_device)(VkDevice, const char*);

static int on(const char* variable) { return getenv(variable) != NULL && *getenv(variable) != 0; }

static _Atomic long calls;

/* What the next call answers in place of doing anything; VK_SUCCESS: it is made. */
static VkResult fault(void) {
  static char last[64];
  const char* at = getenv("SHIM_FAIL_AT");
  if (at == NULL) at = "";
  if (strcmp(at, last) != 0) {
    snprintf(last, sizeof last, "%s", at);
    calls = 0;
  }
  long k = 0, code = 0;
  long n = ++calls;
  if (sscanf(at, "%ld,%ld", &k, &code) == 2 && (n == k || (code == VK_ERROR_DEVICE_LOST && n > k))) return (VkResult)code;
  return VK_SUCCESS;
}

#define WRAP(name, params, args)                                     \
  static VkResult(*real_##name) params;                              \
  static VkResult my_##name params {                                 \
    VkResult rc = fault();                                           \
    return rc != VK_SUCCESS ? rc : real_##name args;                 \
  }
typedef const VkAllocationCallbacks* callbacks;

/* ---- a queue that takes what another stream submitted first, unless that is waited for ---- */

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static VkQueue held_queue; /* NULL: nothing is held back */
static VkSemaphore held_waits[8], held_signal;
static uint64_t held_wait_values[8], held_value;
static VkPipelineStageFlags held_stages[8];
static VkCommandBuffer held_commands;
static uint32_t num_held_waits;
static VkResult (*real_vkQueueSubmit)(VkQueue, uint32_t, const VkSubmitInfo*, VkFence);

static void let_go(void) {
  if (held_queue == NULL) return;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = num_held_waits, .pWaitSemaphoreValues = held_wait_values,
                                          .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &held_value};
  VkSubmitInfo s = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .waitSemaphoreCount = num_held_waits,
                    .pWaitSemaphores = held_waits, .pWaitDstStageMask = held_stages, .commandBufferCount = 1,
                    .pCommandBuffers = &held_commands, .signalSemaphoreCount = 1, .pSignalSemaphores = &held_signal};
  VkQueue q = held_queue;
  held_queue = NULL;
  real_vkQueueSubmit(q, 1, &s, NULL);
}

static void hold(VkQueue q, const VkSubmitInfo* s) {
  const VkTimelineSemaphoreSubmitInfo* values = s->pNext;
  held_queue = q;
  num_held_waits = s->waitSemaphoreCount;
  for (uint32_t i = 0; i < num_held_waits; i++) {
    held_waits[i] = s->pWaitSemaphores[i];
    held_wait_values[i] = values->pWaitSemaphoreValues[i];
    held_stages[i] = s->pWaitDstStageMask[i];
  }
  held_commands = *s->pCommandBuffers;
  held_signal = *s->pSignalSemaphores;
  held_value = *values->pSignalSemaphoreValues;
}

static VkResult my_vkQueueSubmit(VkQueue q, uint32_t n, const VkSubmitInfo* s, VkFence f) {
  VkResult rc = fault();
  if (rc != VK_SUCCESS || !on("SHIM_REORDER")) return rc != VK_SUCCESS ? rc : real_vkQueueSubmit(q, n, s, f);
  pthread_mutex_lock(&held_lock);
  int ordered = held_queue == NULL || *s->pSignalSemaphores == held_signal;
  for (uint32_t i = 0; i < s->waitSemaphoreCount; i++) ordered |= s->pWaitSemaphores[i] == held_signal;
  if (ordered) {
    let_go();
    hold(q, s);
  } else {
    rc = real_vkQueueSubmit(q, n, s, f);
  }
  pthread_mutex_unlock(&held_lock);
  return rc;
}

/* Before the host waits for a semaphore, or asks it: what it may mean is submitted; if another stream's work is asked for, not. */
static void let_go_of(VkSemaphore s) {
  pthread_mutex_lock(&held_lock);
  if (s == held_signal) let_go();
  pthread_mutex_unlock(&held_lock);
}
static _Thread_local VkDeviceSize last_size; /* of what this thread allocated last: it is mapped next */
static VkResult (*real_vkAllocateMemory)(VkDevice, const VkMemoryAllocateInfo*, callbacks, VkDeviceMemory*);
static VkResult my_vkAllocateMemory(VkDevice d, const VkMemoryAllocateInfo* i, callbacks c, VkDeviceMemory* o) {
  VkResult rc = fault();
  last_size = i->allocationSize;
  return rc != VK_SUCCESS ? rc : real_vkAllocateMemory(d, i, c, o);
}
WRAP(vkCreateBuffer, (VkDevice d, const VkBufferCreateInfo* i, callbacks c, VkBuffer* o), (d, i, c, o))
WRAP(vkBindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o), (d, b, m, o))
static VkResult (*real_vkMapMemory)(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void**);
static VkResult map(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void**);
static VkResult my_vkMapMemory(VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f, void** p) {
  VkResult rc = fault();
  return rc != VK_SUCCESS ? rc : map(d, m, o, s, f, p);
}
WRAP(vkCreateSemaphore, (VkDevice d, const VkSemaphoreCreateInfo* i, callbacks c, VkSemaphore* o), (d, i, c, o))
static VkResult (*real_vkGetSemaphoreCounterValue)(VkDevice, VkSemaphore, uint64_t*);
static VkResult my_vkGetSemaphoreCounterValue(VkDevice d, VkSemaphore s, uint64_t* v) {
  VkResult rc = fault();
  return rc != VK_SUCCESS ? rc : real_vkGetSemaphoreCounterValue(d, s, v);
}
static VkResult (*real_vkWaitSemaphores)(VkDevice, const VkSemaphoreWaitInfo*, uint64_t);
static VkResult my_vkWaitSemaphores(VkDevice d, const VkSemaphoreWaitInfo* i, uint64_t t) {
  VkResult rc = fault();
  let_go_of(*i->pSemaphores);
  return rc != VK_SUCCESS ? rc : real_vkWaitSemaphores(d, i, t);
}
WRAP(vkCreateCommandPool, (VkDevice d, const VkCommandPoolCreateInfo* i, callbacks c, VkCommandPool* o), (d, i, c, o))
WRAP(vkResetCommandPool, (VkDevice d, VkCommandPool p, VkCommandPoolResetFlags f), (d, p, f))
WRAP(vkAllocateCommandBuffers, (VkDevice d, const VkCommandBufferAllocateInfo* i, VkCommandBuffer* o), (d, i, o))
WRAP(vkBeginCommandBuffer, (VkCommandBuffer b, const VkCommandBufferBeginInfo* i), (b, i))
WRAP(vkEndCommandBuffer, (VkCommandBuffer b), (b))
static VkResult (*real_vkCreateQueryPool)(VkDevice, const VkQueryPoolCreateInfo*, callbacks, VkQueryPool*);
static VkResult my_vkCreateQueryPool(VkDevice d, const VkQueryPoolCreateInfo* i, callbacks c, VkQueryPool* o) {
  VkResult rc = on("SHIM_NO_TIMES") ? VK_ERROR_FEATURE_NOT_PRESENT : fault();
  return rc != VK_SUCCESS ? rc : real_vkCreateQueryPool(d, i, c, o);
}
WRAP(vkGetQueryPoolResults, (VkDevice d, VkQueryPool p, uint32_t a, uint32_t n, size_t s, void* o, VkDeviceSize w, VkQueryResultFlags f), (d, p, a, n, s, o, w, f))

WRAP(vkCreateShaderModule, (VkDevice d, const VkShaderModuleCreateInfo* i, callbacks c, VkShaderModule* o), (d, i, c, o))
WRAP(vkCreatePipelineCache, (VkDevice d, const VkPipelineCacheCreateInfo* i, callbacks c, VkPipelineCache* o), (d, i, c, o))
WRAP(vkGetPipelineCacheData, (VkDevice d, VkPipelineCache p, size_t* n, void* o), (d, p, n, o))
WRAP(vkCreatePipelineLayout, (VkDevice d, const VkPipelineLayoutCreateInfo* i, callbacks c, VkPipelineLayout* o), (d, i, c, o))
WRAP(vkCreateComputePipelines, (VkDevice d, VkPipelineCache p, uint32_t n, const VkComputePipelineCreateInfo* i, callbacks c, VkPipeline* o), (d, p, n, i, c, o))
WRAP(vkCreateDescriptorSetLayout, (VkDevice d, const VkDescriptorSetLayoutCreateInfo* i, callbacks c, VkDescriptorSetLayout* o), (d, i, c, o))
WRAP(vkCreateDescriptorPool, (VkDevice d, const VkDescriptorPoolCreateInfo* i, callbacks c, VkDescriptorPool* o), (d, i, c, o))
WRAP(vkAllocateDescriptorSets, (VkDevice d, const VkDescriptorSetAllocateInfo* i, VkDescriptorSet* o), (d, i, o))
WRAP(vkCreateDescriptorUpdateTemplate, (VkDevice d, const VkDescriptorUpdateTemplateCreateInfo* i, callbacks c, VkDescriptorUpdateTemplate* o), (d, i, c, o))

static void (*real_vkCmdPipelineBarrier)(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags, uint32_t,
                                         const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                                         const VkImageMemoryBarrier*);
static void my_vkCmdPipelineBarrier(VkCommandBuffer c, VkPipelineStageFlags a, VkPipelineStageFlags b, VkDependencyFlags f,
                                    uint32_t n, const VkMemoryBarrier* m, uint32_t nb, const VkBufferMemoryBarrier* mb, uint32_t ni,
                                    const VkImageMemoryBarrier* mi) {
  static _Atomic int count;
  if (on("SHIM_COUNT_BARRIERS") && b != VK_PIPELINE_STAGE_HOST_BIT) {
    FILE* out = fopen(getenv("SHIM_COUNT_BARRIERS"), "w");
    if (out == NULL || fprintf(out, "%d", ++count) < 0 || fclose(out) != 0) abort();
  }
  if (!on("SHIM_NO_BARRIERS")) real_vkCmdPipelineBarrier(c, a, b, f, n, m, nb, mb, ni, mi);
}

static void (*real_vkCmdCopyBuffer)(VkCommandBuffer, VkBuffer, VkBuffer, uint32_t, const VkBufferCopy*);
static void my_vkCmdCopyBuffer(VkCommandBuffer c, VkBuffer from, VkBuffer to, uint32_t n, const VkBufferCopy* r) {
  VkBufferCopy part = *r;
  if (on("SHIM_EMPTY_COPIES")) part.size = 0;
  real_vkCmdCopyBuffer(c, from, to, n, &part);
}

static void (*real_vkGetPhysicalDeviceQueueFamilyProperties)(VkPhysicalDevice, uint32_t*, VkQueueFamilyProperties*);
static void my_vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice d, uint32_t* n, VkQueueFamilyProperties* p) {
  real_vkGetPhysicalDeviceQueueFamilyProperties(d, n, p);
  for (uint32_t i = 0; p != NULL && i < *n; i++) {
    if (on("SHIM_NO_COMPUTE")) p[i].queueFlags = VK_QUEUE_GRAPHICS_BIT;
    if (on("SHIM_NO_TIMES")) p[i].timestampValidBits = 0;
  }
}

static void (*real_vkGetPhysicalDeviceFeatures2)(VkPhysicalDevice, VkPhysicalDeviceFeatures2*);
static void my_vkGetPhysicalDeviceFeatures2(VkPhysicalDevice d, VkPhysicalDeviceFeatures2* f) {
  real_vkGetPhysicalDeviceFeatures2(d, f);
  if (on("SHIM_NO_FLOAT64")) f->features.shaderFloat64 = 0;
  for (VkPhysicalDeviceMaintenance4Features* p = f->pNext; p != NULL && on("SHIM_NO_MAINTENANCE4"); p = p->pNext)
    if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES) p->maintenance4 = 0;
  if (!on("SHIM_NO_TIMELINE")) return;
  for (VkPhysicalDeviceTimelineSemaphoreFeatures* p = f->pNext; p != NULL; p = p->pNext)
    if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES) p->timelineSemaphore = 0;
}

static void (*real_vkGetPhysicalDeviceProperties2)(VkPhysicalDevice, VkPhysicalDeviceProperties2*);
static void my_vkGetPhysicalDeviceProperties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2* p) {
  real_vkGetPhysicalDeviceProperties2(d, p);
  if (on("SHIM_ALLOCATIONS")) p->properties.limits.maxMemoryAllocationCount = (uint32_t)atoi(getenv("SHIM_ALLOCATIONS"));
}

/* ---- memory of which the host sees a copy ---- */

static void (*real_vkGetPhysicalDeviceMemoryProperties2)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2*);
static void my_vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties2* p) {
  real_vkGetPhysicalDeviceMemoryProperties2(d, p);
  for (uint32_t i = 0; on("SHIM_INCOHERENT") && i < p->memoryProperties.memoryTypeCount; i++)
    p->memoryProperties.memoryTypes[i].propertyFlags &= ~VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

static struct {
  VkDeviceMemory memory;
  char *real, *copy;
  VkDeviceSize size;
} copies[256];

static VkResult map(VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f, void** p) {
  VkResult rc = real_vkMapMemory(d, m, o, s, f, p);
  if (rc != VK_SUCCESS || !on("SHIM_INCOHERENT")) return rc;
  int i = 0;
  while (copies[i].memory != NULL) i++;
  copies[i].memory = m;
  copies[i].real = *p;
  copies[i].size = last_size;
  *p = copies[i].copy = calloc(1, last_size);
  return rc;
}

static void (*real_vkFreeMemory)(VkDevice, VkDeviceMemory, callbacks);
static void my_vkFreeMemory(VkDevice d, VkDeviceMemory m, callbacks c) {
  for (int i = 0; i < 256; i++)
    if (copies[i].memory == m && m != NULL) {
      free(copies[i].copy);
      copies[i].memory = NULL;
    }
  real_vkFreeMemory(d, m, c);
}

/* The bytes of a range, from the copy to the memory or back. */
static void update(const VkMappedMemoryRange* r, int flush) {
  for (int i = 0; i < 256; i++) {
    if (copies[i].memory != r->memory) continue;
    size_t n = r->size;
    if (n == ~(size_t)0) n = copies[i].size - r->offset;
    if (flush) memcpy(copies[i].real + r->offset, copies[i].copy + r->offset, n);
    else memcpy(copies[i].copy + r->offset, copies[i].real + r->offset, n);
  }
}

static VkResult (*real_vkFlushMappedMemoryRanges)(VkDevice, uint32_t, const VkMappedMemoryRange*);
static VkResult my_vkFlushMappedMemoryRanges(VkDevice d, uint32_t n, const VkMappedMemoryRange* r) {
  update(r, 1);
  return real_vkFlushMappedMemoryRanges(d, n, r);
}
static VkResult (*real_vkInvalidateMappedMemoryRanges)(VkDevice, uint32_t, const VkMappedMemoryRange*);
static VkResult my_vkInvalidateMappedMemoryRanges(VkDevice d, uint32_t n, const VkMappedMemoryRange* r) {
  update(r, 0);
  return real_vkInvalidateMappedMemoryRanges(d, n, r);
}

static PFN_vkVoidFunction my_vkGetDeviceProcAddr(VkDevice device, const char* name);

#define ENTRY(f) {#f, (PFN_vkVoidFunction)my_##f, (PFN_vkVoidFunction*)&real_##f}
static const struct {
  const char* name;
  PFN_vkVoidFunction mine;
  PFN_vkVoidFunction* real;
} wrapped[] = {
    ENTRY(vkQueueSubmit), ENTRY(vkAllocateMemory), ENTRY(vkCreateBuffer), ENTRY(vkBindBufferMemory), ENTRY(vkMapMemory),
    ENTRY(vkCreateSemaphore), ENTRY(vkGetSemaphoreCounterValue), ENTRY(vkWaitSemaphores), ENTRY(vkCreateCommandPool),
    ENTRY(vkResetCommandPool), ENTRY(vkAllocateCommandBuffers), ENTRY(vkBeginCommandBuffer), ENTRY(vkEndCommandBuffer),
    ENTRY(vkCreateQueryPool), ENTRY(vkGetQueryPoolResults), ENTRY(vkCmdPipelineBarrier), ENTRY(vkCmdCopyBuffer),
    ENTRY(vkCreateShaderModule), ENTRY(vkCreatePipelineCache), ENTRY(vkGetPipelineCacheData), ENTRY(vkCreatePipelineLayout),
    ENTRY(vkCreateComputePipelines), ENTRY(vkCreateDescriptorSetLayout), ENTRY(vkCreateDescriptorPool),
    ENTRY(vkAllocateDescriptorSets), ENTRY(vkCreateDescriptorUpdateTemplate),
    ENTRY(vkGetPhysicalDeviceQueueFamilyProperties), ENTRY(vkGetPhysicalDeviceFeatures2),
    ENTRY(vkGetPhysicalDeviceProperties2), ENTRY(vkGetPhysicalDeviceMemoryProperties2), ENTRY(vkFreeMemory),
    ENTRY(vkFlushMappedMemoryRanges), ENTRY(vkInvalidateMappedMemoryRanges),
    {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)my_vkGetDeviceProcAddr, (PFN_vkVoidFunction*)&real_device},
};

static PFN_vkVoidFunction replace(const char* name, PFN_vkVoidFunction at) {
  for (size_t i = 0; at != NULL && i < sizeof wrapped / sizeof *wrapped; i++)
    if (strcmp(name, wrapped[i].name) == 0) {
      *wrapped[i].real = at;
      return wrapped[i].mine;
    }
  return at;
}

static PFN_vkVoidFunction my_vkGetDeviceProcAddr(VkDevice device, const char* name) {
  return replace(name, real_device(device, name));
}

PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  if (real_instance == NULL) {
    void* h = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (h == NULL) return NULL;
    real_instance = (PFN_vkVoidFunction(*)(VkInstance, const char*))dlsym(h, "vkGetInstanceProcAddr");
  }
  return replace(name, real_instance(instance, name));
}
