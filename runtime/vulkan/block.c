/* Blocks of the driver's memory, and buffers' places in them. A device allows few allocations (4096 is common), and
 * each takes long: buffers share blocks, the large ones have their own. The smallest run that fits is taken. */
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

/* Memory of a CPU is the host's own, in small pages unless more is asked for. Where small pages lie makes copies up to
 * a fifth faster or slower from one run to the next. It is a wish: what comes of it is not looked at. */
static void wish_large_pages(const vk_device* d, char* at, VkDeviceSize size) {
  const uintptr_t page = 2 << 20;
  if (d->properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) return;
  uintptr_t from = ((uintptr_t)at + page - 1) / page * page, to = ((uintptr_t)at + size) / page * page;
  if (from < to) madvise((void*)from, to - from, MADV_HUGEPAGE);
}

static void block_free(vk_device* d, vk_block* b) {
  d->f.vkFreeMemory(d->handle, b->memory, NULL); /* unmaps, too */
  d->heap->num_allocations--;
  atomic_fetch_sub(&d->heap->held, (int64_t)b->size);
  while (b->free != NULL) {
    vk_piece* next = b->free->next;
    free(b->free);
    b->free = next;
  }
  free(b);
}

/* Under the lock of the heap. buffer: the one that it is for alone. */
static VkResult block_new(vk_device* d, uint32_t type, VkDeviceSize size, VkBuffer alone, int dedicated,
                          vk_block** out) {
  uint32_t flags = d->memory.memoryTypes[type].propertyFlags;
  if (d->heap->num_allocations >= d->properties.limits.maxMemoryAllocationCount) return VK_ERROR_TOO_MANY_OBJECTS;
  vk_block* b = calloc(1, sizeof *b);
  vk_piece* all = malloc(sizeof *all);
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
    if (rc == VK_SUCCESS) wish_large_pages(d, b->at, size);
    else d->f.vkFreeMemory(d->handle, b->memory, NULL);
  }
  if (rc != VK_SUCCESS) {
    free(b);
    free(all);
    return rc;
  }
  *all = (vk_piece){.size = size};
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

/* Takes bytes from the start of a run; what goes before them for the alignment's sake is part of what is taken. */
static void take(vk_memory* m, vk_block* b, vk_piece** link, VkDeviceSize span) {
  vk_piece* p = *link;
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

/* Places begin at multiples of a block-wide step, so that no run is left that alignment makes useless. */
static int place_in(vk_memory* m, vk_block* list, VkDeviceSize align, VkDeviceSize span) {
  vk_block* best_block = NULL;
  vk_piece** best = NULL;
  for (vk_block* b = list; b != NULL; b = b->next) {
    if (b->alone) continue;
    for (vk_piece** p = &b->free; *p != NULL; p = &(*p)->next)
      if ((*p)->size >= span && (*p)->offset % align == 0 && (best == NULL || (*p)->size < (*best)->size)) {
        best = p;
        best_block = b;
      }
  }
  if (best == NULL) return 0;
  take(m, best_block, best, span);
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

VkResult tvmgo_vk_place(vk_memory* m, const VkMemoryRequirements* need, uint32_t type, int alone) {
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
    if (rc == VK_SUCCESS) take(m, b, &b->free, need->size);
  } else if (!place_in(m, d->heap->blocks[type], step, span)) {
    vk_block* b = NULL;
    rc = block_new(d, type, next_size(d, type, span), NULL, 0, &b);
    if (rc == VK_ERROR_OUT_OF_DEVICE_MEMORY || rc == VK_ERROR_OUT_OF_HOST_MEMORY)
      rc = block_new(d, type, span, NULL, 0, &b);
    if (rc == VK_SUCCESS) take(m, b, &b->free, span);
  }
  if (rc == VK_SUCCESS && m->block->at != NULL) m->at = m->block->at + m->offset;
  pthread_mutex_unlock(&d->heap->lock);
  return rc;
}

/* Writes down that bytes are free again, next to their neighbours. */
static void give(vk_block* b, VkDeviceSize offset, VkDeviceSize size, vk_piece* spare) {
  vk_piece *before = NULL, *after = b->free;
  while (after != NULL && after->offset < offset) {
    before = after;
    after = after->next;
  }
  b->used -= size;
  if (before != NULL && before->offset + before->size == offset) {
    before->size += size;
    free(spare);
  } else {
    *spare = (vk_piece){.next = after, .offset = offset, .size = size};
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

/* Frees the blocks of a type that nobody uses, but for the first `keep` of them. */
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

void tvmgo_vk_unplace(vk_memory* m) {
  if (m->block == NULL) return;
  pthread_mutex_lock(&m->d->heap->lock);
  uint32_t type = m->block->type;
  give(m->block, m->offset, m->span, m->spare);
  m->spare = NULL;
  if (m->block->used == 0) drop_empty(m->d, type, 1);
  pthread_mutex_unlock(&m->d->heap->lock);
}

void tvmgo_vk_trim(vk_device* d) {
  pthread_mutex_lock(&d->heap->lock);
  for (uint32_t i = 0; i < 32; i++) drop_empty(d, i, 0);
  pthread_mutex_unlock(&d->heap->lock);
}
