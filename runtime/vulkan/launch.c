/* The way from a call to a recorded dispatch. No memory is allocated and Go is not entered, but at a kernel's first use on a device. */
#include "launch.h"

#include <stdio.h>
#include <string.h>

int tvmgoVulkanBuild(uintptr_t module, int32_t function, int32_t device); /* shader.go */
void tvmgoVulkanModuleFree(uintptr_t module);

/* The pipeline for a device, made when there is none yet. */
static vk_pipeline* pipeline_for(vk_function* f, const vk_device* d) {
  vk_pipeline* p = atomic_load_explicit(&f->made[d->index], memory_order_acquire);
  if (TVMGO_LIKELY(p != NULL)) return p;
  if (tvmgo_enter_go("making a pipeline") != 0 || tvmgoVulkanBuild(f->k.module->go, f->k.index, d->index) != 0) return NULL;
  return atomic_load_explicit(&f->made[d->index], memory_order_acquire);
}

/* The thread's active device; NULL with an error raised. */
static vk_device* active_device(void) {
  int32_t id = tvmgo_thread_get()->active_device[kDLVulkan];
  return tvmgo_device_api(kDLVulkan) == NULL ? NULL : tvmgo_vk_device(id); /* finds devices first, if need be */
}

/* The part of a buffer that an argument is. */
typedef struct {
  const vk_handle* h;
  size_t offset, size;
} part;

/* Bytes from an array's first element to behind its last; (size_t)-1 when that isn't known: to the end of its memory. */
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
  return (last + 1) * ((bits + 7) / 8); /* of less than a byte: one for each, as some have it */
}

/* size: what the array has; shaders may read whole words there. */
static int part_of(const vk_function* f, int i, const vk_device* d, part* p) {
  const VkPhysicalDeviceLimits* limits = &d->properties.limits;
  if (TVMGO_UNLIKELY(p->offset >= p->h->nbytes || p->offset % limits->minStorageBufferOffsetAlignment != 0))
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       TVMGO_ARG " begins %zu bytes into its memory of %zu: vulkan:%d takes parts of a buffer that begin at a multiple "
                           "of %zu bytes: copy it to an array of its own",
                       f->k.name, i, p->offset, p->h->nbytes, (int)d->index, (size_t)limits->minStorageBufferOffsetAlignment);
  size_t room = p->h->nbytes - p->offset, step = limits->minStorageBufferOffsetAlignment < 16 ? 16 : limits->minStorageBufferOffsetAlignment;
  p->size = p->size >= room || room - p->size < step ? room : (p->size + step - 1) / step * step;
  if (TVMGO_LIKELY(p->size <= limits->maxStorageBufferRange)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " has %zu bytes; kernels on vulkan:%d (%s) take at most %zu in one array: split it",
                     f->k.name, i, p->size, (int)d->index, d->properties.deviceName, (size_t)limits->maxStorageBufferRange);
}

/* The memory behind an argument: a handle as generated code passes it, or an array. */
static int memory_of(const vk_function* f, int i, const vk_device* d, const TVMFFIAny* v, part* p) {
  const void* data = v->v_ptr;
  int whole_bytes = 0;
  p->offset = 0;
  p->size = (size_t)-1;
  if (v->type_index == kTVMFFITensor || v->type_index == kTVMFFIDLTensorPtr) {
    const DLTensor* t = v->type_index == kTVMFFITensor ? tvmgo_tensor_dl(v->v_obj) : v->v_ptr;
    if (t == NULL) return tvmgo_kernel_bad_type(&f->k, i, "an array", v);
    if (t->device.device_type != kDLVulkan)
      return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " is an array of device type %d, the kernel runs on vulkan:%d: copy it there",
                         f->k.name, i, (int)t->device.device_type, (int)d->index);
    data = t->data;
    p->size = extent(t);
    whole_bytes = t->dtype.bits * t->dtype.lanes % 8 == 0 && p->size != (size_t)-1;
    if (p->size > 0) p->offset = t->byte_offset; /* nothing has no place, but a descriptor has some bytes */
    else p->size = 1;
  } else if (v->type_index == kTVMFFINone) {
    return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " is NULL: memory of vulkan:%d is needed", f->k.name, i, (int)d->index);
  } else if (v->type_index != kTVMFFIOpaquePtr) {
    return tvmgo_kernel_bad_type(&f->k, i, "an array or its data", v);
  }
  p->h = data;
  if (TVMGO_UNLIKELY(tvmgo_vk_handle_kind(data) != HANDLE_BUFFER))
    return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG ": %p is not memory of vulkan: it was made elsewhere, or freed", f->k.name, i, data);
  if (TVMGO_UNLIKELY(p->h->device != d->index))
    return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " is memory of vulkan:%d, the kernel runs on vulkan:%d: copy it there, or make that "
                       "device the active one", f->k.name, i, (int)p->h->device, (int)d->index);
  if (TVMGO_UNLIKELY(whole_bytes && (p->offset > p->h->nbytes || p->size > p->h->nbytes - p->offset)))
    return tvmgo_raise(TVMGO_VALUE_ERROR, TVMGO_ARG " is an array of %zu bytes that begins %zu bytes into its memory of %zu: it ends beyond",
                       f->k.name, i, p->size, p->offset, p->h->nbytes);
  return part_of(f, i, d, p);
}

/* Grid and block of a launch, as messages show them. */
#define SHAPE TVMGO_SHAPE
#define SHAPE_ARGS(f, s, d) TVMGO_SHAPE_ARGS(&(f)->k, s, "vulkan", (d)->index)

/* What the device would refuse, with the limit, and blocks that are not the shader's. */
static int check_sizes(const vk_function* f, const vk_device* d, const vk_pipeline* p, const size_t* s) {
  const uint32_t* own = p->shape.block;
  for (int i = 0; i < 3; i++) {
    size_t limit = d->properties.limits.maxComputeWorkGroupCount[i];
    if (TVMGO_UNLIKELY(s[i] > limit))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the limit of blockIdx.%c is %zu", SHAPE_ARGS(f, s, d), "xyz"[i], limit);
    if (TVMGO_UNLIKELY(own[0] != 0 && (f->block_given >> i & 1) && s[3 + i] != own[i]))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the shader's blocks are [%u, %u, %u], which is fixed in its code",
                         SHAPE_ARGS(f, s, d), own[0], own[1], own[2]);
  }
  return tvmgo_kernel_blocks_fit(s) ? 0 : tvmgo_kernel_too_many_blocks(&f->k, s, "vulkan", d->index);
}

/* Declares what the dispatch touches; the descriptors of its buffers. */
static int use_buffers(const vk_function* f, const vk_pipeline* p, vk_stream* stream, const part* parts, VkDescriptorBufferInfo* info) {
  for (int i = 0; i < f->num_buffers; i++) {
    if (tvmgo_vk_use(stream, parts[i].h, parts[i].offset, parts[i].size, p->shape.access[i], &info[i].buffer) != 0) return -1;
    info[i].offset = parts[i].offset;
    info[i].range = parts[i].size;
  }
  return 0;
}

/* Records the dispatch. */
static int record(const vk_function* f, vk_pipeline* p, TVMFFIStreamHandle on, const part* parts, const uint64_t* scalars,
                  const size_t* s, vk_room** spare) {
  VkDescriptorBufferInfo info[TVMGO_MAX_KERNEL_ARGS + 1];
  VkDescriptorSet set = NULL;
  vk_stream* stream;
  vk_device* d = p->d;
  VkCommandBuffer c = tvmgo_vk_begin(d, on, &stream);
  if (c == NULL) return -1;
  if (tvmgo_vk_pipeline_keep(p, stream) != 0 || use_buffers(f, p, stream, parts, info) != 0) return tvmgo_vk_cancel(stream);
  if (*spare != NULL && tvmgo_vk_room_use(p, stream, spare, scalars, &info[f->num_buffers], &set) != 0) return tvmgo_vk_cancel(stream);
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
  size_t s[TVMGO_MAX_LAUNCH];
  part parts[TVMGO_MAX_KERNEL_ARGS];
  uint64_t scalars[TVMGO_MAX_KERNEL_ARGS + 1];
  vk_room* spare = NULL;
  (void)result;
  if (TVMGO_UNLIKELY(n != f->k.num_args + f->k.num_launch)) return tvmgo_kernel_wrong_count(&f->k, n);
  vk_device* d = active_device();
  if (d == NULL || tvmgo_kernel_sizes(&f->k, args + f->k.num_args, s) != 0) return -1;
  if (tvmgo_kernel_is_empty(s)) return 0;
  vk_pipeline* p = pipeline_for(f, d);
  if (p == NULL || check_sizes(f, d, p, s) != 0) return -1;
  int i = 0;
  for (; i < f->num_buffers; i++)
    if (memory_of(f, i, d, &args[i], &parts[i]) != 0) return -1;
  for (; i < f->k.num_args; i++) {
    tvmgo_scalar v = {.i64 = 0};
    size_t size;
    if (tvmgo_kernel_scalar(&f->k, i, &args[i], &v, &size) != 0) return -1;
    scalars[i - f->num_buffers] = (uint64_t)v.i64; /* a number of 4 bytes is the low half */
  }
  if ((p->update != NULL && !p->pushed) || p->shape.uniform) {
    spare = tvmgo_vk_room_take(p);
    if (spare == NULL) return -1;
  }
  int rc = record(f, p, tvmgo_stream_get(kDLVulkan, d->index), parts, scalars, s, &spare);
  if (spare != NULL) tvmgo_vk_room_give_back(spare);
  return rc;
}

static void free_kernel(tvmgo_kernel* k) {
  vk_function* f = (vk_function*)k;
  for (int d = 0; d < MAX_DEVICES; d++)
    if (f->made[d] != NULL) tvmgo_vk_pipeline_drop(f->made[d]);
}

static size_t offset_alignment(int32_t device) {
  const vk_device* d = tvmgo_device_api(kDLVulkan) == NULL ? NULL : tvmgo_vk_device(device);
  return d == NULL ? 0 : (size_t)d->properties.limits.minStorageBufferOffsetAlignment;
}

const tvmgo_kernel_class tvmgo_vk_kernels = {.kernel_size = sizeof(vk_function),
                                             .launch = launch,
                                             .free_kernel = free_kernel,
                                             .free_go = tvmgoVulkanModuleFree,
                                             .offset_alignment = offset_alignment};

int tvmgo_vk_function_ready(tvmgo_kernels* m, int32_t index) {
  vk_function* f = (vk_function*)tvmgo_kernel_at(m, index);
  while (f->num_buffers < f->k.num_args && f->k.args[f->num_buffers] == TVMGO_ARG_MEMORY) f->num_buffers++;
  for (int i = f->num_buffers; i < f->k.num_args; i++)
    if (f->k.args[i] == TVMGO_ARG_MEMORY)
      return tvmgo_raise(TVMGO_CORRUPT_ERROR, TVMGO_ARG " is memory and comes behind a number: on Vulkan all memory comes first",
                         f->k.name, i);
  for (int i = 0; i < f->k.num_launch; i++)
    if (f->k.launch[i] >= TVMGO_LAUNCH_BLOCK && f->k.launch[i] < TVMGO_LAUNCH_CLUSTER)
      f->block_given |= (uint8_t)(1u << (f->k.launch[i] - TVMGO_LAUNCH_BLOCK));
  return 0;
}
