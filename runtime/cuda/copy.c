//go:build cuda

/* Copies (docs/abi.md E.4). A copy from or to ordinary host memory waits until it is done; all other copies are
 * enqueued.
 *
 * The driver does not guarantee this wait. Up to CUDA 11 it stages pageable memory "asynchronously with a worker
 * thread", later a transfer "might be synchronous with respect to host" (CUDA Driver API, API synchronization behavior,
 * Memcpy, asynchronous 1 and 3). Memory of the CPU that another library has page-locked is read when the copy runs. */
#include "driver.h"

#include <string.h>

/* The source or destination of a copy. */
typedef struct {
  cu_device* d; /* NULL for ordinary host memory */
  cu_space space;
  CUdeviceptr at; /* host and devices have a unified address space */
} copy_side;

static int side_of(const DLTensor* t, const char* what, copy_side* out) {
  *out = (copy_side){.at = (uintptr_t)t->data + t->byte_offset};
  if (t->device.device_type == kDLCPU) return 0;
  if (t->device.device_type != kDLCUDA && t->device.device_type != kDLCUDAHost &&
      t->device.device_type != kDLCUDAManaged)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "copy: the %s is on %s: copy through the CPU", what,
                       tvmgo_device_type_name(t->device.device_type));
  out->d = tvmgo_cu_device_of(t->device, &out->space);
  return out->d == NULL ? -1 : 0;
}

static int is_device(copy_side p) { return p.d != NULL && p.space == SPACE_DEVICE; }
static int is_host(copy_side p) { return p.d == NULL || p.space == SPACE_HOST; }

/* Enables peer access from a to the memory of b, at the first copy between them. Without it, the driver copies through
 * the host. */
static void enable_peer_access(cu_device* a, cu_device* b) {
  if (atomic_fetch_or(&a->peers_tried, (uint64_t)1 << b->index) >> b->index & 1) return;
  cu_scope s;
  int can = 0;
  if (cuDeviceCanAccessPeer(&can, a->id, b->id) != CUDA_SUCCESS || !can || tvmgo_cu_enter_relaxed(a, &s) != 0) return;
  /* An error is ignored: access may already be enabled, or too many peers connected. Copies still work. */
  cuCtxEnablePeerAccess(atomic_load(&b->context), 0);
  tvmgo_cu_leave(&s);
}

/* Copies between two devices. The stream belongs to one of them; a copy on the default stream is ordered with the
 * default streams of both. */
static int copy_across(copy_side from, copy_side to, size_t nbytes, CUstream stream) {
  cu_scope s;
  if (tvmgo_cu_enter(to.d, &s) != 0) return -1; /* creates the context */
  tvmgo_cu_leave(&s);
  if (tvmgo_cu_enter(from.d, &s) != 0) return -1;
  tvmgo_cu_leave(&s);
  enable_peer_access(from.d, to.d);
  enable_peer_access(to.d, from.d);
  atomic_store(&from.d->has_peers, 1);
  atomic_store(&to.d->has_peers, 1);
  if (stream == NULL && tvmgo_cu_order(to.d, NULL, from.d, NULL) != 0) return -1;
  if (tvmgo_cu_enter(tvmgo_cu_device_of_stream(stream, from.d), &s) != 0) return -1;
  CUresult rc = cuMemcpyPeerAsync(to.at, atomic_load(&to.d->context), from.at, atomic_load(&from.d->context), nbytes,
                                  stream);
  tvmgo_cu_leave(&s);
  if (rc != CUDA_SUCCESS)
    return tvmgo_cu_raise(rc, "copy %zu bytes from cuda:%d to cuda:%d", nbytes, (int)from.d->index, (int)to.d->index);
  return stream == NULL ? tvmgo_cu_order(from.d, NULL, to.d, NULL) : 0;
}

/* Copies between overlapping parts of an allocation, through temporary memory. */
static CUresult copy_overlapping(cu_device* d, copy_side from, copy_side to, size_t nbytes, CUstream stream) {
  CUdeviceptr between = 0;
  if (from.at == to.at) return CUDA_SUCCESS;
  CUresult rc = tvmgo_cu_scratch(d, nbytes, stream, &between);
  if (rc != CUDA_SUCCESS) return rc;
  rc = cuMemcpyAsync(between, from.at, nbytes, stream);
  if (rc == CUDA_SUCCESS) rc = cuMemcpyAsync(to.at, between, nbytes, stream);
  CUresult done = tvmgo_cu_scratch_done(d, between, nbytes, stream);
  return rc != CUDA_SUCCESS ? rc : done;
}

static CUresult queue(cu_device* d, copy_side from, copy_side to, size_t nbytes, CUstream stream) {
  if (from.at < to.at + nbytes && to.at < from.at + nbytes) return copy_overlapping(d, from, to, nbytes, stream);
  if (is_host(from) && is_host(to)) return cuMemcpyAsync(to.at, from.at, nbytes, stream);
  if (is_host(from)) return cuMemcpyHtoDAsync(to.at, (const void*)(uintptr_t)from.at, nbytes, stream);
  if (is_host(to)) return cuMemcpyDtoHAsync((void*)(uintptr_t)to.at, from.at, nbytes, stream);
  return cuMemcpyDtoDAsync(to.at, from.at, nbytes, stream);
}

static int is_page_locked(copy_side p) {
  unsigned int kind = 0;
  return cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p.at) == CUDA_SUCCESS &&
      kind == CU_MEMORYTYPE_HOST;
}

/* Copies between a device and host memory that another library may have page-locked, and waits for the copy. */
static CUresult copy_now(cu_device* d, copy_side from, copy_side to, size_t nbytes, CUstream stream) {
  copy_side host = from.d == NULL ? from : to, device = from.d == NULL ? to : from;
  CUresult rc;
  if (!is_page_locked(host) && tvmgo_cu_copy_staged(d, (void*)(uintptr_t)host.at, device.at, nbytes, from.d == NULL,
                                                    stream, &rc))
    return rc;
  rc = queue(d, from, to, nbytes, stream);
  return rc == CUDA_SUCCESS ? cuStreamSynchronize(stream) : rc;
}

/* Waits for the stream, then copies between ordinary and page-locked host memory. */
static CUresult copy_on_host(copy_side from, copy_side to, size_t nbytes, CUstream stream) {
  CUresult rc = cuStreamSynchronize(stream);
  if (rc == CUDA_SUCCESS) memmove((void*)(uintptr_t)to.at, (const void*)(uintptr_t)from.at, nbytes);
  return rc;
}

static const char* name_of(copy_side p) { return p.d == NULL ? "the host" : tvmgo_cu_space_name(p.space); }

int tvmgo_cu_copy(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream) {
  size_t nbytes;
  copy_side a, b;
  cu_scope s;
  if (tvmgo_dl_bytes(from, &nbytes) != 0 || side_of(from, "source", &a) != 0 || side_of(to, "destination", &b) != 0)
    return -1;
  if (nbytes == 0) return 0;
  if (tvmgo_cu_check_stream(stream, "copy") != 0) return -1;
  if (is_device(a) && is_device(b) && a.d != b.d) return copy_across(a, b, nbytes, stream);
  cu_device* d = is_device(a) || b.d == NULL ? a.d : is_device(b) || a.d == NULL ? b.d : a.space == SPACE_MANAGED ||
      b.space == SPACE_HOST ? a.d : b.d;
  if (d == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "copy: neither the source nor the destination is on a CUDA device");
  d = tvmgo_cu_device_of_stream(stream, d);
  /* the relaxed mode, because the copy may wait or allocate temporary memory */
  if (tvmgo_cu_enter_relaxed(d, &s) != 0) return -1;
  int waits = a.d == NULL || b.d == NULL, raised = 0;
  CUresult rc = CUDA_SUCCESS;
  raised = tvmgo_cu_check_default_stream("copy", d, stream);
  if (raised == 0 && waits && tvmgo_cu_is_capturing(stream)) {
    waits = 0; /* the copy is only captured, and the caller keeps the memory alive */
    if ((a.d == NULL && !is_page_locked(a)) || (b.d == NULL && !is_page_locked(b)))
      raised = tvmgo_raise(TVMGO_VALUE_ERROR,
                           "copy: stream %p captures a graph, in which ordinary host memory cannot be copied: use "
                           "page-locked memory (runtime.NewPinnedTensor, or a tensor on cuda_host)",
                           stream);
  }
  if (raised == 0) {
    rc = !waits                     ? queue(d, a, b, nbytes, stream)
         : is_host(a) && is_host(b) ? copy_on_host(a, b, nbytes, stream)
                                    : copy_now(d, a, b, nbytes, stream);
  }
  tvmgo_cu_leave(&s);
  if (raised != 0 || rc == CUDA_SUCCESS) return raised;
  return tvmgo_cu_raise_waited(rc, d, stream, "copy %zu bytes from %s to %s, with a stream of cuda:%d", nbytes,
                               name_of(a), name_of(b), (int)d->index);
}
