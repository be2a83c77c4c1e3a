/* Pools of descriptor sets and uniform buffer memory, from which the launches of a batch allocate. */
#include "launch.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum {
  SETS = 256,         /* descriptor sets of a pool */
  DESCRIPTORS = 2048, /* storage buffer descriptors of a pool; a kernel has at most TVMGO_MAX_KERNEL_ARGS */
  SCALAR_BYTES = 1 << 16
};
_Static_assert(DESCRIPTORS >= (int)TVMGO_MAX_KERNEL_ARGS && SCALAR_BYTES >= 16 * (int)TVMGO_MAX_KERNEL_ARGS,
               "a pool is large enough for each launch");

struct vk_arg_pool {
  vk_device* d;
  VkDescriptorPool pool;      /* NULL until a launch needs it */
  uint32_t sets, descriptors; /* number of allocated ones */
  vk_memory* memory;          /* uniform buffers; NULL until a launch needs it */
  size_t bytes;               /* allocated bytes of memory */
  uint64_t number;            /* number of the batch that uses it */
  vk_stream* stream;          /* the stream of that batch */
  vk_arg_pool* next;           /* the next pool in idle_pools */
};

static tvmgo_spin lock;
static vk_arg_pool* idle_pools[TVMGO_MAX_DEVICES];

static int make_pool(vk_arg_pool* r) {
  VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, DESCRIPTORS},
                                  {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, SETS}};
  VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = SETS, .poolSizeCount = 2, .pPoolSizes = sizes};
  VkResult rc = r->d->f.vkCreateDescriptorPool(r->d->handle, &info, NULL, &r->pool);
  return rc == VK_SUCCESS ? 0 : tvmgo_vk_failed(r->d, rc, "create a pool of %d descriptor sets on vulkan:%d", SETS,
                                                (int)r->d->index);
}

vk_arg_pool* tvmgo_vk_arg_pool_take(const vk_pipeline* p) {
  vk_device* d = p->d;
  tvmgo_spin_lock(&lock);
  vk_arg_pool* r = idle_pools[d->index];
  if (r != NULL) idle_pools[d->index] = r->next;
  tvmgo_spin_unlock(&lock);
  if (r == NULL) {
    r = calloc(1, sizeof *r);
    if (r == NULL) {
      tvmgo_raise_oom();
      return NULL;
    }
    r->d = d;
  }
  if ((!p->pushed && r->pool == NULL && make_pool(r) != 0) ||
      (p->shape.uniform && r->memory == NULL && (r->memory = tvmgo_vk_memory_new(d, SCALAR_BYTES,
          MEMORY_UPLOAD)) == NULL)) {
    tvmgo_vk_arg_pool_return(r);
    return NULL;
  }
  return r;
}

void tvmgo_vk_arg_pool_return(vk_arg_pool* r) {
  tvmgo_spin_lock(&lock);
  r->next = idle_pools[r->d->index];
  idle_pools[r->d->index] = r;
  tvmgo_spin_unlock(&lock);
}

/* The batch is done: empties the pool and returns it. */
static void batch_done(void* object) {
  vk_arg_pool* r = object;
  if (r->stream->arg_pool == r) r->stream->arg_pool = NULL;
  r->stream = NULL;
  if (r->sets > 0) r->d->f.vkResetDescriptorPool(r->d->handle, r->pool, 0);
  r->sets = r->descriptors = 0;
  r->bytes = 0;
  tvmgo_vk_arg_pool_return(r);
}

static size_t slice_size(const vk_pipeline* p) {
  size_t align = p->d->properties.limits.minUniformBufferOffsetAlignment;
  size_t bytes = 8 * (size_t)p->shape.num_scalars;
  if (align < 16) align = 16; /* the size of a shader's uniform block is a multiple of 16 */
  return (bytes + align - 1) / align * align;
}

static int has_space(const vk_arg_pool* r, const vk_pipeline* p) {
  if (!p->pushed && (r->pool == NULL || r->sets == SETS || DESCRIPTORS - r->descriptors < p->shape.num_buffers))
    return 0;
  return !p->shape.uniform || (r->memory != NULL && SCALAR_BYTES - r->bytes >= slice_size(p));
}

/* The batch's pool if it has enough space for a launch of the pipeline; otherwise *spare becomes the batch's pool. NULL
 * with an error raised. */
static vk_arg_pool* pool_of(const vk_pipeline* p, vk_stream* s, vk_arg_pool** spare) {
  vk_arg_pool* r = s->arg_pool;
  if (r != NULL && r->number == tvmgo_vk_number(s) && has_space(r, p)) return r;
  r = *spare;
  if (tvmgo_vk_keep(s, batch_done, r) != 0) return NULL;
  *spare = NULL;
  r->number = tvmgo_vk_number(s);
  r->stream = s;
  s->arg_pool = r;
  return r;
}

int tvmgo_vk_arg_pool_use(const vk_pipeline* p, vk_stream* s, vk_arg_pool** spare, const tvmgo_kernel_slot* scalars,
                          VkDescriptorBufferInfo* info, VkDescriptorSet* set) {
  vk_arg_pool* r = pool_of(p, s, spare);
  if (r == NULL) return -1;
  if (p->shape.uniform) {
    size_t bytes = 8 * (size_t)p->shape.num_scalars;
    memcpy(r->memory->at + r->bytes, scalars, bytes);
    if (tvmgo_vk_memory_written(r->memory, r->bytes, bytes) != 0) return -1;
    *info = (VkDescriptorBufferInfo){r->memory->buffer, r->bytes, slice_size(p)};
    r->bytes += slice_size(p);
  }
  if (p->pushed) return 0;
  VkDescriptorSetAllocateInfo ask = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                     .descriptorPool = r->pool,
                                     .descriptorSetCount = 1,
                                     .pSetLayouts = &p->set_layout};
  VkResult rc = r->d->f.vkAllocateDescriptorSets(r->d->handle, &ask, set);
  if (rc != VK_SUCCESS) return tvmgo_vk_failed(r->d, rc, "allocate a descriptor set on vulkan:%d", (int)r->d->index);
  r->sets++;
  r->descriptors += p->shape.num_buffers;
  return 0;
}
