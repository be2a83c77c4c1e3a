/* Suballocation of device memory. A device allows few allocations (4096 is common) and each is slow, so small buffers
 * share blocks and large buffers have their own. A buffer gets the smallest run of free bytes that is large enough. */
#include <stdlib.h>
#include <sys/mman.h>

#include "memory.h"

static const VkDeviceSize LARGEST_BLOCK = 64 << 20, SMALLEST_BLOCK = 1 << 20;

static VkDeviceSize round_up(VkDeviceSize n, VkDeviceSize to) { return (n + to - 1) / to * to; }

vk_heap* tvmgo_vk_heap_new(void) {
  vk_heap* h = calloc(1, sizeof *h);
  if (h != NULL) pthread_mutex_init(&h->lock, NULL);
  return h;
}

/* A CPU device's memory is host memory, which has small pages by default. Then the speed of copies depends on the
 * physical addresses of the pages, and differs by up to 20 % between processes. An error of madvise is ignored. */
static void advise_large_pages(const vk_device* d, char* at, VkDeviceSize size) {
  const uintptr_t page = 2 << 20;
  if (d->properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) return;
  uintptr_t from = ((uintptr_t)at + page - 1) / page * page, to = ((uintptr_t)at + size) / page * page;
  if (from < to) madvise((void*)from, to - from, MADV_HUGEPAGE);
}

static void block_free(vk_device* d, vk_block* b) {
  d->f.vkFreeMemory(d->handle, b->memory, NULL); /* also unmaps it */
  d->heap->num_allocations--;
  atomic_fetch_sub(&d->heap->held, (int64_t)b->size);
  while (b->free != NULL) {
    vk_run* next = b->free->next;
    free(b->free);
    b->free = next;
  }
  free(b);
}

/* Allocates a block. The caller holds the heap's lock. alone is the only buffer of the block; NULL if buffers share
 * it. */
static VkResult block_new(vk_device* d, uint32_t type, VkDeviceSize size, VkBuffer alone, int dedicated,
                          vk_block** out) {
  uint32_t flags = d->memory.memoryTypes[type].propertyFlags;
  if (d->heap->num_allocations >= d->properties.limits.maxMemoryAllocationCount) return VK_ERROR_TOO_MANY_OBJECTS;
  vk_block* b = calloc(1, sizeof *b);
  vk_run* all = malloc(sizeof *all);
  VkMemoryDedicatedAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = alone};
  VkMemoryAllocateFlagsInfo address = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
                                       .pNext = dedicated ? &one : NULL};
  VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                               .pNext = d->has.buffer_device_address ? (void*)&address : (void*)address.pNext,
                               .allocationSize = size,
                               .memoryTypeIndex = type};
  VkResult rc = VK_ERROR_OUT_OF_HOST_MEMORY;
  if (b != NULL && all != NULL) rc = d->f.vkAllocateMemory(d->handle, &info, NULL, &b->memory);
  if (rc == VK_SUCCESS && flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
    void* at = NULL;
    rc = d->f.vkMapMemory(d->handle, b->memory, 0, ~(VkDeviceSize)0, 0, &at);
    b->at = at;
    if (rc == VK_SUCCESS) advise_large_pages(d, b->at, size);
    else d->f.vkFreeMemory(d->handle, b->memory, NULL);
  }
  if (rc != VK_SUCCESS) {
    free(b);
    free(all);
    return rc;
  }
  *all = (vk_run){.size = size};
  b->free = all;
  b->size = size;
  b->type = type;
  b->alone = alone != NULL;
  b->next = d->heap->blocks[type];
  d->heap->blocks[type] = b;
  d->heap->num_allocations++;
  atomic_fetch_add(&d->heap->held, (int64_t)size);
  tvmgo_vk_name(d, VK_OBJECT_TYPE_DEVICE_MEMORY, (uint64_t)(uintptr_t)b->memory, "block of %llu bytes",
                (unsigned long long)size);
  *out = b;
  return VK_SUCCESS;
}

/* Gives the first span bytes of a run to a buffer. */
static void take_run(vk_memory* m, vk_block* b, vk_run** link, VkDeviceSize span) {
  vk_run* p = *link;
  m->block = b;
  m->offset = p->offset;
  m->span = span;
  b->used += span;
  p->offset += span;
  p->size -= span;
  if (p->size == 0) {
    *link = p->next;
    free(p);
  }
}

/* Allocates from the smallest run that fits; 0 if there is none. Offsets and sizes are multiples of the alignment, so
 * that no run becomes too small to be used. */
static int allocate_in(vk_memory* m, vk_block* list, VkDeviceSize align, VkDeviceSize span) {
  vk_block* best_block = NULL;
  vk_run** best = NULL;
  for (vk_block* b = list; b != NULL; b = b->next) {
    if (b->alone) continue;
    for (vk_run** p = &b->free; *p != NULL; p = &(*p)->next)
      if ((*p)->size >= span && (*p)->offset % align == 0 && (best == NULL || (*p)->size < (*best)->size)) {
        best = p;
        best_block = b;
      }
  }
  if (best == NULL) return 0;
  take_run(m, best_block, best, span);
  return 1;
}

/* The size of the next block: twice the last one, up to a sixteenth of the heap. */
static VkDeviceSize next_size(const vk_device* d, uint32_t type, VkDeviceSize span) {
  VkDeviceSize most = d->memory.memoryHeaps[d->memory.memoryTypes[type].heapIndex].size / 16, last = 0;
  if (most > LARGEST_BLOCK) most = LARGEST_BLOCK;
  for (const vk_block* b = d->heap->blocks[type]; b != NULL; b = b->next)
    if (!b->alone && b->size > last) last = b->size;
  VkDeviceSize size = last == 0 ? SMALLEST_BLOCK : 2 * last;
  if (size > most) size = most;
  return size < span ? span : size;
}

VkResult tvmgo_vk_suballocate(vk_memory* m, const VkMemoryRequirements* need, uint32_t type, int alone) {
  vk_device* d = m->d;
  uint32_t flags = d->memory.memoryTypes[type].propertyFlags;
  VkDeviceSize step = 256, atom = d->properties.limits.nonCoherentAtomSize;
  if (step < need->alignment) step = need->alignment;
  m->coherent = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
  m->cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  if (!m->coherent && step < atom) step = atom;
  VkDeviceSize span = round_up(need->size, step);
  VkResult rc = VK_SUCCESS;
  pthread_mutex_lock(&d->heap->lock);
  if (alone || span > LARGEST_BLOCK / 16) {
    vk_block* b = NULL;
    rc = block_new(d, type, need->size, m->buffer, alone, &b);
    if (rc == VK_SUCCESS) take_run(m, b, &b->free, need->size);
  } else if (!allocate_in(m, d->heap->blocks[type], step, span)) {
    vk_block* b = NULL;
    rc = block_new(d, type, next_size(d, type, span), NULL, 0, &b);
    if (rc == VK_ERROR_OUT_OF_DEVICE_MEMORY || rc == VK_ERROR_OUT_OF_HOST_MEMORY)
      rc = block_new(d, type, span, NULL, 0, &b);
    if (rc == VK_SUCCESS) take_run(m, b, &b->free, span);
  }
  if (rc == VK_SUCCESS && m->block->at != NULL) m->at = m->block->at + m->offset;
  pthread_mutex_unlock(&d->heap->lock);
  return rc;
}

/* Adds bytes to the free runs of a block and merges them with adjacent runs. */
static void return_run(vk_block* b, VkDeviceSize offset, VkDeviceSize size, vk_run* spare) {
  vk_run *before = NULL, *after = b->free;
  while (after != NULL && after->offset < offset) {
    before = after;
    after = after->next;
  }
  b->used -= size;
  if (before != NULL && before->offset + before->size == offset) {
    before->size += size;
    free(spare);
  } else {
    *spare = (vk_run){.next = after, .offset = offset, .size = size};
    if (before != NULL) before->next = spare;
    else b->free = spare;
    before = spare;
  }
  if (after != NULL && before->offset + before->size == after->offset) {
    before->size += after->size;
    before->next = after->next;
    free(after);
  }
}

/* Frees the unused blocks of a type, except the first `keep` shared ones. */
static void drop_empty(vk_device* d, uint32_t type, int keep) {
  for (vk_block** link = &d->heap->blocks[type]; *link != NULL;) {
    vk_block* b = *link;
    if (b->used == 0 && (b->alone || keep-- <= 0)) {
      *link = b->next;
      block_free(d, b);
    } else {
      link = &b->next;
    }
  }
}

void tvmgo_vk_subfree(vk_memory* m) {
  if (m->block == NULL) return;
  pthread_mutex_lock(&m->d->heap->lock);
  uint32_t type = m->block->type;
  return_run(m->block, m->offset, m->span, m->spare);
  m->spare = NULL;
  if (m->block->used == 0) drop_empty(m->d, type, 1);
  pthread_mutex_unlock(&m->d->heap->lock);
}

void tvmgo_vk_trim(vk_device* d) {
  pthread_mutex_lock(&d->heap->lock);
  for (uint32_t i = 0; i < 32; i++) drop_empty(d, i, 0);
  pthread_mutex_unlock(&d->heap->lock);
}
