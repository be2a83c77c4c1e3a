/* Memory of a device: what the parts of memory share. */
#pragma once

#include "driver.h"

/* A run of free bytes in a block. */
typedef struct vk_piece {
  struct vk_piece* next; /* by offset; no two of them touch */
  VkDeviceSize offset, size;
} vk_piece;

/* One allocation of the driver's. */
struct vk_block {
  vk_block* next;
  VkDeviceMemory memory;
  VkDeviceSize size, used;
  uint32_t type;
  int alone; /* of one buffer; goes with it */
  char* at;
  vk_piece* free;
};

enum { SHARED_BUFFERS = 4 };

/* block.c. Host memory that copies go through is kept for the next one, a few pieces of it. */
struct vk_heap {
  pthread_mutex_t lock;
  vk_block* blocks[32]; /* by type of memory */
  uint32_t num_allocations;
  _Atomic int64_t held; /* bytes in all blocks */
  vk_memory* staging[2][SHARED_BUFFERS]; /* staging.c: upload, download */
};

vk_heap* tvmgo_vk_heap_new(void);

/* Finds a place for a buffer, and a block when there is none; takes m->size, gives block, offset, span, at, coherent,
 * cached. The answer is a code of Vulkan; VK_ERROR_TOO_MANY_OBJECTS when the device allows no more blocks. alone asks
 * for one of its own. */
VkResult tvmgo_vk_place(vk_memory* m, const VkMemoryRequirements* need, uint32_t type, int alone);
void tvmgo_vk_unplace(vk_memory* m);
/* Gives blocks without a buffer back to the driver. */
void tvmgo_vk_trim(vk_device* d);

/* staging.c: buffers of STAGING bytes for copies by way of the host. NULL with an error raised. */
enum { STAGING = 4 << 20 };
vk_memory* tvmgo_vk_staging_take(vk_device* d, memory_use use);
void tvmgo_vk_staging_give(vk_memory* m, memory_use use);
void tvmgo_vk_staging_trim(vk_device* d);

/* Page-locked memory that holds these bytes of the host, one reference, and where in it they are; NULL when there is
 * none. */
vk_memory* tvmgo_vk_pinned_of(vk_device* d, const void* at, size_t nbytes, VkDeviceSize* offset);
