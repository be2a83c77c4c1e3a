// Copies and memsets. Pageable host memory is read during the call, or written before it returns. Page-locked memory is
// recognized by its address, and accessed when the stream executes the copy.
#include <stdlib.h>

#include "fake.h"

typedef enum { TO_DEVICE, TO_HOST, IN_DEVICE, ANY } direction;

static bool page_locked(const block *b) { return b && b->kind == HOST_MEMORY; }

static bool contains(const block *b, CUdeviceptr at, size_t bytes) { return at + bytes <= b->base + b->size; }

static CUresult copy(const guard *g, CUdeviceptr dst, CUdeviceptr src, size_t bytes, direction way, stream *s,
                     bool async) {
  block *d, *f;
  CUresult result = range_check(g, "destination", dst, bytes, way == TO_HOST || way == ANY, &d);
  if (!result) result = range_check(g, "source", src, bytes, way == TO_DEVICE || way == ANY, &f);
  if (result) return result;
  if (!bytes) return CUDA_SUCCESS;
  bool from_plain = !f || !contains(f, src, bytes), to_plain = !d || !contains(d, dst, bytes);
  work w = {.kind = DO_COPY, .call = g->name, .dst = dst, .src = src, .bytes = bytes};
  if (s->capture) {
    if (from_plain || to_plain) {
      if (s->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      report("%s: plain memory of the host cannot take part in a capture", g->name);
      capture_break(s->capture);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return stream_do(g, s, w);
  }
  if (capture_implicit(g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (!async && capture_forbids(g->name)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (from_plain) {
    w.staged = malloc(bytes);
    memcpy(w.staged, (void *)(uintptr_t)src, bytes);
    w.src = 0;
  } else if (page_locked(f) && !order_pending(f, src - f->base, src - f->base + bytes, true)) {
    w.summed = true;
    w.checksum = bytes_sum((void *)(uintptr_t)src, bytes);
  }
  // Until the copy is complete, the content of its destination is undefined: here it is neither the old nor the new
  // bytes.
  if (config.poison && async && page_locked(d) && !order_pending(d, dst - d->base, dst - d->base + bytes, false)) {
    memset((void *)(uintptr_t)dst, 0xDB, bytes);
  }
  op *o = op_enqueue(s, w, NULL, 0);
  // A copy from pageable memory need not wait until the device has the bytes. A copy within devices does not wait at
  // all.
  bool waits = to_plain || (!async && (page_locked(d) || page_locked(f)));
  if (waits) {
    op_wait(o);
    result = context_state(s->o.ctx);
  }
  op_drop(o);
  return result;
}

static CUdeviceptr host(const void *p) { return (CUdeviceptr)(uintptr_t)p; }

// A copy without a stream uses the default stream.
static CUresult now(const guard *g, CUdeviceptr dst, CUdeviceptr src, size_t bytes, direction way) {
  return copy(g, dst, src, bytes, way, g->ctx->legacy, false);
}

static CUresult later(const guard *g, CUdeviceptr dst, CUdeviceptr src, size_t bytes, direction way, CUstream on) {
  stream *s;
  CUresult result = stream_find(g, on, &s);
  return result ? result : copy(g, dst, src, bytes, way, s, true);
}

API CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes) {
  ENTER(F_CTX);
  return now(&g, host(dst), src, bytes, TO_HOST);
}

API CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on) {
  ENTER(F_CTX);
  return later(&g, dst, src, bytes, ANY, on);
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream on) {
  ENTER(F_CTX);
  return later(&g, dst, host(src), bytes, TO_DEVICE, on);
}

API CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream on) {
  ENTER(F_CTX);
  return later(&g, host(dst), src, bytes, TO_HOST, on);
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on) {
  ENTER(F_CTX);
  return later(&g, dst, src, bytes, IN_DEVICE, on);
}

// Source and destination must belong to the devices of their contexts.
static bool peers(const guard *g, CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from) {
  context *a = object_find(g, to, CONTEXT), *b = object_find(g, from, CONTEXT);
  block *d = block_find(dst), *f = block_find(src);
  if (!a || !b) return false;
  if ((d && d->kind == DEVICE_MEMORY && d->device != a->device) || (f && f->kind == DEVICE_MEMORY &&
      f->device != b->device)) {
    report("%s: memory of another device than its context's", g->name);
    return false;
  }
  return true;
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes,
                               CUstream on) {
  ENTER(F_CTX);
  return peers(&g, dst, to, src, from) ? later(&g, dst, src, bytes, IN_DEVICE, on) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream on) {
  ENTER(F_CTX);
  stream *s;
  CUresult result = stream_find(&g, on, &s);
  if (!result && dst % 4) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) result = range_check(&g, "destination", dst, 4 * count, false, NULL);
  if (result || !count) return result;
  return stream_do(&g, s, (work){.kind = DO_SET, .dst = dst, .value = value, .bytes = 4 * count});
}
