/* Device memory: declarations that memory.c, block.c, staging.c and the copies share. */
#pragma once

#include "driver.h"

/* A run of free bytes in a block. */
typedef struct vk_run {
  struct vk_run* next; /* sorted by offset; no two runs are adjacent */
  VkDeviceSize offset, size;
} vk_run;

/* A VkDeviceMemory. */
struct vk_block {
  vk_block* next;
  VkDeviceMemory memory;
  VkDeviceSize size, used;
  uint32_t type;
  int alone; /* belongs to one buffer and is freed with it */
  char* at;
  vk_run* free;
};

enum { SHARED_BUFFERS = 4 };

/* All memory of a device. block.c manages the blocks. staging.c stores some staging buffers for reuse. */
struct vk_heap {
  pthread_mutex_t lock;
  vk_block* blocks[32]; /* by memory type */
  uint32_t num_allocations;
  _Atomic int64_t held; /* bytes in all blocks */
  vk_memory* staging[2][SHARED_BUFFERS]; /* staging.c: upload, download */
};

vk_heap* tvmgo_vk_heap_new(void);

/* Allocates memory for m->buffer from a block, and allocates a new block if necessary. Sets m's block, offset, span,
 * at, coherent and cached. With alone, the buffer gets its own block. Returns VK_ERROR_TOO_MANY_OBJECTS if the device
 * allows no more blocks. */
VkResult tvmgo_vk_suballocate(vk_memory* m, const VkMemoryRequirements* need, uint32_t type, int alone);
void tvmgo_vk_subfree(vk_memory* m);
/* Frees the blocks that contain no buffer. */
void tvmgo_vk_trim(vk_device* d);

/* staging.c: host-visible buffers of STAGING bytes for copies from and to host memory. _take returns NULL with an error
 * raised. */
enum { STAGING = 4 << 20 };
vk_memory* tvmgo_vk_staging_take(vk_device* d, memory_use use);
void tvmgo_vk_staging_give(vk_memory* m, memory_use use);
void tvmgo_vk_staging_trim(vk_device* d);

/* The page-locked memory that contains a range of host addresses, with a new reference, and the range's offset in it;
 * NULL if there is none. */
vk_memory* tvmgo_vk_pinned_of(vk_device* d, const void* at, size_t nbytes, VkDeviceSize* offset);
