// What an operation does when it runs, and which bytes it accesses.
#include <stdlib.h>

#include "fake.h"

static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_changed = PTHREAD_COND_INITIALIZER;
static bool released;

void wait_released(void) {
  pthread_mutex_lock(&hold_lock);
  while (!released) pthread_cond_wait(&hold_changed, &hold_lock);
  pthread_mutex_unlock(&hold_lock);
}

static void set_released(bool on) {
  pthread_mutex_lock(&hold_lock);
  released = on;
  pthread_cond_broadcast(&hold_changed);
  pthread_mutex_unlock(&hold_lock);
}

API void fakecuda_release(void) { set_released(true); }
API void fakecuda_hold(void) { set_released(false); }

uint64_t bytes_sum(const void *p, size_t n) {
  const unsigned char *at = p;
  uint64_t sum = 0xcbf29ce484222325u, word;
  for (; n >= 8; n -= 8, at += 8) {
    memcpy(&word, at, 8);
    sum = (sum ^ word) * 0x100000001b3u;
    sum ^= sum >> 29;
  }
  for (; n; n--) sum = (sum ^ *at++) * 0x100000001b3u;
  return sum;
}

work work_copy(const work *w) {
  work copy = *w;
  if (w->params) {
    copy.params = malloc(PARAM_BYTES);
    memcpy(copy.params, w->params, PARAM_BYTES);
  }
  return copy;
}

static size_t param_places(const work *w, const void **params) {
  size_t at = 0;
  for (uint32_t i = 0; i < w->function->kernel->nparams; i++) {
    params[i] = w->params + at;
    at += (w->function->kernel->params[i].size + 7) / 8 * 8;
  }
  return at;
}

static CUdeviceptr param_pointer(const void *value) {
  CUdeviceptr at;
  memcpy(&at, value, sizeof at);
  return at;
}

int work_accesses(const work *w, access_range *out) {
  int n = 0;
  if (w->kind == DO_COPY) {
    if (!w->staged && w->src) out[n++] = (access_range){w->src, w->bytes, false, "source"};
    out[n++] = (access_range){w->dst, w->bytes, true, "destination"};
  } else if (w->kind == DO_SET) {
    out[n++] = (access_range){w->dst, w->bytes, true, "destination"};
  } else if (w->kind == DO_FREE) {
    out[n++] = (access_range){w->block->base, w->block->size, true, "memory"};
  } else if (w->kind == DO_KERNEL) {
    const fakecuda_kernel *k = w->function->kernel;
    const void *params[FAKECUDA_MAX_PARAMS];
    param_places(w, params);
    fakecuda_launch l = w->launch;
    l.params = params;
    for (uint32_t i = 0; i < k->nparams; i++) {
      if (!k->params[i].access) continue;
      CUdeviceptr at = param_pointer(params[i]);
      block *b = block_find(at);
      size_t bytes = k->params[i].bytes ? k->params[i].bytes(&l) : b ? b->base + b->size - at : 1;
      if (!bytes) continue;
      out[n++] = (access_range){at, bytes, (k->params[i].access & FAKECUDA_WRITES) != 0, "parameter"};
    }
  }
  return n;
}

static void kernel_report(const char *text) {
  pthread_mutex_lock(&fake_lock);
  report("%s", text);
  pthread_mutex_unlock(&fake_lock);
}

static CUresult kernel_run(const work *w) {
  const fakecuda_kernel *k = w->function->kernel;
  const void *params[FAKECUDA_MAX_PARAMS];
  void *pointers[FAKECUDA_MAX_PARAMS];
  fakecuda_extent extents[FAKECUDA_MAX_PARAMS] = {{NULL, 0}};
  param_places(w, params);
  pthread_mutex_lock(&fake_lock);
  for (uint32_t i = 0; i < k->nparams; i++) {
    if (!k->params[i].access) continue;
    CUdeviceptr at = param_pointer(params[i]);
    block *b = block_find(at);
    if (b) extents[i] = (fakecuda_extent){host_address(b->base), b->size};
    pointers[i] = host_address(at);
    params[i] = &pointers[i];
  }
  pthread_mutex_unlock(&fake_lock);
  fakecuda_launch l = w->launch;
  l.params = params;
  l.extents = extents;
  l.wait_released = wait_released;
  l.report = kernel_report;
  return k->run(&l);
}

// A kernel's pointers must be valid when it runs: its memory may have been freed after the launch.
static CUresult kernel_check(const work *w, const stream *s) {
  access_range ranges[MAX_ACCESS];
  pthread_mutex_lock(&fake_lock);
  CUresult result = CUDA_SUCCESS;
  int n = work_accesses(w, ranges);
  for (int i = 0; i < n && !result; i++) {
    block *b = block_find(ranges[i].at);
    unsigned long long end = ranges[i].at + ranges[i].bytes;
    const char *name = w->function->kernel->name, *verb = ranges[i].write ? "writes" : "reads";
    if (!b || end > b->base + b->size) {
      block *old = b ? b : block_of(ranges[i].at);
      report("%s: kernel %s %s [0x%llx, 0x%llx), which is %s%s", w->call, name, verb, ranges[i].at, end,
             b ? "beyond the end of its allocation" : old ? "freed memory, by " : "memory of no allocation", !b &&
                 old &&
                 old->freed_by ? old->freed_by : "");
      result = CUDA_ERROR_ILLEGAL_ADDRESS;
    } else if (b->kind == DEVICE_MEMORY && b->device != s->o.ctx->device && !(s->o.ctx->peers & 1u << b->device)) {
      report("%s: kernel %s %s memory of device %d on device %d, without peer access", w->call, name, verb, b->device,
          s->o.ctx->device);
      result = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
  }
  pthread_mutex_unlock(&fake_lock);
  return result;
}

static void set_run(const work *w) {
  unsigned char *at = host_address(w->dst);
  for (size_t i = 0; i < w->bytes; i += 4) memcpy(at + i, &w->value, 4);
}

static void copy_run(const work *w) {
  const void *from = w->staged ? w->staged : host_address(w->src);
  if (w->summed && bytes_sum(from, w->bytes) != w->checksum) {
    pthread_mutex_lock(&fake_lock);
    report("%s: the host changed %zu bytes of page-locked memory at %p between the call and the copy", w->call,
           w->bytes, from);
    pthread_mutex_unlock(&fake_lock);
  }
  memmove(host_address(w->dst), from, w->bytes);
}

CUresult work_run(work *w, stream *s, CUresult status) {
  if (status) return status;
  switch (w->kind) {
    case DO_COPY: copy_run(w); break;
    case DO_SET: set_run(w); break;
    case DO_KERNEL:
      status = kernel_check(w, s);
      return status ? status : kernel_run(w);
    default: break;
  }
  return CUDA_SUCCESS;
}
