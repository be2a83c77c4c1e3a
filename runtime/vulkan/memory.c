/* Buffers, page-locked host memory, and the counters of both. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory_type.h"

/* ---- buffers ---- */

static void destroy(vk_memory* m) {
  if (m->released) atomic_fetch_sub(&m->d->released_bytes, (int64_t)m->size);
  if (m->buffer != NULL) m->d->f.vkDestroyBuffer(m->d->handle, m->buffer, NULL);
  tvmgo_vk_subfree(m);
  free(m->spare);
  free(m);
}

void tvmgo_vk_memory_keep(vk_memory* m) { atomic_fetch_add(&m->refs, 1); }

void tvmgo_vk_memory_drop(vk_memory* m) {
  if (atomic_fetch_sub(&m->refs, 1) == 1) destroy(m);
}

void tvmgo_vk_memory_release(vk_memory* m) {
  m->released = 1;
  atomic_fetch_add(&m->d->released_bytes, (int64_t)m->size);
  tvmgo_vk_memory_drop(m);
}

/* Limits the memory that is freed but still in use. Without it, a program that allocates, enqueues commands and frees
 * without ever waiting would use up all memory. */
static void limit_released(vk_device* d) {
  int64_t most = (int64_t)(d->memory.memoryHeaps[d->memory.memoryTypes[d->data_type].heapIndex].size / 8);
  if (TVMGO_LIKELY(atomic_load(&d->released_bytes) <= most)) return;
  tvmgo_vk_collect(d);
  if (atomic_load(&d->released_bytes) > most) tvmgo_vk_drain(d);
}

static int32_t chosen(const vk_device* d, memory_use use, uint32_t bits) {
  int32_t type = use == MEMORY_DATA ? d->data_type : use == MEMORY_UPLOAD ? d->upload_type : d->download_type;
  if (type >= 0 && bits >> type & 1) return type;
  return tvmgo_vk_choose(&d->memory, d->properties.deviceType, bits, use);
}

static VkResult try_allocate(vk_memory* m, memory_use use) {
  vk_device* d = m->d;
  VkMemoryDedicatedRequirements own = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
  VkMemoryRequirements2 need = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &own};
  VkBufferMemoryRequirementsInfo2 of = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
                                        .buffer = m->buffer};
  d->f.vkGetBufferMemoryRequirements2(d->handle, &of, &need);
  int alone = own.requiresDedicatedAllocation || (own.prefersDedicatedAllocation && d->has.dedicated_allocation);
  int32_t type = chosen(d, use, need.memoryRequirements.memoryTypeBits);
  if (type < 0) return VK_ERROR_FEATURE_NOT_PRESENT;
  return tvmgo_vk_suballocate(m, &need.memoryRequirements, (uint32_t)type, alone);
}

/* Free bytes of a memory type's heap, which all processes share; -1 if the driver does not report it. */
static int64_t free_bytes(const vk_device* d, int32_t type) {
  if (!d->has.memory_budget || type < 0) return -1;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                           .pNext = &budget};
  tvmgo_vk_instance.vkGetPhysicalDeviceMemoryProperties2(d->physical, &all);
  uint32_t heap = d->memory.memoryTypes[type].heapIndex;
  if (budget.heapUsage[heap] >= budget.heapBudget[heap]) return 0;
  return (int64_t)(budget.heapBudget[heap] - budget.heapUsage[heap]);
}

static int out_of_memory(vk_device* d, VkDeviceSize size, memory_use use, VkResult rc) {
  int64_t left = free_bytes(d, chosen(d, use, ~0u));
  char text[64] = "the driver does not report free memory";
  pthread_mutex_lock(&d->heap->lock);
  uint32_t blocks = d->heap->num_allocations;
  pthread_mutex_unlock(&d->heap->lock);
  if (left >= 0) snprintf(text, sizeof text, "%lld bytes are free", (long long)left);
  return tvmgo_vk_failed(d, rc, "vulkan:%d: no memory for %llu bytes; %s, this process holds %lld bytes in %u blocks "
                                "(of at most %u)",
                         (int)d->index, (unsigned long long)size, text, (long long)atomic_load(&d->heap->held),
                         blocks, d->properties.limits.maxMemoryAllocationCount);
}

static int is_out_of_memory(VkResult rc) {
  return rc == VK_ERROR_OUT_OF_DEVICE_MEMORY || rc == VK_ERROR_OUT_OF_HOST_MEMORY || rc == VK_ERROR_TOO_MANY_OBJECTS;
}

vk_memory* tvmgo_vk_memory_new(vk_device* d, VkDeviceSize size, memory_use use) {
  if (size > d->max_allocation) {
    tvmgo_raise(TVMGO_MEMORY_ERROR, "vulkan:%d: no memory for %llu bytes: a buffer has at most %llu", (int)d->index,
                (unsigned long long)size, (unsigned long long)d->max_allocation);
    return NULL;
  }
  if (use == MEMORY_DATA) limit_released(d);
  vk_memory* m = calloc(1, sizeof *m);
  if (m == NULL || (m->spare = malloc(sizeof *m->spare)) == NULL) {
    free(m);
    tvmgo_raise_oom();
    return NULL;
  }
  m->d = d;
  m->size = size;
  atomic_init(&m->refs, 1);
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = (size + 3) / 4 * 4, /* kernels may read small elements as parts of words */
                             .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT};
  if (d->has.buffer_device_address) info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VkResult rc = VK_SUCCESS;
  /* If there is not enough memory, the second round first frees memory that completed batches kept, and the third round
   * first waits for all batches. */
  for (int round = 0; round < 3; round++) {
    if (round == 1) tvmgo_vk_collect(d);
    if (round == 2) {
      tvmgo_vk_drain(d);
      tvmgo_vk_staging_trim(d);
    }
    if (round > 0) tvmgo_vk_trim(d);
    rc = m->buffer != NULL ? VK_SUCCESS : d->f.vkCreateBuffer(d->handle, &info, NULL, &m->buffer);
    if (rc == VK_SUCCESS) rc = try_allocate(m, use);
    if (!is_out_of_memory(rc)) break;
  }
  if (rc == VK_SUCCESS) rc = d->f.vkBindBufferMemory(d->handle, m->buffer, m->block->memory, m->offset);
  if (rc == VK_SUCCESS) {
    static const char* const names[] = {"data", "upload", "download"};
    tvmgo_vk_name(d, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)m->buffer, "%s of %llu bytes", names[use],
                  (unsigned long long)size);
    return m;
  }
  out_of_memory(d, size, use, rc);
  destroy(m);
  return NULL;
}

/* Flushes or invalidates bytes of memory that is not coherent, rounded to multiples of nonCoherentAtomSize. */
static int whole_atoms(vk_memory* m, VkDeviceSize offset, VkDeviceSize size, int flush) {
  vk_device* d = m->d;
  if (m->coherent || size == 0) return 0;
  VkDeviceSize atom = d->properties.limits.nonCoherentAtomSize, from = (m->offset + offset) / atom * atom;
  VkDeviceSize to = (m->offset + offset + size + atom - 1) / atom * atom;
  VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                               .memory = m->block->memory,
                               .offset = from,
                               .size = to >= m->block->size ? ~(VkDeviceSize)0 : to - from};
  VkResult rc = flush ? d->f.vkFlushMappedMemoryRanges(d->handle, 1, &range)
                      : d->f.vkInvalidateMappedMemoryRanges(d->handle, 1, &range);
  if (rc == VK_SUCCESS) return 0;
  return tvmgo_vk_failed(d, rc, "vulkan:%d: %s host memory", (int)d->index, flush ? "flush" : "invalidate");
}

int tvmgo_vk_memory_seen(vk_memory* m, VkDeviceSize offset, VkDeviceSize size) {
  return whole_atoms(m, offset, size, 0);
}
int tvmgo_vk_memory_written(vk_memory* m, VkDeviceSize offset, VkDeviceSize size) {
  return whole_atoms(m, offset, size, 1);
}

/* ---- data of arrays ---- */

int tvmgo_vk_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                   void** out) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  if (d == NULL || tvmgo_device_check_alignment(dev, alignment) != 0) return -1;
  if (nbytes == 0) nbytes = 1; /* Vulkan has no empty buffers */
  vk_handle* h = tvmgo_vk_handle_new(HANDLE_BUFFER, d->index);
  if (h == NULL) return -1;
  h->memory = tvmgo_vk_memory_new(d, nbytes, MEMORY_DATA);
  if (h->memory == NULL) {
    tvmgo_vk_handle_free(h);
    return -1;
  }
  h->nbytes = nbytes;
  tvmgo_memory_count(&d->data, (int64_t)nbytes);
  *out = h;
  return 0;
}

int tvmgo_vk_alloc_scoped(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType dtype,
                          const char* scope, void** out) {
  if (tvmgo_vk_device(dev.device_id) == NULL) return -1;
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "vulkan:%d has no memory of scope \"%s\": its only scope is global",
                     dev.device_id, scope);
}

/* Does not wait: enqueued commands keep the memory. */
int tvmgo_vk_free(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_handle* h = d == NULL || tvmgo_workspace_refuse(dev, p) != 0 ? NULL : tvmgo_vk_data(d, p, "free");
  if (h == NULL) return -1;
  vk_memory* m = h->memory;
  tvmgo_memory_count(&d->data, -(int64_t)h->nbytes);
  tvmgo_vk_handle_free(h);
  tvmgo_vk_memory_release(m);
  return 0;
}

/* ---- page-locked memory ---- */

typedef struct {
  tvmgo_pinned head;
  vk_memory* m;
} pinned;

static tvmgo_pinned_list all_pinned = {.lock = PTHREAD_MUTEX_INITIALIZER};

int tvmgo_vk_pinned_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, void** out) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  if (d == NULL) return -1;
  pinned* p = calloc(1, sizeof *p);
  if (p == NULL) return tvmgo_raise_oom();
  p->m = tvmgo_vk_memory_new(d, nbytes == 0 ? 1 : nbytes, MEMORY_DOWNLOAD);
  if (p->m == NULL) {
    free(p);
    return tvmgo_raise_context("page-locked memory");
  }
  p->head = (tvmgo_pinned){.at = p->m->at, .nbytes = nbytes == 0 ? 1 : nbytes, .device = d->index};
  tvmgo_pinned_add(&all_pinned, &p->head);
  atomic_fetch_add(&d->pinned_bytes, (int64_t)p->head.nbytes);
  *out = p->head.at;
  return 0;
}

int tvmgo_vk_pinned_free(const TVMGODeviceAPI* api, DLDevice dev, void* at) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  pinned* p = d == NULL ? NULL : (pinned*)tvmgo_pinned_take(&all_pinned, dev, at);
  if (p == NULL) return -1;
  atomic_fetch_sub(&d->pinned_bytes, (int64_t)p->head.nbytes);
  tvmgo_vk_memory_drop(p->m);
  free(p);
  return 0;
}

vk_memory* tvmgo_vk_pinned_of(vk_device* d, const void* at, size_t nbytes, VkDeviceSize* offset) {
  if (atomic_load(&d->pinned_bytes) == 0) return NULL;
  vk_memory* found = NULL;
  pthread_mutex_lock(&all_pinned.lock);
  for (tvmgo_pinned* p = all_pinned.first; p != NULL && found == NULL; p = p->next) {
    size_t from = (size_t)((const char*)at - (const char*)p->at);
    if (p->device == d->index && from < p->nbytes && nbytes <= p->nbytes - from) {
      found = ((pinned*)p)->m;
      *offset = from;
      tvmgo_vk_memory_keep(found);
    }
  }
  pthread_mutex_unlock(&all_pinned.lock);
  return found;
}

int tvmgo_vk_memory_stats(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out) {
  const vk_device* d = tvmgo_vk_device(dev.device_id);
  if (d == NULL) return -1;
  int64_t total = (int64_t)d->memory.memoryHeaps[d->memory.memoryTypes[d->data_type].heapIndex].size;
  return tvmgo_memory_report(&d->data, total, free_bytes(d, d->data_type), atomic_load(&d->pinned_bytes), out);
}
