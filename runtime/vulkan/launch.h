/* Kernels of a module, and their launch. */
#pragma once

#include "driver.h"
#include "kernels.h"

/* What a shader takes, as its description and its code say (shader.go). */
typedef struct {
  uint32_t num_buffers;   /* bindings 0, 1 … of set 0 */
  uint32_t num_scalars;   /* slots of 8 bytes */
  uint8_t uniform;        /* they come in a uniform buffer, binding num_buffers; else as push constants */
  uint8_t unread;         /* the code looks at no scalar: none are given */
  uint32_t block[3];      /* work items of a block; zeroes: not known */
  uint8_t access[TVMGO_MAX_KERNEL_ARGS]; /* USE_… of each buffer */
} vk_shape;

/* A kernel made for a device, one reference by the function and one by each batch that runs it. Constant but for
 * `kept`. */
typedef struct {
  _Atomic int64_t refs;
  vk_device* d;
  vk_shape shape;
  uint8_t pushed; /* descriptors are part of the commands; else they are in sets of a pool */
  VkDescriptorSetLayout set_layout; /* NULL when there are no descriptors */
  VkPipelineLayout layout;
  VkPipeline handle;
  VkDescriptorUpdateTemplate update; /* from an array of VkDescriptorBufferInfo */
  tvmgo_spin lock; /* of the next two: the batch that holds a reference since last */
  vk_stream* kept_by;
  uint64_t kept_in;
} vk_pipeline;

/* A kernel of a module. What a call looks like is fixed when the module is loaded. */
typedef struct {
  tvmgo_kernel k;
  int32_t num_buffers; /* the first of its arguments; the others are scalars */
  uint8_t block_given; /* bit i: a launch says the size of direction i of a block */
} vk_function;

extern const tvmgo_kernel_class tvmgo_vk_kernels; /* of all modules of this kind */

/* Makes the pipeline of a kernel for a device from its code and, if there is any, what vkGetPipelineCacheData gave
 * once; *data (to be freed), unless NULL, is what it gives now. -1 with an error raised. Under Go's lock. */
int tvmgo_vk_pipeline_make(vk_function* f, vk_device* d, const vk_shape* shape, const uint32_t* words,
                           size_t num_words, const void* cached, size_t cached_size, void** data, size_t* size);
void tvmgo_vk_pipeline_drop(vk_pipeline* p);
/* Has the batch that a stream records hold the pipeline; -1 with an error raised. Between begin and end. */
int tvmgo_vk_pipeline_keep(vk_pipeline* p, vk_stream* s);

/* ---- descriptors.c: descriptor sets and uniform buffers of launches ----
 *
 * A room is a pool of descriptor sets and a piece of memory that the host writes and shaders read. A batch that needs
 * some takes one, and another when it is full; when the batch is done they are emptied and wait for the next. */
typedef struct vk_room vk_room;

/* An empty room with what a pipeline needs, to have at hand before begin; NULL with an error raised. */
vk_room* tvmgo_vk_room_take(const vk_pipeline* p);
void tvmgo_vk_room_give_back(vk_room* r);
/* Puts scalars into the batch's room and its descriptor into info; with a pool, *set is a new set. *spare is used up
 * when the batch's own room is full, and then NULL. -1 with an error raised. Between begin and end. */
int tvmgo_vk_room_use(const vk_pipeline* p, vk_stream* s, vk_room** spare, const tvmgo_kernel_slot* scalars,
                      VkDescriptorBufferInfo* info,
                      VkDescriptorSet* set);
