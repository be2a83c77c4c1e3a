// Memory pools, and memory that is allocated and freed in stream order.
#include <stdlib.h>

#include "fake.h"

enum { RELEASE_THRESHOLD = 4, RESERVED_CURRENT = 5, RESERVED_HIGH = 6, USED_CURRENT = 7, USED_HIGH = 8 };

static pool *pools; // also destroyed ones: memory may still be returned to them

static pool *pool_make(int device) {
  pool *p = calloc(1, sizeof *p);
  p->device = device;
  for (int i = 1; i <= 3; i++) p->attributes[i] = 1;
  object_add(&p->o, POOL, NULL);
  p->next = pools;
  pools = p;
  return p;
}

CUresult pool_take(pool *p, size_t bytes) {
  device_state *d = &devices[p->device];
  size_t old = bytes < p->cached ? bytes : p->cached, fresh = bytes - old;
  if (fresh > (size_t)config.memory || d->used + d->cached + fresh > (size_t)config.memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  p->cached -= old;
  d->cached -= old;
  d->used += bytes;
  p->used += bytes;
  if (p->used > p->used_high) p->used_high = p->used;
  if (p->used + p->cached > p->reserved_high) p->reserved_high = p->used + p->cached;
  return CUDA_SUCCESS;
}

void pool_give(pool *p, size_t bytes) {
  p->used -= bytes;
  p->cached += bytes;
  devices[p->device].used -= bytes;
  devices[p->device].cached += bytes;
}

static void trim(pool *p, size_t keep) {
  size_t reserved = p->used + p->cached, excess = reserved > keep ? reserved - keep : 0;
  if (excess > p->cached) excess = p->cached;
  p->cached -= excess;
  devices[p->device].cached -= excess;
}

// At each synchronization, every pool releases unused memory above its threshold.
void pools_trim(void) {
  for (pool *p = pools; p; p = p->next) {
    if (p->cached) trim(p, p->o.alive ? p->attributes[RELEASE_THRESHOLD] : 0);
  }
}

void pools_reset(void) { pools = NULL; }

API CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props) {
  ENTER(F_UNSAFE);
  if (!out || !props || props->allocType != 1 || props->location.type != 1) return CUDA_ERROR_INVALID_VALUE;
  if (!device_ok(&g, props->location.id)) return CUDA_ERROR_INVALID_VALUE;
  *out = pool_make(props->location.id);
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  ENTER(F_RELEASE);
  pool *p = object_find(&g, handle, POOL);
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  if (p->used) report("%s: %s has %zu bytes in use", g.name, object_name(&p->o), p->used);
  trim(p, 0);
  object_kill(&p->o);
  return g.fault;
}

API CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int attribute, void *value) {
  ENTER(F_UNSAFE);
  pool *p = object_find(&g, handle, POOL);
  if (!p || !value || attribute < 1 || attribute > 8) return CUDA_ERROR_INVALID_VALUE;
  uint64_t values[] = {p->used + p->cached, p->reserved_high, p->used, p->used_high};
  if (attribute <= 3) {
    *(int *)value = (int)p->attributes[attribute];
  } else {
    *(uint64_t *)value = attribute == RELEASE_THRESHOLD ? p->attributes[attribute]
        : values[attribute - RESERVED_CURRENT];
  }
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolSetAttribute(CUmemoryPool handle, int attribute, void *value) {
  ENTER(F_UNSAFE);
  pool *p = object_find(&g, handle, POOL);
  if (!p || !value || attribute < 1 || attribute > 8) return CUDA_ERROR_INVALID_VALUE;
  if (attribute <= 3) {
    p->attributes[attribute] = (uint64_t) * (int *)value;
  } else if (attribute == RELEASE_THRESHOLD) {
    p->attributes[attribute] = *(uint64_t *)value;
  } else if (*(uint64_t *)value || attribute == RESERVED_CURRENT || attribute == USED_CURRENT) {
    return CUDA_ERROR_INVALID_VALUE; // of these, only the high-water marks can be set, and only to 0
  } else if (attribute == USED_HIGH) {
    p->used_high = p->used;
  } else {
    p->reserved_high = p->used + p->cached;
  }
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  ENTER(F_UNSAFE);
  pool *p = object_find(&g, handle, POOL);
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  trim(p, keep);
  return CUDA_SUCCESS;
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool handle, CUstream on) {
  ENTER(0);
  pool *p = object_find(&g, handle, POOL);
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  stream *s;
  block *b;
  CUresult result = stream_find(&g, on, &s);
  if (result) return result;
  if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
  if (s->capture) return capture_touch(&g, s); // the fake does not support memory nodes
  if (capture_implicit(&g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  result = block_make_device(s->o.ctx, p->device, p, bytes, &b);
  if (result) return result;
  // The memory can be used once the stream executes the allocation, which counts as a write to all of its bytes.
  op *o = op_enqueue(s, (work){.kind = DO_MARK, .call = g.name}, NULL, 0);
  order_access(b, 0, b->size, true, o);
  op_drop(o);
  *out = b->base;
  return CUDA_SUCCESS;
}

API CUresult cuMemFreeAsync(CUdeviceptr at, CUstream on) {
  ENTER(F_RELEASE);
  stream *s;
  CUresult result = stream_find(&g, on, &s);
  if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_CONTEXT) return result;
  if (!at) return g.fault ? g.fault : result;
  block *b = block_find(at);
  if (!b || b->freed_by || b->base != at || !b->pool) {
    block *old = b ? b : block_of(at);
    report("%s: 0x%llx %s%s", g.name, at, old && old->freed_by
        ? "was freed before, by " : "is not the begin of memory that cuMemAllocFromPoolAsync gave", old && old->freed_by
            ? old->freed_by : "");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (s->capture) return capture_touch(&g, s);
  if (capture_implicit(&g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (guard_keeps(&g)) return g.fault;
  op_drop(op_enqueue(s, (work){.kind = DO_FREE, .call = g.name, .block = b}, NULL, 0));
  b->freed = true;
  b->freed_by = g.name;
  if (b->pool) pool_give(b->pool, (b->size + 511) / 512 * 512); // later work of the stream can reuse it
  return g.fault ? g.fault : result;
}
