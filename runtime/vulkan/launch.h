/* Kernels of a module and their launches. */
#pragma once

#include "driver.h"
#include "kernels.h"

/* The arguments of a shader, according to its description and its code (shader.go). */
typedef struct {
  uint32_t num_buffers;   /* bindings 0, 1 … of set 0 */
  uint32_t num_scalars;   /* slots of 8 bytes */
  uint8_t uniform;        /* scalars are in a uniform buffer, binding num_buffers; otherwise in push constants */
  uint8_t unread;         /* the code reads no scalar, so none are passed */
  uint32_t block[3];      /* size of a work-group; zeros if unknown */
  uint32_t subgroup;      /* the subgroup size that the pipeline requires; 0: any */
  uint8_t full;           /* the pipeline requires full subgroups */
  uint8_t linear;         /* the code counts the threads of all dimensions of a block along the first one */
  uint8_t access[TVMGO_MAX_KERNEL_ARGS]; /* USE_… of each buffer */
} vk_shape;

/* A kernel built for a device. The function holds a reference, and so does each batch that runs it. Only refs and the
 * members from lock on change. */
typedef struct {
  _Atomic int64_t refs;
  vk_device* d;
  vk_shape shape;
  uint8_t pushed; /* uses push descriptors; otherwise descriptor sets of a pool */
  VkDescriptorSetLayout set_layout; /* NULL when there are no descriptors */
  VkPipelineLayout layout;
  VkPipeline handle;
  VkDescriptorUpdateTemplate update; /* from an array of VkDescriptorBufferInfo */
  tvmgo_spin lock; /* protects the next two: stream and number of the batch that took the last reference */
  vk_stream* kept_by;
  uint64_t kept_in;
} vk_pipeline;

/* A kernel of a module. It does not change after the module is loaded. */
typedef struct {
  tvmgo_kernel k;
  int32_t num_buffers; /* the number of buffers, which are the first arguments; the others are scalars */
  uint8_t block_given; /* bit i: a launch passes dimension i of the block */
} vk_function;

extern const tvmgo_kernel_class tvmgo_vk_kernels;

/* Creates the pipeline of a kernel for a device and publishes it. `cached` is an earlier result of
 * vkGetPipelineCacheData, or empty. *data, unless data is NULL, is the new result, which the caller frees. The caller
 * holds the Builder's lock. 0, or -1 with an error raised. */
int tvmgo_vk_pipeline_make(vk_function* f, vk_device* d, const vk_shape* shape, const uint32_t* words,
                           size_t num_words, const void* cached, size_t cached_size, void** data, size_t* size);
void tvmgo_vk_pipeline_drop(vk_pipeline* p);
/* Makes the batch that a stream records hold a reference to the pipeline. Must be called between begin and end. 0, or
 * -1 with an error raised. */
int tvmgo_vk_pipeline_keep(vk_pipeline* p, vk_stream* s);

/* ---- descriptors.c: descriptor sets and uniform buffers of launches ----
 *
 * A vk_arg_pool is a pool of descriptor sets and memory for uniform buffers. A batch takes one when a launch needs it,
 * and another one when it is full. When the batch is done, its pools are emptied and can be reused. */
typedef struct vk_arg_pool vk_arg_pool;

/* An empty pool for launches of a pipeline; NULL with an error raised. Must be called before begin, because it
 * allocates memory. */
vk_arg_pool* tvmgo_vk_arg_pool_take(const vk_pipeline* p);
void tvmgo_vk_arg_pool_return(vk_arg_pool* r);
/* Allocates from the batch's pool: copies the scalars to a uniform buffer and sets *info to it, and sets *set to a new
 * descriptor set, if the pipeline needs them. If the batch's pool is full, the batch takes *spare, which becomes NULL.
 * Must be called between begin and end. 0, or -1 with an error raised. */
int tvmgo_vk_arg_pool_use(const vk_pipeline* p, vk_stream* s, vk_arg_pool** spare, const tvmgo_kernel_slot* scalars,
                          VkDescriptorBufferInfo* info, VkDescriptorSet* set);
