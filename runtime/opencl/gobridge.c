//go:build opencl

#include "gobridge.h"

#include <string.h>

cl_int tvmgo_cl_add_device(cl_platform_id platform, cl_device_id id, cl_context context, int one_at_a_time) {
  cl_device* d = &tvmgo_cl_devices[tvmgo_cl_num_devices];
  cl_uint bits = 0;
  cl_bool images = CL_FALSE;
  memset(d, 0, sizeof *d);
  d->index = tvmgo_cl_num_devices;
  d->platform = platform;
  d->id = id;
  d->context = context;
  d->one_at_a_time = one_at_a_time;
  pthread_mutex_init(&d->lock, NULL);
  const struct {
    cl_device_info what;
    size_t size;
    void* to;
  } asked[] = {{CL_DEVICE_NAME, sizeof d->name - 1, d->name},
               {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof d->max_group, &d->max_group},
               {CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof d->max_items, d->max_items},
               {CL_DEVICE_LOCAL_MEM_SIZE, sizeof d->shared_bytes, &d->shared_bytes},
               {CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof d->max_alloc, &d->max_alloc},
               {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof d->global_bytes, &d->global_bytes},
               {CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits},
               {CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images}};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    cl_int rc = clGetDeviceInfo(id, asked[i].what, asked[i].size, asked[i].to, NULL);
    if (rc != CL_SUCCESS) return rc;
  }
  d->base_align = bits / 8 > 0 ? bits / 8 : 1;
  d->has_images = images == CL_TRUE;
  cl_int rc;
  d->queue = clCreateCommandQueue(context, id, CL_QUEUE_PROFILING_ENABLE, &rc);
  if (d->queue == NULL) return rc;
  tvmgo_cl_num_devices++;
  return CL_SUCCESS;
}

uintptr_t tvmgo_cl_native_buffer(uintptr_t handle) {
  const cl_handle* h = tvmgo_cl_handle_need((void*)handle, HANDLE_BUFFER, "buffer of a tensor");
  return h == NULL ? 0 : (uintptr_t)h->mem;
}

uintptr_t tvmgo_cl_native_queue(int32_t device, uintptr_t stream) {
  const cl_device* d = tvmgo_cl_device(device);
  return d == NULL ? 0 : (uintptr_t)tvmgo_cl_queue(d, (TVMFFIStreamHandle)stream);
}
