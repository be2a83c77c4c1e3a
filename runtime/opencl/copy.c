//go:build opencl

/* Copies (docs/abi.md E.4). A copy from or to host memory returns when it is done, because the caller may free the host
 * memory after the call. A copy within a device is only enqueued. */
#include "driver.h"

#include <stdlib.h>

/* The source or destination of a copy: a part of a buffer, or a whole image. */
typedef struct {
  const cl_handle* h;
  const cl_device* d;
  size_t offset;
} copy_side;

static int side_of(const DLTensor* t, size_t nbytes, const char* what, copy_side* out) {
  cl_handle* h = t->data;
  if (tvmgo_cl_handle_kind(h) != HANDLE_IMAGE && tvmgo_cl_handle_need(h, HANDLE_BUFFER, what) == NULL) return -1;
  *out = (copy_side){h, tvmgo_cl_device(t->device.device_id), t->byte_offset};
  if (out->d == NULL) return -1;
  if (h->device != t->device.device_id)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the memory is on opencl:%d, but the array's device is opencl:%d", what,
                       (int)h->device, (int)t->device.device_id);
  if (out->offset > h->nbytes || nbytes > h->nbytes - out->offset)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %zu bytes at offset %zu exceed the allocation of %zu bytes", what,
                       nbytes, out->offset, h->nbytes);
  if (h->kind == HANDLE_IMAGE && (out->offset != 0 || nbytes != h->nbytes))
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "%s: a texture can only be copied as a whole, %zu bytes", what,
                       h->nbytes);
  return 0;
}

static const size_t origin[3] = {0, 0, 0};

static cl_int read_part(cl_command_queue q, copy_side p, size_t nbytes, void* to) {
  tvmgo_cl_enter(p.d);
  cl_int rc = p.h->kind == HANDLE_IMAGE
                  ? clEnqueueReadImage(q, p.h->mem, CL_TRUE, origin, p.h->region, 0, 0, to, 0, NULL, NULL)
                  : clEnqueueReadBuffer(q, p.h->mem, CL_TRUE, p.offset, nbytes, to, 0, NULL, NULL);
  tvmgo_cl_leave(p.d);
  return rc;
}

static cl_int write_part(cl_command_queue q, copy_side p, size_t nbytes, const void* from) {
  tvmgo_cl_enter(p.d);
  cl_int rc = p.h->kind == HANDLE_IMAGE
                  ? clEnqueueWriteImage(q, p.h->mem, CL_TRUE, origin, p.h->region, 0, 0, from, 0, NULL, NULL)
                  : clEnqueueWriteBuffer(q, p.h->mem, CL_TRUE, p.offset, nbytes, from, 0, NULL, NULL);
  tvmgo_cl_leave(p.d);
  return rc;
}

static int overlap(copy_side a, copy_side b, size_t nbytes) {
  return a.h == b.h && a.offset < b.offset + nbytes && b.offset < a.offset + nbytes;
}

/* Copies between overlapping parts of a buffer, through a temporary buffer. */
static cl_int copy_overlapping(cl_command_queue q, copy_side from, copy_side to, size_t nbytes) {
  cl_int rc;
  if (from.offset == to.offset) return CL_SUCCESS;
  cl_mem between = clCreateBuffer(from.d->context, CL_MEM_READ_WRITE, nbytes, NULL, &rc);
  if (between == NULL) return rc;
  rc = clEnqueueCopyBuffer(q, from.h->mem, between, from.offset, 0, nbytes, 0, NULL, NULL);
  if (rc == CL_SUCCESS) rc = clEnqueueCopyBuffer(q, between, to.h->mem, 0, to.offset, nbytes, 0, NULL, NULL);
  clReleaseMemObject(between);
  return rc;
}

static cl_int queue_within(cl_command_queue q, copy_side from, copy_side to, size_t nbytes) {
  int from_image = from.h->kind == HANDLE_IMAGE, to_image = to.h->kind == HANDLE_IMAGE;
  if (from.h == to.h && from_image) return CL_SUCCESS;
  if (from_image && to_image)
    return clEnqueueCopyImage(q, from.h->mem, to.h->mem, origin, origin, from.h->region, 0, NULL, NULL);
  if (from_image)
    return clEnqueueCopyImageToBuffer(q, from.h->mem, to.h->mem, origin, from.h->region, to.offset, 0, NULL, NULL);
  if (to_image)
    return clEnqueueCopyBufferToImage(q, from.h->mem, to.h->mem, from.offset, origin, to.h->region, 0, NULL, NULL);
  if (overlap(from, to, nbytes)) return copy_overlapping(q, from, to, nbytes);
  return clEnqueueCopyBuffer(q, from.h->mem, to.h->mem, from.offset, to.offset, nbytes, 0, NULL, NULL);
}

static cl_int copy_within(cl_command_queue q, copy_side from, copy_side to, size_t nbytes) {
  tvmgo_cl_enter(from.d);
  cl_int rc = queue_within(q, from, to, nbytes);
  tvmgo_cl_leave(from.d);
  return rc;
}

/* Copies between two devices, through host memory. The stream belongs to one device; the other device uses its default
 * stream. */
static int copy_across(copy_side from, copy_side to, size_t nbytes, TVMFFIStreamHandle stream) {
  enum { CHUNK = 16 << 20 };
  cl_handle* s = stream;
  int at_source = s == NULL || tvmgo_cl_handle_kind(s) != HANDLE_STREAM || s->device == from.d->index;
  cl_command_queue out = tvmgo_cl_queue(from.d, at_source ? stream : NULL);
  cl_command_queue in = tvmgo_cl_queue(to.d, s != NULL && at_source ? NULL : stream);
  if (out == NULL || in == NULL) return -1;
  int whole = from.h->kind == HANDLE_IMAGE || to.h->kind == HANDLE_IMAGE;
  size_t chunk = whole || nbytes < CHUNK ? nbytes : CHUNK;
  void* between = malloc(chunk);
  if (between == NULL) return tvmgo_raise_oom();
  cl_int rc = CL_SUCCESS;
  while (nbytes > 0 && rc == CL_SUCCESS) {
    size_t n = nbytes < chunk ? nbytes : chunk;
    rc = read_part(out, from, n, between);
    if (rc == CL_SUCCESS) rc = write_part(in, to, n, between);
    from.offset += n;
    to.offset += n;
    nbytes -= n;
  }
  free(between);
  return rc == CL_SUCCESS
             ? 0
             : tvmgo_cl_raise(rc, "copy from opencl:%d to opencl:%d", (int)from.d->index, (int)to.d->index);
}

int tvmgo_cl_copy(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream) {
  size_t nbytes;
  copy_side a, b;
  if (tvmgo_dl_bytes(from, &nbytes) != 0) return -1;
  int from_here = from->device.device_type == kDLOpenCL, to_here = to->device.device_type == kDLOpenCL;
  if (from_here && side_of(from, nbytes, "copy: source", &a) != 0) return -1;
  if (to_here && side_of(to, nbytes, "copy: destination", &b) != 0) return -1;
  if (nbytes == 0) return 0;
  if (from_here && to_here && a.d != b.d) return copy_across(a, b, nbytes, stream);
  const cl_device* d = from_here ? a.d : b.d;
  cl_command_queue q = tvmgo_cl_queue(d, stream);
  if (q == NULL) return -1;
  cl_int rc = from_here && to_here ? copy_within(q, a, b, nbytes)
              : from_here          ? read_part(q, a, nbytes, (char*)to->data + to->byte_offset)
                                   : write_part(q, b, nbytes, (const char*)from->data + from->byte_offset);
  if (rc == CL_SUCCESS) return 0;
  return tvmgo_cl_raise(rc, "copy %zu bytes %s opencl:%d", nbytes, !from_here ? "to" : !to_here ? "from" : "within",
                        (int)d->index);
}
