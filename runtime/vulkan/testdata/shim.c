/* A Vulkan loader in front of the real one. On request it simulates rare behaviour of drivers. It reads the
 * environment at each call, so that a test can change these variables:
 *
 *   SHIM_FAIL_AT=K,CODE  the K-th call of a function that can fail, counted since the variable changed, returns CODE;
 *                        so do all later calls if CODE is VK_ERROR_DEVICE_LOST
 *   SHIM_FAIL_SUBMIT=K,CODE  the K-th submission, counted since the variable changed, returns CODE
 *   SHIM_TRACE=FILE      appends a line to the file for each submission, "submit SEMAPHORE NUMBER", and for each wait
 *                        of the host, "wait SEMAPHORE NUMBER"
 *   SHIM_TRACE_ALL=1     also appends a line for each semaphore that a submission waits for, "after SEMAPHORE NUMBER",
 *                        and for each barrier before the host reads, "host (nil) ACCESS"
 *   SHIM_LOST_ORDER=1    aborts the process if an object is destroyed on a lost device before a wait for the device
 *   SHIM_NEVER_IDLE=1    vkDeviceWaitIdle never returns
 *   SHIM_LACKS=NAME      the function NAME does not exist
 *   SHIM_LAZY=1          work is submitted only when the host waits for it
 *   SHIM_HEAP=BYTES      the size of each memory heap
 *   SHIM_MOST_MEMORY=BYTES, SHIM_MOST_POOLS=N, SHIM_MOST_BATCHES=N  limits of live device memory, of descriptor pools
 *                        (destroyed ones count, too), and of live command pools; a process that exceeds one of them
 *                        ends with a message
 *   SHIM_NO_BARRIERS=1   omits all barriers
 *   SHIM_COUNT_BARRIERS=FILE  writes the number of barriers to the file; barriers for the host do not count
 *   SHIM_EMPTY_COPIES=1  sets the size of each copy to 0
 *   SHIM_NO_COMPUTE=1    no queue family supports compute
 *   SHIM_NO=NAME,NAME    the device does not have the features with Vulkan's names
 *   SHIM_NO_FLOAT_ATOMICS=1  the device has no atomic operations on floats
 *   SHIM_NO_SHARED_FLOATS=1  the device has no atomic operations on floats in shared memory
 *   SHIM_FLOAT_MODES=N,I the device has all float modes, or none if N is 0; I is their
 *                        VkShaderFloatControlsIndependence
 *   SHIM_SUBGROUPS=OPERATIONS,LEAST,GREATEST,MOST  the operations and sizes of subgroups, and how many a block has
 *   SHIM_SHARED=BYTES    the shared memory of a block
 *   SHIM_THREADS=N       the threads of a block
 *   SHIM_ALLOCATIONS=N   the device allows N memory allocations
 *   SHIM_INCOHERENT=1    the host maps a copy of the memory; only flushes and invalidations transfer data between them
 *   SHIM_REORDER=1       delays each submission until the host waits for it; a submission of another stream that does
 *                        not wait for it overtakes it
 *   SHIM_NO_TIMES=1      the queues have no timestamps */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* The header declares this function as hidden; this library exports it. */
#define vkGetInstanceProcAddr hidden_one
#include <vulkan/tvmgo_vulkan.h>
#undef vkGetInstanceProcAddr

static PFN_vkVoidFunction (*real_instance)(VkInstance, const char*);
static PFN_vkVoidFunction (*real_device)(VkDevice, const char*);

static int on(const char* variable) { return getenv(variable) != NULL && *getenv(variable) != 0; }

static _Atomic long calls;
static _Atomic int lost, idle;

/* The error that the next call returns instead of running; VK_SUCCESS if the call runs. */
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
  if (sscanf(at, "%ld,%ld", &k, &code) != 2 || (n != k && (code != VK_ERROR_DEVICE_LOST || n < k))) return VK_SUCCESS;
  if (code == VK_ERROR_DEVICE_LOST) lost = 1;
  return (VkResult)code;
}

/* With SHIM_LOST_ORDER: aborts if an object is destroyed on a lost device before a wait for the device has returned. */
static void may_destroy(const char* what) {
  if (!on("SHIM_LOST_ORDER") || !lost || idle) return;
  fprintf(stderr, "shim: %s on a lost device that still runs\n", what);
  abort();
}

#define WRAP(name, params, args)                                     \
  static VkResult(*real_##name) params;                              \
  static VkResult my_##name params {                                 \
    VkResult rc = fault();                                           \
    return rc != VK_SUCCESS ? rc : real_##name args;                 \
  }
typedef const VkAllocationCallbacks* callbacks;

/* ---- SHIM_REORDER and SHIM_LAZY: delayed submissions ---- */

typedef struct submission {
  struct submission* next;
  VkQueue queue;
  VkSemaphore waits[8], signal;
  uint64_t wait_values[8], value;
  VkPipelineStageFlags stages[8];
  VkCommandBuffer commands;
  uint32_t num_waits;
} submission;

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static submission *held, **held_end = &held; /* in the order of submission */
static VkResult (*real_vkQueueSubmit)(VkQueue, uint32_t, const VkSubmitInfo*, VkFence);

/* Submits the oldest delayed submission. */
static void let_go(void) {
  submission* h = held;
  if (h == NULL) return;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = h->num_waits,
                                              .pWaitSemaphoreValues = h->wait_values,
                                          .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &h->value};
  VkSubmitInfo s = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .waitSemaphoreCount = h->num_waits,
                    .pWaitSemaphores = h->waits, .pWaitDstStageMask = h->stages, .commandBufferCount = 1,
                    .pCommandBuffers = &h->commands, .signalSemaphoreCount = 1, .pSignalSemaphores = &h->signal};
  held = h->next;
  if (held == NULL) held_end = &held;
  real_vkQueueSubmit(h->queue, 1, &s, NULL);
  free(h);
}

static void hold(VkQueue q, const VkSubmitInfo* s) {
  const VkTimelineSemaphoreSubmitInfo* values = s->pNext;
  submission* h = calloc(1, sizeof *h);
  h->queue = q;
  h->num_waits = s->waitSemaphoreCount;
  for (uint32_t i = 0; i < h->num_waits; i++) {
    h->waits[i] = s->pWaitSemaphores[i];
    h->wait_values[i] = values->pWaitSemaphoreValues[i];
    h->stages[i] = s->pWaitDstStageMask[i];
  }
  h->commands = *s->pCommandBuffers;
  h->signal = *s->pSignalSemaphores;
  h->value = *values->pSignalSemaphoreValues;
  *held_end = h;
  held_end = &h->next;
}

static void trace(const char* what, VkSemaphore s, uint64_t number) {
  if (!on("SHIM_TRACE")) return;
  FILE* f = fopen(getenv("SHIM_TRACE"), "a");
  fprintf(f, "%s %p %lu\n", what, (void*)s, (unsigned long)number);
  fclose(f);
}

static VkResult submit_fault(void) {
  static char last[64];
  static long num;
  const char* at = getenv("SHIM_FAIL_SUBMIT");
  long k = 0, code = 0;
  if (at == NULL) at = "";
  if (strcmp(at, last) != 0) {
    snprintf(last, sizeof last, "%s", at);
    num = 0;
  }
  return ++num, sscanf(at, "%ld,%ld", &k, &code) == 2 && num == k ? (VkResult)code : VK_SUCCESS;
}

static VkResult my_vkQueueSubmit(VkQueue q, uint32_t n, const VkSubmitInfo* s, VkFence f) {
  VkResult rc = fault();
  if (rc == VK_SUCCESS) rc = submit_fault();
  if (rc != VK_SUCCESS) return rc;
  const VkTimelineSemaphoreSubmitInfo* numbers = s->pNext;
  for (uint32_t i = 0; i < s->waitSemaphoreCount && on("SHIM_TRACE_ALL"); i++)
    trace("after", s->pWaitSemaphores[i], numbers->pWaitSemaphoreValues[i]);
  trace("submit", *s->pSignalSemaphores, *((const VkTimelineSemaphoreSubmitInfo*)s->pNext)->pSignalSemaphoreValues);
  if (!on("SHIM_REORDER") && !on("SHIM_LAZY")) return real_vkQueueSubmit(q, n, s, f);
  pthread_mutex_lock(&held_lock);
  int ordered = held == NULL || *s->pSignalSemaphores == held->signal;
  for (uint32_t i = 0; i < s->waitSemaphoreCount && held != NULL; i++) ordered |= s->pWaitSemaphores[i] == held->signal;
  if (on("SHIM_LAZY")) {
    hold(q, s);
  } else if (ordered) {
    let_go();
    hold(q, s);
  } else {
    rc = real_vkQueueSubmit(q, n, s, f);
  }
  pthread_mutex_unlock(&held_lock);
  return rc;
}

/* Must be called before the host waits for a value of a semaphore: submits the delayed submissions up to the last one
 * that this wait needs, or none if it needs none. */
static void let_go_of(VkSemaphore s, uint64_t value) {
  pthread_mutex_lock(&held_lock);
  int found = 0;
  for (const submission* h = held; h != NULL; h = h->next) found |= h->signal == s && h->value <= value;
  while (found) {
    int last = held->signal == s && held->value >= value;
    let_go();
    found = 0;
    for (const submission* h = held; h != NULL && !last; h = h->next) found |= h->signal == s && h->value <= value;
  }
  pthread_mutex_unlock(&held_lock);
}

/* ---- limits ---- */

static void limit(const char* variable, const char* what, long long have) {
  if (!on(variable) || have <= atoll(getenv(variable))) return;
  fprintf(stderr, "shim: %lld %s at a time, of at most %s\n", have, what, getenv(variable));
  _exit(3);
}

static _Atomic long long live_bytes, live_pools, live_batches;
static struct {
  VkDeviceMemory memory;
  VkDeviceSize size;
} sizes[4096];
static pthread_mutex_t sizes_lock = PTHREAD_MUTEX_INITIALIZER;

/* Records the size of an allocation; size 0 removes the allocation. */
static void note_size(VkDeviceMemory m, VkDeviceSize size) {
  pthread_mutex_lock(&sizes_lock);
  for (int i = 0; i < 4096; i++)
    if (sizes[i].memory == (size != 0 ? NULL : m)) {
      live_bytes += size != 0 ? (long long)size : -(long long)sizes[i].size;
      sizes[i].memory = size != 0 ? m : NULL;
      sizes[i].size = size;
      break;
    }
  pthread_mutex_unlock(&sizes_lock);
  limit("SHIM_MOST_MEMORY", "bytes of memory", live_bytes);
}

static _Thread_local VkDeviceSize last_size; /* size of this thread's last allocation, which it maps next */
static VkResult (*real_vkAllocateMemory)(VkDevice, const VkMemoryAllocateInfo*, callbacks, VkDeviceMemory*);
static VkResult my_vkAllocateMemory(VkDevice d, const VkMemoryAllocateInfo* i, callbacks c, VkDeviceMemory* o) {
  VkResult rc = fault();
  last_size = i->allocationSize;
  if (rc == VK_SUCCESS) rc = real_vkAllocateMemory(d, i, c, o);
  if (rc == VK_SUCCESS) note_size(*o, i->allocationSize);
  return rc;
}
WRAP(vkCreateBuffer, (VkDevice d, const VkBufferCreateInfo* i, callbacks c, VkBuffer* o), (d, i, c, o))
WRAP(vkBindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o), (d, b, m, o))
static VkResult (*real_vkMapMemory)(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void**);
static VkResult map(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void**);
static VkResult my_vkMapMemory(VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f,
                               void** p) {
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
  let_go_of(*i->pSemaphores, *i->pValues);
  trace("wait", *i->pSemaphores, *i->pValues);
  return rc != VK_SUCCESS ? rc : real_vkWaitSemaphores(d, i, t);
}
static VkResult (*real_vkCreateCommandPool)(VkDevice, const VkCommandPoolCreateInfo*, callbacks, VkCommandPool*);
static VkResult my_vkCreateCommandPool(VkDevice d, const VkCommandPoolCreateInfo* i, callbacks c, VkCommandPool* o) {
  VkResult rc = fault();
  if (rc == VK_SUCCESS) rc = real_vkCreateCommandPool(d, i, c, o);
  if (rc == VK_SUCCESS) limit("SHIM_MOST_BATCHES", "command pools", ++live_batches);
  return rc;
}
static void (*real_vkDestroyCommandPool)(VkDevice, VkCommandPool, callbacks);
static void my_vkDestroyCommandPool(VkDevice d, VkCommandPool p, callbacks c) {
  may_destroy("vkDestroyCommandPool");
  live_batches--;
  real_vkDestroyCommandPool(d, p, c);
}
WRAP(vkResetCommandPool, (VkDevice d, VkCommandPool p, VkCommandPoolResetFlags f), (d, p, f))
WRAP(vkAllocateCommandBuffers, (VkDevice d, const VkCommandBufferAllocateInfo* i, VkCommandBuffer* o), (d, i, o))
WRAP(vkBeginCommandBuffer, (VkCommandBuffer b, const VkCommandBufferBeginInfo* i), (b, i))
WRAP(vkEndCommandBuffer, (VkCommandBuffer b), (b))
static VkResult (*real_vkCreateQueryPool)(VkDevice, const VkQueryPoolCreateInfo*, callbacks, VkQueryPool*);
static VkResult my_vkCreateQueryPool(VkDevice d, const VkQueryPoolCreateInfo* i, callbacks c, VkQueryPool* o) {
  VkResult rc = on("SHIM_NO_TIMES") ? VK_ERROR_FEATURE_NOT_PRESENT : fault();
  return rc != VK_SUCCESS ? rc : real_vkCreateQueryPool(d, i, c, o);
}
WRAP(vkGetQueryPoolResults, (VkDevice d, VkQueryPool p, uint32_t a, uint32_t n, size_t s, void* o, VkDeviceSize w,
                             VkQueryResultFlags f), (d, p, a, n, s, o, w, f))

WRAP(vkCreateShaderModule, (VkDevice d, const VkShaderModuleCreateInfo* i, callbacks c, VkShaderModule* o),
     (d, i, c, o))
WRAP(vkCreatePipelineCache, (VkDevice d, const VkPipelineCacheCreateInfo* i, callbacks c, VkPipelineCache* o),
     (d, i, c, o))
WRAP(vkGetPipelineCacheData, (VkDevice d, VkPipelineCache p, size_t* n, void* o), (d, p, n, o))
WRAP(vkCreatePipelineLayout, (VkDevice d, const VkPipelineLayoutCreateInfo* i, callbacks c, VkPipelineLayout* o),
     (d, i, c, o))
WRAP(vkCreateComputePipelines, (VkDevice d, VkPipelineCache p, uint32_t n, const VkComputePipelineCreateInfo* i,
                                callbacks c, VkPipeline* o), (d, p, n, i, c, o))
WRAP(vkCreateDescriptorSetLayout, (VkDevice d, const VkDescriptorSetLayoutCreateInfo* i, callbacks c,
                                   VkDescriptorSetLayout* o), (d, i, c, o))
static VkResult (*real_vkCreateDescriptorPool)(VkDevice, const VkDescriptorPoolCreateInfo*, callbacks,
                                               VkDescriptorPool*);
static VkResult my_vkCreateDescriptorPool(VkDevice d, const VkDescriptorPoolCreateInfo* i, callbacks c,
                                          VkDescriptorPool* o) {
  VkResult rc = fault();
  if (rc == VK_SUCCESS) rc = real_vkCreateDescriptorPool(d, i, c, o);
  if (rc == VK_SUCCESS) limit("SHIM_MOST_POOLS", "descriptor pools", ++live_pools);
  return rc;
}
WRAP(vkAllocateDescriptorSets, (VkDevice d, const VkDescriptorSetAllocateInfo* i, VkDescriptorSet* o), (d, i, o))
WRAP(vkCreateDescriptorUpdateTemplate, (VkDevice d, const VkDescriptorUpdateTemplateCreateInfo* i, callbacks c,
                                        VkDescriptorUpdateTemplate* o), (d, i, c, o))

static void (*real_vkCmdPipelineBarrier)(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags,
                                         uint32_t,
                                         const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                                         const VkImageMemoryBarrier*);
static void my_vkCmdPipelineBarrier(VkCommandBuffer c, VkPipelineStageFlags a, VkPipelineStageFlags b,
                                    VkDependencyFlags f,
                                    uint32_t n, const VkMemoryBarrier* m, uint32_t nb, const VkBufferMemoryBarrier* mb,
                                        uint32_t ni,
                                    const VkImageMemoryBarrier* mi) {
  static _Atomic int count;
  if (on("SHIM_COUNT_BARRIERS") && b != VK_PIPELINE_STAGE_HOST_BIT) {
    FILE* out = fopen(getenv("SHIM_COUNT_BARRIERS"), "w");
    if (out == NULL || fprintf(out, "%d", ++count) < 0 || fclose(out) != 0) abort();
  }
  if (on("SHIM_TRACE_ALL") && b == VK_PIPELINE_STAGE_HOST_BIT) trace("host", NULL, m->dstAccessMask);
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

typedef struct structure { /* the beginning of every structure in a chain */
  VkStructureType sType;
  struct structure* pNext;
} structure;

/* Reports whether SHIM_NO contains a name. */
static int without(const char* name) {
  const char* list = getenv("SHIM_NO");
  for (size_t n = strlen(name); list != NULL && (list = strstr(list, name)) != NULL; list += n)
    if (list[n] == 0 || list[n] == ',') return 1;
  return 0;
}

static void (*real_vkGetPhysicalDeviceFeatures2)(VkPhysicalDevice, VkPhysicalDeviceFeatures2*);
static void my_vkGetPhysicalDeviceFeatures2(VkPhysicalDevice d, VkPhysicalDeviceFeatures2* f) {
  real_vkGetPhysicalDeviceFeatures2(d, f);
#define NO(object, type, member)                                                             \
  if ((object)->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type && without(#member)) (object)->member = 0
  if (without("shaderFloat64")) f->features.shaderFloat64 = 0;
  if (without("shaderInt64")) f->features.shaderInt64 = 0;
  if (without("shaderInt16")) f->features.shaderInt16 = 0;
  for (structure* p = f->pNext; p != NULL; p = p->pNext) {
    NO((VkPhysicalDeviceTimelineSemaphoreFeatures*)(void*)p, TIMELINE_SEMAPHORE_FEATURES, timelineSemaphore);
    NO((VkPhysicalDeviceMaintenance4Features*)(void*)p, MAINTENANCE_4_FEATURES, maintenance4);
    NO((VkPhysicalDevice16BitStorageFeatures*)(void*)p, 16BIT_STORAGE_FEATURES, storageBuffer16BitAccess);
    NO((VkPhysicalDevice8BitStorageFeatures*)(void*)p, 8BIT_STORAGE_FEATURES, storageBuffer8BitAccess);
    NO((VkPhysicalDeviceShaderFloat16Int8Features*)(void*)p, SHADER_FLOAT16_INT8_FEATURES, shaderFloat16);
    NO((VkPhysicalDeviceShaderFloat16Int8Features*)(void*)p, SHADER_FLOAT16_INT8_FEATURES, shaderInt8);
    NO((VkPhysicalDeviceVulkanMemoryModelFeatures*)(void*)p, VULKAN_MEMORY_MODEL_FEATURES, vulkanMemoryModel);
    NO((VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures*)(void*)p, SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,
       shaderSubgroupExtendedTypes);
    if (p->sType == (VkStructureType)1000506000 && without("cooperativeMatrix")) /* of VK_KHR_cooperative_matrix */
      *(VkBool32*)(void*)(p + 1) = 0;
    int none = on("SHIM_NO_FLOAT_ATOMICS"), none_shared = none || on("SHIM_NO_SHARED_FLOATS");
    if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT) {
      VkPhysicalDeviceShaderAtomicFloatFeaturesEXT* a = (void*)p;
      if (none) a->shaderBufferFloat32AtomicAdd = a->shaderBufferFloat64AtomicAdd = 0;
      if (none_shared) a->shaderSharedFloat32AtomicAdd = a->shaderSharedFloat64AtomicAdd = 0;
    }
    if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT) {
      VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT* a = (void*)p;
      if (none) a->shaderBufferFloat16AtomicAdd = a->shaderBufferFloat16AtomicMinMax = 0;
      if (none) a->shaderBufferFloat32AtomicMinMax = a->shaderBufferFloat64AtomicMinMax = 0;
      if (none_shared) a->shaderSharedFloat16AtomicAdd = a->shaderSharedFloat16AtomicMinMax = 0;
      if (none_shared) a->shaderSharedFloat32AtomicMinMax = a->shaderSharedFloat64AtomicMinMax = 0;
    }
  }
}

static void (*real_vkGetPhysicalDeviceProperties2)(VkPhysicalDevice, VkPhysicalDeviceProperties2*);
static void my_vkGetPhysicalDeviceProperties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2* p) {
  real_vkGetPhysicalDeviceProperties2(d, p);
  int modes, independence;
  for (VkPhysicalDeviceFloatControlsProperties* f = p->pNext; f != NULL; f = f->pNext)
    if (f->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES && on("SHIM_FLOAT_MODES") &&
        sscanf(getenv("SHIM_FLOAT_MODES"), "%d,%d", &modes, &independence) == 2) {
      for (VkBool32* b = &f->shaderSignedZeroInfNanPreserveFloat16; b <= &f->shaderRoundingModeRTZFloat64; b++)
        *b = modes != 0;
      f->denormBehaviorIndependence = f->roundingModeIndependence = (VkShaderFloatControlsIndependence)independence;
    }
  VkPhysicalDeviceLimits* l = &p->properties.limits;
  if (on("SHIM_SHARED")) l->maxComputeSharedMemorySize = (uint32_t)atoi(getenv("SHIM_SHARED"));
  if (on("SHIM_THREADS")) l->maxComputeWorkGroupInvocations = (uint32_t)atoi(getenv("SHIM_THREADS"));
  unsigned operations, least, greatest, most;
  const int subgroups = on("SHIM_SUBGROUPS") &&
                        sscanf(getenv("SHIM_SUBGROUPS"), "%u,%u,%u,%u", &operations, &least, &greatest, &most) == 4;
  for (structure* s = p->pNext; s != NULL && subgroups; s = s->pNext) {
    if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)
      ((VkPhysicalDeviceSubgroupProperties*)(void*)s)->supportedOperations = operations;
    if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES) {
      VkPhysicalDeviceSubgroupSizeControlProperties* size = (void*)s;
      size->minSubgroupSize = least;
      size->maxSubgroupSize = greatest;
      size->maxComputeWorkgroupSubgroups = most;
    }
  }
  if (on("SHIM_ALLOCATIONS"))
    p->properties.limits.maxMemoryAllocationCount = (uint32_t)atoi(getenv("SHIM_ALLOCATIONS"));
}

/* ---- SHIM_INCOHERENT: the host maps a copy of the memory ---- */

static void (*real_vkGetPhysicalDeviceMemoryProperties2)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2*);
static void my_vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties2* p) {
  real_vkGetPhysicalDeviceMemoryProperties2(d, p);
  for (uint32_t i = 0; on("SHIM_INCOHERENT") && i < p->memoryProperties.memoryTypeCount; i++)
    p->memoryProperties.memoryTypes[i].propertyFlags &= ~VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t i = 0; on("SHIM_HEAP") && i < p->memoryProperties.memoryHeapCount; i++)
    p->memoryProperties.memoryHeaps[i].size = (VkDeviceSize)atoll(getenv("SHIM_HEAP"));
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

static void (*real_vkDestroyBuffer)(VkDevice, VkBuffer, callbacks);
static void my_vkDestroyBuffer(VkDevice d, VkBuffer b, callbacks c) {
  may_destroy("vkDestroyBuffer");
  real_vkDestroyBuffer(d, b, c);
}
static void (*real_vkDestroySemaphore)(VkDevice, VkSemaphore, callbacks);
static void my_vkDestroySemaphore(VkDevice d, VkSemaphore s, callbacks c) {
  may_destroy("vkDestroySemaphore");
  real_vkDestroySemaphore(d, s, c);
}
static VkResult (*real_vkDeviceWaitIdle)(VkDevice);
static VkResult my_vkDeviceWaitIdle(VkDevice d) {
  while (on("SHIM_NEVER_IDLE")) pause(); /* simulates a driver that hangs */
  VkResult rc = real_vkDeviceWaitIdle(d);
  idle = 1;
  return rc;
}

static void (*real_vkFreeMemory)(VkDevice, VkDeviceMemory, callbacks);
static void my_vkFreeMemory(VkDevice d, VkDeviceMemory m, callbacks c) {
  for (int i = 0; i < 256; i++)
    if (copies[i].memory == m && m != NULL) {
      free(copies[i].copy);
      copies[i].memory = NULL;
    }
  note_size(m, 0);
  real_vkFreeMemory(d, m, c);
}

/* Copies a range from the host's copy to the memory (flush), or back. */
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
        ENTRY(vkDestroyCommandPool),
    ENTRY(vkResetCommandPool), ENTRY(vkAllocateCommandBuffers), ENTRY(vkBeginCommandBuffer), ENTRY(vkEndCommandBuffer),
    ENTRY(vkCreateQueryPool), ENTRY(vkGetQueryPoolResults), ENTRY(vkCmdPipelineBarrier), ENTRY(vkCmdCopyBuffer),
    ENTRY(vkCreateShaderModule), ENTRY(vkCreatePipelineCache), ENTRY(vkGetPipelineCacheData),
        ENTRY(vkCreatePipelineLayout),
    ENTRY(vkCreateComputePipelines), ENTRY(vkCreateDescriptorSetLayout), ENTRY(vkCreateDescriptorPool),
    ENTRY(vkAllocateDescriptorSets), ENTRY(vkCreateDescriptorUpdateTemplate),
    ENTRY(vkGetPhysicalDeviceQueueFamilyProperties), ENTRY(vkDestroyBuffer), ENTRY(vkDestroySemaphore),
        ENTRY(vkDeviceWaitIdle), ENTRY(vkGetPhysicalDeviceFeatures2),
    ENTRY(vkGetPhysicalDeviceProperties2), ENTRY(vkGetPhysicalDeviceMemoryProperties2), ENTRY(vkFreeMemory),
    ENTRY(vkFlushMappedMemoryRanges), ENTRY(vkInvalidateMappedMemoryRanges),
    {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)my_vkGetDeviceProcAddr, (PFN_vkVoidFunction*)&real_device},
};

static PFN_vkVoidFunction replace(const char* name, PFN_vkVoidFunction at) {
  if (on("SHIM_LACKS") && strcmp(name, getenv("SHIM_LACKS")) == 0) return NULL;
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
