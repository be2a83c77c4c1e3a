/* Launches. Only the first use of a kernel on a device enters Go. */
#include "launch.h"

/* The kernel's pipeline for a device; creates it if necessary. NULL with an error raised. */
static vk_pipeline* pipeline_for(vk_function* f, const vk_device* d) {
  vk_pipeline* p = tvmgo_kernel_built(&f->k, d->index);
  return TVMGO_LIKELY(p != NULL) ? p : tvmgo_kernel_build(&f->k, d->index);
}

/* The part of a buffer that is passed as an argument. */
typedef struct {
  const vk_handle* h;
  size_t offset, size;
} part;

/* The number of bytes from the beginning of an array's first element to the end of its last element; (size_t)-1 if it
 * cannot be computed. */
static size_t extent(const DLTensor* t) {
  size_t last = 0;
  for (int i = 0; i < t->ndim; i++)
    if (t->shape[i] <= 0) return 0;
  int64_t step = 1;
  for (int i = t->ndim - 1; i >= 0; i--) {
    size_t reach;
    if (t->strides != NULL) step = t->strides[i];
    if (step < 0 || __builtin_mul_overflow((size_t)step, (size_t)t->shape[i] - 1, &reach) ||
        __builtin_add_overflow(last, reach, &last) ||
        (t->strides == NULL && __builtin_mul_overflow(step, t->shape[i], &step)))
      return (size_t)-1;
  }
  size_t bits = (size_t)t->dtype.bits * t->dtype.lanes;
  if (last >= ((size_t)-1 >> 1) / (bits + 1)) return (size_t)-1;
  return (last + 1) * ((bits + 7) / 8); /* some programs store a smaller element in a whole byte */
}

/* Checks p's offset and size, and rounds the size up, because shaders may read a whole word at the end of an array. 0,
 * or -1 with an error raised. */
static int part_of(const vk_function* f, int i, const vk_device* d, part* p) {
  const VkPhysicalDeviceLimits* limits = &d->properties.limits;
  size_t align = limits->minStorageBufferOffsetAlignment, step = align < 16 ? 16 : align;
  if (tvmgo_kernel_check_offset(&f->k, i, d->index, p->offset, p->h->nbytes, align) != 0) return -1;
  size_t rest = p->h->nbytes - p->offset;
  p->size = p->size >= rest || rest - p->size < step ? rest : (p->size + step - 1) / step * step;
  if (TVMGO_LIKELY(p->size <= limits->maxStorageBufferRange)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     TVMGO_ARG " has %zu bytes; kernels on vulkan:%d (%s) take at most %zu in one array: split it",
                     f->k.name, i, p->size, (int)d->index, d->properties.deviceName,
                     (size_t)limits->maxStorageBufferRange);
}

/* The part of a buffer that is passed as argument i. 0, or -1 with an error raised. */
static int memory_of(const vk_function* f, int i, const vk_device* d, const TVMFFIAny* v, part* p) {
  const void* data;
  const DLTensor* t;
  int whole_bytes = 0;
  p->offset = 0;
  p->size = (size_t)-1;
  if (tvmgo_kernel_memory(&f->k, i, kDLVulkan, d->index, v, &data, &t) != 0) return -1;
  if (t != NULL) {
    p->size = extent(t);
    whole_bytes = t->dtype.bits * t->dtype.lanes % 8 == 0 && p->size != (size_t)-1;
    if (p->size > 0) p->offset = t->byte_offset; /* an empty array may have any offset; a descriptor is never empty */
    else p->size = 1;
  }
  p->h = tvmgo_kernel_handle(&f->k, i, d->index, &tvmgo_vk_handles, data);
  if (p->h == NULL) return -1;
  if (TVMGO_UNLIKELY(whole_bytes && (p->offset > p->h->nbytes || p->size > p->h->nbytes - p->offset)))
    return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " is an array of %zu bytes that begins at byte %zu of an "
                                                    "allocation of %zu bytes, and ends beyond it",
                       f->k.name, i, p->size, p->offset, p->h->nbytes);
  return part_of(f, i, d, p);
}

/* Grid and block of a launch, for messages. */
#define SHAPE TVMGO_SHAPE
#define SHAPE_ARGS(f, s, d) TVMGO_SHAPE_ARGS(&(f)->k, s, (d)->index)

/* Checks the sizes of a launch, for errors that name the limit. The block must be the one that the shader declares. */
static int check_sizes(const vk_function* f, const vk_device* d, const vk_pipeline* p, const size_t* s) {
  const uint32_t* own = p->shape.block;
  for (int i = 0; i < 3; i++) {
    size_t limit = d->properties.limits.maxComputeWorkGroupCount[i];
    if (TVMGO_UNLIKELY(s[i] > limit))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the limit of blockIdx.%c is %zu", SHAPE_ARGS(f, s, d), "xyz"[i],
                         limit);
    if (TVMGO_UNLIKELY(own[0] != 0 && !p->shape.linear && (f->block_given >> i & 1) && s[3 + i] != own[i]))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the block must be [%u, %u, %u], which is fixed in the shader",
                         SHAPE_ARGS(f, s, d), own[0], own[1], own[2]);
  }
  if (TVMGO_UNLIKELY(p->shape.linear && s[3] * s[4] * s[5] != own[0]))
    return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the block must have %u threads, which is fixed in the shader",
                       SHAPE_ARGS(f, s, d), own[0]);
  return tvmgo_kernel_blocks_fit(s) ? 0 : tvmgo_kernel_too_many_blocks(&f->k, s, d->index);
}

/* Declares the buffers that the dispatch uses, and fills in their descriptors. */
static int use_buffers(const vk_function* f, const vk_pipeline* p, vk_stream* stream, const part* parts,
                       VkDescriptorBufferInfo* info) {
  for (int i = 0; i < f->num_buffers; i++) {
    if (tvmgo_vk_use(stream, parts[i].h, parts[i].offset, parts[i].size, p->shape.access[i], &info[i].buffer) != 0)
      return -1;
    info[i].offset = parts[i].offset;
    info[i].range = parts[i].offset % 4 == 0 ? (parts[i].size + 3) / 4 * 4 : parts[i].size; /* see memory.c */
  }
  return 0;
}

/* Records the dispatch. */
static int record(const vk_function* f, vk_pipeline* p, TVMFFIStreamHandle on, const part* parts,
                  const tvmgo_kernel_slot* scalars, const size_t* s, vk_arg_pool** spare) {
  VkDescriptorBufferInfo info[TVMGO_MAX_KERNEL_ARGS + 1];
  VkDescriptorSet set = NULL;
  vk_stream* stream;
  vk_device* d = p->d;
  VkCommandBuffer c = tvmgo_vk_begin(d, on, &stream);
  if (c == NULL) return -1;
  if (tvmgo_vk_pipeline_keep(p, stream) != 0 || use_buffers(f, p, stream, parts, info) != 0)
    return tvmgo_vk_cancel(stream);
  if (*spare != NULL && tvmgo_vk_arg_pool_use(p, stream, spare, scalars, &info[f->num_buffers], &set) != 0)
    return tvmgo_vk_cancel(stream);
  d->f.vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->handle);
  if (p->pushed && p->update != NULL) {
    d->f.vkCmdPushDescriptorSetWithTemplateKHR(c, p->update, p->layout, 0, info);
  } else if (p->update != NULL) {
    d->f.vkUpdateDescriptorSetWithTemplate(d->handle, set, p->update, info);
    d->f.vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &set, 0, NULL);
  }
  if (p->shape.num_scalars > 0 && !p->shape.uniform && !p->shape.unread)
    d->f.vkCmdPushConstants(c, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8 * p->shape.num_scalars, scalars);
  d->f.vkCmdDispatch(c, (uint32_t)s[0], (uint32_t)s[1], (uint32_t)s[2]);
  return tvmgo_vk_end(stream);
}

static int launch(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vk_function* f = self;
  if (tvmgo_kernel_is_profiled()) return tvmgo_kernel_launch_profiled(&f->k, args, n, result);
  size_t s[TVMGO_MAX_LAUNCH];
  part parts[TVMGO_MAX_KERNEL_ARGS];
  tvmgo_kernel_slot scalars[TVMGO_MAX_KERNEL_ARGS + 1];
  vk_arg_pool* spare = NULL;
  int32_t id = tvmgo_kernel_begin(&f->k, kDLVulkan, n);
  vk_device* d = id < 0 ? NULL : tvmgo_vk_device(id);
  if (d == NULL || tvmgo_kernel_sizes(&f->k, args + f->k.num_args, s) != 0) return -1;
  if (tvmgo_kernel_is_empty(s)) return 0;
  vk_pipeline* p = pipeline_for(f, d);
  if (p == NULL || check_sizes(f, d, p, s) != 0) return -1;
  int i = 0;
  for (; i < f->num_buffers; i++)
    if (memory_of(f, i, d, &args[i], &parts[i]) != 0) return -1;
  for (; i < f->k.num_args; i++)
    if (tvmgo_kernel_scalar(&f->k, i, &args[i], &scalars[i - f->num_buffers]) != 0) return -1;
  if ((p->update != NULL && !p->pushed) || p->shape.uniform) {
    spare = tvmgo_vk_arg_pool_take(p);
    if (spare == NULL) return -1;
  }
  int rc = record(f, p, tvmgo_stream_get(kDLVulkan, d->index), parts, scalars, s, &spare);
  if (spare != NULL) tvmgo_vk_arg_pool_return(spare);
  return rc;
}

static void free_built(void* built) { tvmgo_vk_pipeline_drop(built); }

static size_t offset_alignment(int32_t device) {
  const vk_device* d = tvmgo_device_api(kDLVulkan) == NULL ? NULL : tvmgo_vk_device(device);
  return d == NULL ? 0 : (size_t)d->properties.limits.minStorageBufferOffsetAlignment;
}

static int complete(tvmgo_kernel* k) {
  vk_function* f = (vk_function*)k;
  while (f->num_buffers < k->num_args && k->args[f->num_buffers] == TVMGO_ARG_MEMORY) f->num_buffers++;
  for (int i = f->num_buffers; i < k->num_args; i++)
    if (k->args[i] == TVMGO_ARG_MEMORY)
      return tvmgo_raise(TVMGO_CORRUPT_ERROR,
                         TVMGO_ARG " is memory, but follows a scalar: on Vulkan, all memory arguments must come first",
                         k->name, i);
  for (int i = 0; i < k->num_launch; i++)
    if (k->launch[i] >= TVMGO_LAUNCH_BLOCK && k->launch[i] < TVMGO_LAUNCH_CLUSTER)
      f->block_given |= (uint8_t)(1u << (k->launch[i] - TVMGO_LAUNCH_BLOCK));
  return 0;
}

const tvmgo_kernel_class tvmgo_vk_kernels = {.kernel_size = sizeof(vk_function),
                                             .device_type = kDLVulkan,
                                             .launch = launch,
                                             .complete = complete,
                                             .free_built = free_built,
                                             .offset_alignment = offset_alignment};
