/* Descriptor sets and uniform buffers of launches, by the batch. */
#include "launch.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum {
  SETS = 256,          /* of a pool */
  DESCRIPTORS = 2048,  /* of storage buffers in them; a kernel has at most TVMGO_MAX_KERNEL_ARGS */
  SCALAR_BYTES = 1 << 16
};
_Static_assert(DESCRIPTORS >= (int)TVMGO_MAX_KERNEL_ARGS && SCALAR_BYTES >= 16 * (int)TVMGO_MAX_KERNEL_ARGS,
               "a launch fits");

struct vk_room {
  vk_device* d;
  VkDescriptorPool pool;   /* NULL when it was not needed yet */
  uint32_t sets, descriptors; /* taken */
  vk_memory* memory;       /* likewise */
  size_t bytes;            /* taken */
  uint64_t number;         /* of the batch that it is for, */
  vk_stream* stream;       /* and its stream */
  vk_room* next;           /* waiting ones */
};

static tvmgo_spin lock;
static vk_room* waiting[TVMGO_MAX_DEVICES];

static int make_pool(vk_room* r) {
  VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, DESCRIPTORS}, {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
      SETS}};
  VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = SETS, .poolSizeCount = 2, .pPoolSizes = sizes};
  VkResult rc = r->d->f.vkCreateDescriptorPool(r->d->handle, &info, NULL, &r->pool);
  return rc == VK_SUCCESS ? 0 : tvmgo_vk_failed(r->d, rc, "make a pool of %d descriptor sets on vulkan:%d", SETS,
                                                (int)r->d->index);
}

vk_room* tvmgo_vk_room_take(const vk_pipeline* p) {
  vk_device* d = p->d;
  tvmgo_spin_lock(&lock);
  vk_room* r = waiting[d->index];
  if (r != NULL) waiting[d->index] = r->next;
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
    tvmgo_vk_room_give_back(r);
    return NULL;
  }
  return r;
}

void tvmgo_vk_room_give_back(vk_room* r) {
  tvmgo_spin_lock(&lock);
  r->next = waiting[r->d->index];
  waiting[r->d->index] = r;
  tvmgo_spin_unlock(&lock);
}

/* The batch is done: what is in the room is not needed any more. */
static void batch_done(void* object) {
  vk_room* r = object;
  if (r->stream->room == r) r->stream->room = NULL;
  r->stream = NULL;
  if (r->sets > 0) r->d->f.vkResetDescriptorPool(r->d->handle, r->pool, 0);
  r->sets = r->descriptors = 0;
  r->bytes = 0;
  tvmgo_vk_room_give_back(r);
}

static size_t slice_size(const vk_pipeline* p) {
  size_t align = p->d->properties.limits.minUniformBufferOffsetAlignment;
  size_t bytes = 8 * (size_t)p->shape.num_scalars;
  if (align < 16) align = 16; /* what the block of a shader is rounded up to */
  return (bytes + align - 1) / align * align;
}

static int has_space(const vk_room* r, const vk_pipeline* p) {
  if (!p->pushed && (r->pool == NULL || r->sets == SETS || DESCRIPTORS - r->descriptors < p->shape.num_buffers))
    return 0;
  return !p->shape.uniform || (r->memory != NULL && SCALAR_BYTES - r->bytes >= slice_size(p));
}

/* The batch's room, with space for a launch of the pipeline. */
static vk_room* room_of(const vk_pipeline* p, vk_stream* s, vk_room** spare) {
  vk_room* r = s->room;
  if (r != NULL && r->number == tvmgo_vk_number(s) && has_space(r, p)) return r;
  r = *spare;
  if (tvmgo_vk_keep(s, batch_done, r) != 0) return NULL;
  *spare = NULL;
  r->number = tvmgo_vk_number(s);
  r->stream = s;
  s->room = r;
  return r;
}

int tvmgo_vk_room_use(const vk_pipeline* p, vk_stream* s, vk_room** spare, const tvmgo_kernel_slot* scalars,
                      VkDescriptorBufferInfo* info,
                      VkDescriptorSet* set) {
  vk_room* r = room_of(p, s, spare);
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
  if (rc != VK_SUCCESS) return tvmgo_vk_failed(r->d, rc, "a descriptor set on vulkan:%d", (int)r->d->index);
  r->sets++;
  r->descriptors += p->shape.num_buffers;
  return 0;
}
