//go:build opencl

/* Buffers, images and page-locked host memory, and the counters of all three. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* A new handle for a memory object, which it owns. NULL with an error raised; the memory object is released then. */
static cl_handle* wrap(cl_device* d, handle_kind kind, cl_mem mem, size_t nbytes) {
  cl_handle* h = tvmgo_cl_handle_new(kind, d->index);
  if (h == NULL) {
    clReleaseMemObject(mem);
    return NULL;
  }
  h->mem = mem;
  h->nbytes = nbytes;
  tvmgo_memory_count(&d->data, (int64_t)nbytes);
  return h;
}

int tvmgo_cl_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                   void** out) {
  cl_device* d = tvmgo_cl_device(dev.device_id);
  if (d == NULL || tvmgo_device_check_alignment(dev, alignment) != 0) return -1;
  /* Buffers are aligned for the largest type of OpenCL, and no kernel requires more. */
  if (nbytes == 0) nbytes = 1; /* OpenCL has no empty buffers */
  if (nbytes > d->max_alloc)
    return tvmgo_raise(TVMGO_MEMORY_ERROR,
                       "allocate on opencl:%d: no memory for %zu bytes: a buffer has at most %llu bytes",
                       dev.device_id, nbytes, (unsigned long long)d->max_alloc);
  cl_int rc;
  cl_mem mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE, nbytes, NULL, &rc);
  if (mem == NULL) return tvmgo_cl_raise(rc, "allocate on opencl:%d: no memory for %zu bytes", dev.device_id, nbytes);
  *out = wrap(d, HANDLE_BUFFER, mem, nbytes);
  return *out == NULL ? -1 : 0;
}

/* How many leading dimensions of a shape [.., 4] become rows of an image; 0 for an unknown scope (docs/abi.md E.7). */
static int rows_of(const char* scope, int32_t ndim) {
  if (strcmp(scope, "global.texture") == 0) return ndim > 3 ? ndim - 2 : 1;
  if (strcmp(scope, "global.texture-weight") == 0) return 1;
  if (strcmp(scope, "global.texture-nhwc") == 0) return ndim == 3 ? 1 : 2;
  return 0;
}

static int image_region(const cl_device* d, int32_t ndim, const int64_t* shape, const char* scope, size_t region[3]) {
  int rows = rows_of(scope, ndim);
  if (rows == 0)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "opencl:%d has no memory of scope \"%s\": its scopes are global, global.texture, "
                       "global.texture-weight and global.texture-nhwc",
                       (int)d->index, scope);
  if (ndim < 3 || rows > ndim - 2 || shape[ndim - 1] != 4)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "allocate \"%s\": a texture needs at least %d dimensions, and the last must be 4, the "
                       "number of channels of a pixel",
                       scope, rows + 2 > 3 ? rows + 2 : 3);
  region[0] = region[1] = region[2] = 1;
  for (int32_t i = 0; i < ndim - 1; i++)
    if (shape[i] < 0 || __builtin_mul_overflow(region[i < rows], (size_t)shape[i], &region[i < rows]))
      return tvmgo_raise(TVMGO_VALUE_ERROR, "allocate \"%s\": the shape is negative or too large", scope);
  size_t most[2] = {0, 0};
  clGetDeviceInfo(d->id, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof *most, &most[0], NULL);
  clGetDeviceInfo(d->id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof *most, &most[1], NULL);
  if (region[0] == 0 || region[1] == 0 || region[0] > most[0] || region[1] > most[1])
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "allocate \"%s\": an image of %zu by %zu pixels; opencl:%d supports 1 by 1 to %zu by %zu",
                       scope, region[0], region[1], (int)d->index, most[0], most[1]);
  return 0;
}

static int channel_type(DLDataType t, cl_channel_type* out) {
  static const struct {
    uint8_t code, bits;
    cl_channel_type type;
  } types[] = {{kDLFloat, 32, CL_FLOAT},        {kDLFloat, 16, CL_HALF_FLOAT},   {kDLInt, 32, CL_SIGNED_INT32},
               {kDLInt, 16, CL_SIGNED_INT16},   {kDLInt, 8, CL_SIGNED_INT8},     {kDLUInt, 32, CL_UNSIGNED_INT32},
               {kDLUInt, 16, CL_UNSIGNED_INT16}, {kDLUInt, 8, CL_UNSIGNED_INT8}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (t.lanes == 1 && t.code == types[i].code && t.bits == types[i].bits) {
      *out = types[i].type;
      return 0;
    }
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                     "a texture cannot have channels of dtype code %d, %d bits, %d lanes: use float32, float16 or an "
                     "integer of at most 32 bits",
                     (int)t.code, (int)t.bits, (int)t.lanes);
}

int tvmgo_cl_alloc_scoped(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType dtype,
                          const char* scope, void** out) {
  cl_device* d = tvmgo_cl_device(dev.device_id);
  cl_image_format format = {.image_channel_order = CL_RGBA};
  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D};
  size_t region[3];
  if (d == NULL || image_region(d, ndim, shape, scope, region) != 0 ||
      channel_type(dtype, &format.image_channel_data_type) != 0)
    return -1;
  if (!d->has_images)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "allocate \"%s\": opencl:%d (%s) does not support images", scope,
                       dev.device_id, d->name);
  desc.image_width = region[0];
  desc.image_height = region[1];
  cl_int rc;
  cl_mem mem = clCreateImage(d->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &rc);
  if (mem == NULL)
    return tvmgo_cl_raise(rc, "allocate \"%s\" on opencl:%d: an image of %zu by %zu pixels", scope, dev.device_id,
                          region[0], region[1]);
  cl_handle* h = wrap(d, HANDLE_IMAGE, mem, region[0] * region[1] * 4 * (dtype.bits / 8));
  if (h == NULL) return -1;
  memcpy(h->region, region, sizeof region);
  *out = h;
  return 0;
}

int tvmgo_cl_free(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  cl_device* d = tvmgo_cl_device(dev.device_id);
  if (d == NULL || tvmgo_workspace_refuse(dev, p) != 0) return -1;
  cl_handle* h = tvmgo_handle_memory(&tvmgo_cl_handles, p, d->index, "free");
  if (h == NULL) return -1;
  cl_int rc = clReleaseMemObject(h->mem); /* does not wait: enqueued commands retain the object */
  if (rc != CL_SUCCESS) return tvmgo_cl_raise(rc, "free memory of opencl:%d", dev.device_id);
  tvmgo_memory_count(&d->data, -(int64_t)h->nbytes);
  tvmgo_cl_handle_free(h);
  return 0;
}

/* Page-locked memory is a buffer that the driver allocates in host memory. It stays mapped until it is freed. */
typedef struct {
  tvmgo_pinned head;
  cl_mem mem;
} pinned;

static tvmgo_pinned_list all_pinned = {.lock = PTHREAD_MUTEX_INITIALIZER};

int tvmgo_cl_pinned_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, void** out) {
  cl_device* d = tvmgo_cl_device(dev.device_id);
  if (d == NULL) return -1;
  pinned* p = calloc(1, sizeof *p);
  if (p == NULL) return tvmgo_raise_oom();
  p->head.nbytes = nbytes == 0 ? 1 : nbytes;
  p->head.device = d->index;
  cl_int rc = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (p->head.nbytes <= d->max_alloc)
    p->mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, p->head.nbytes, NULL, &rc);
  tvmgo_cl_enter(d);
  if (p->mem != NULL)
    p->head.at = clEnqueueMapBuffer(d->queue, p->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, p->head.nbytes, 0, NULL,
                                    NULL, &rc);
  tvmgo_cl_leave(d);
  if (p->head.at == NULL) {
    if (p->mem != NULL) clReleaseMemObject(p->mem);
    free(p);
    return tvmgo_cl_raise(rc, "page-locked memory for opencl:%d: no memory for %zu bytes", dev.device_id, nbytes);
  }
  tvmgo_pinned_add(&all_pinned, &p->head);
  atomic_fetch_add(&d->pinned_bytes, (int64_t)p->head.nbytes);
  *out = p->head.at;
  return 0;
}

int tvmgo_cl_pinned_free(const TVMGODeviceAPI* api, DLDevice dev, void* at) {
  cl_device* d = tvmgo_cl_device(dev.device_id);
  pinned* p = d == NULL ? NULL : (pinned*)tvmgo_pinned_take(&all_pinned, dev, at);
  if (p == NULL) return -1;
  tvmgo_cl_enter(d);
  cl_int rc = clEnqueueUnmapMemObject(d->queue, p->mem, at, 0, NULL, NULL);
  if (rc == CL_SUCCESS) rc = clFinish(d->queue);
  tvmgo_cl_leave(d);
  clReleaseMemObject(p->mem);
  atomic_fetch_sub(&d->pinned_bytes, (int64_t)p->head.nbytes);
  free(p);
  return rc == CL_SUCCESS ? 0 : tvmgo_cl_raise(rc, "free page-locked memory of opencl:%d", dev.device_id);
}

int tvmgo_cl_memory_stats(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out) {
  const cl_device* d = tvmgo_cl_device(dev.device_id);
  if (d == NULL) return -1;
  /* OpenCL 1.2 does not report free memory. */
  return tvmgo_memory_report(&d->data, (int64_t)d->global_bytes, -1, atomic_load(&d->pinned_bytes), out);
}
