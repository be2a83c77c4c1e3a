// Kernels: their attributes, and launches within the limits of the device.
#include <stdlib.h>

#include "fake.h"

#define STATIC_SHARED 49152u
#define MOST_SHARED 232448u

static unsigned most_threads(const function *f) {
  unsigned most = f->kernel->max_threads ? f->kernel->max_threads : 1024;
  return f->entry->max_threads && f->entry->max_threads < most ? f->entry->max_threads : most;
}

static unsigned registers(const function *f) { return f->kernel->registers ? f->kernel->registers : 32; }

static unsigned most_dynamic(const function *f) {
  unsigned standard = STATIC_SHARED - f->kernel->static_shared;
  return f->max_dynamic > (int)standard ? (unsigned)f->max_dynamic : standard;
}

API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction handle) {
  ENTER(F_CTX);
  function *f = object_find(&g, handle, FUNCTION);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case 0: *value = (int)most_threads(f); break;
    case 1: *value = (int)f->kernel->static_shared; break;
    case 2: case 3: *value = 0; break;
    case 4: *value = (int)registers(f); break;
    case 5: *value = f->module->image.ptx_arch; break;
    case 6: *value = f->module->image.binary_arch; break;
    case 7: *value = 0; break;
    case 8: *value = (int)most_dynamic(f); break;
    case 9: *value = f->carveout; break;
    case 14: *value = f->nonportable_cluster; break;
    case 10: case 11: case 12: case 13: case 15: *value = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

API CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
  ENTER(F_CTX);
  function *f = object_find(&g, handle, FUNCTION);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute == 8 && value >= 0 && (unsigned)value <= MOST_SHARED - f->kernel->static_shared) {
    f->max_dynamic = value;
  } else if (attribute == 9 && value >= -1 && value <= 100) {
    f->carveout = value;
  } else if (attribute == 14 && (value == 0 || value == 1)) {
    f->nonportable_cluster = value;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

static unsigned up(unsigned n, unsigned unit) { return (n + unit - 1) / unit * unit; }

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads, size_t dynamic) {
  ENTER(F_CTX);
  function *f = object_find(&g, handle, FUNCTION);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!blocks || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  unsigned warps = up((unsigned)threads, 32) / 32, most = 64 / warps;
  unsigned by_registers = 65536 / (up(registers(f), 8) * 32) / warps;
  unsigned by_shared = 233472 / (up(f->kernel->static_shared + (unsigned)dynamic, 128) + 1024);
  if (most > 32) most = 32;
  if (most > by_registers) most = by_registers;
  if (most > by_shared) most = by_shared;
  *blocks = (int)most;
  return CUDA_SUCCESS;
}

static CUresult limits(const guard *g, const function *f, const fakecuda_launch *l) {
  static const uint32_t most_grid[3] = {2147483647, 65535, 65535}, most_block[3] = {1024, 1024, 64};
  const char *name = f->entry->name;
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    if (!l->grid[i] || l->grid[i] > most_grid[i] || !l->block[i] || l->block[i] > most_block[i]) {
      report("%s: kernel %s on a grid of (%u, %u, %u) with blocks of (%u, %u, %u)", g->name, name, l->grid[0],
             l->grid[1],
          l->grid[2],
             l->block[0], l->block[1], l->block[2]);
      return CUDA_ERROR_INVALID_VALUE;
    }
    threads *= l->block[i];
  }
  if (threads > most_threads(f)) {
    report("%s: kernel %s with %llu threads a block, %u are possible", g->name, name, (unsigned long long)threads,
        most_threads(f));
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (threads * registers(f) > 65536) {
    report("%s: kernel %s needs %u registers a thread, too many for %llu threads", g->name, name, registers(f),
        (unsigned long long)threads);
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  if (l->shared > most_dynamic(f)) {
    report("%s: kernel %s with %u bytes of dynamic shared memory, %u are allowed: cuFuncSetAttribute allows more",
           g->name,
        name, l->shared, most_dynamic(f));
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint32_t cluster = l->cluster[0] * l->cluster[1] * l->cluster[2];
  if (!cluster || cluster > (f->nonportable_cluster ? 16u : 8u) || l->grid[0] % l->cluster[0] ||
      l->grid[1] % l->cluster[1] ||
      l->grid[2] % l->cluster[2]) {
    report("%s: kernel %s with clusters of (%u, %u, %u)", g->name, name, l->cluster[0], l->cluster[1], l->cluster[2]);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

static int blocks_per_multiprocessor(const function *f, int threads, size_t shared) {
  if (threads < 1 || (unsigned)threads > most_threads(f)) return 0;
  unsigned warps = ((unsigned)threads + 31) / 32, most = 2048 / 32 / warps,
      by_registers = 65536 / (registers(f) * 32 * warps);
  size_t bytes = shared + f->kernel->static_shared + 1024; // 1 KiB of each block is reserved for the system
  if (most > 32) most = 32;
  if (most > by_registers) most = by_registers;
  if (most > 233472 / bytes) most = (unsigned)(233472 / bytes);
  return (int)most;
}

// Copies the values of the parameters during the call, from kernelParams, or from the buffer of extra, which has the
// layout of a C struct.
static CUresult take_params(const guard *g, const function *f, void **params, void **extra, unsigned char *out) {
  const fakecuda_kernel *k = f->kernel;
  const unsigned char *buffer = NULL;
  size_t size = 0, at = 0, from = 0;
  if (extra && params) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; extra && extra[i]; i += 2) {
    if (extra[i] == (void *)1) buffer = extra[i + 1];
    if (extra[i] == (void *)2) size = *(const size_t *)extra[i + 1];
  }
  if (k->nparams && !params && !buffer) {
    report("%s: kernel %s without its %u parameters", g->name, f->entry->name, k->nparams);
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (uint32_t i = 0; i < k->nparams; i++) {
    uint32_t n = k->params[i].size, align = n >= 8 ? 8 : n ? n : 1;
    from = (from + align - 1) / align * align;
    const void *value = buffer ? buffer + from : params[i];
    if (buffer ? from + n > size : !value) {
      report("%s: kernel %s without a value for parameter %u", g->name, f->entry->name, i);
      return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(out + at, value, n);
    at += (n + 7) / 8 * 8;
    from += n;
  }
  return CUDA_SUCCESS;
}

static CUresult launch(const guard *g, CUfunction handle, fakecuda_launch l, CUstream on, void **params, void **extra,
    bool cooperative) {
  function *f = object_find(g, handle, FUNCTION);
  stream *s;
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = stream_find(g, on, &s);
  if (result) return result;
  if (s->o.ctx != f->o.ctx) {
    report("%s: kernel %s is of %s, %s of %s", g->name, f->entry->name, object_name(&f->o.ctx->o), object_name(&s->o),
        object_name(&s->o.ctx->o));
    return CUDA_ERROR_INVALID_HANDLE;
  }
  result = limits(g, f, &l);
  if (result) return result;
  if (cooperative) {
    uint64_t grid = (uint64_t)l.grid[0] * l.grid[1] * l.grid[2];
    if (grid > 132u * (unsigned)blocks_per_multiprocessor(f, (int)(l.block[0] * l.block[1] * l.block[2]), l.shared))
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  l.device = s->o.ctx->device;
  work w = {.kind = DO_KERNEL, .function = f, .launch = l, .params = calloc(1, PARAM_BYTES)};
  result = take_params(g, f, params, extra, w.params);
  if (result) {
    free(w.params);
    return result;
  }
  return stream_do(g, s, w);
}

API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared,
                            CUstream on, void **params, void **extra) {
  ENTER(F_CTX);
  fakecuda_launch l = {{gx, gy, gz}, {bx, by, bz}, {1, 1, 1}, shared, 0, NULL, NULL, NULL, NULL};
  return launch(&g, f, l, on, params, extra, false);
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra) {
  ENTER(F_CTX);
  if (!c || (c->nattributes && !c->attributes)) return CUDA_ERROR_INVALID_VALUE;
  fakecuda_launch l = {{c->grid[0], c->grid[1], c->grid[2]}, {c->block[0], c->block[1], c->block[2]}, {1, 1, 1},
                       c->shared, 0,
      NULL, NULL, NULL, NULL};
  bool cooperative = false;
  for (unsigned i = 0; i < c->nattributes; i++) {
    const CUlaunchAttribute *a = &c->attributes[i];
    if (a->id < 0 || a->id > 18) return CUDA_ERROR_INVALID_VALUE;
    if (a->id == LAUNCH_COOPERATIVE) cooperative = a->value.cooperative != 0;
    if (a->id == LAUNCH_CLUSTER) {
      l.cluster[0] = a->value.cluster.x;
      l.cluster[1] = a->value.cluster.y;
      l.cluster[2] = a->value.cluster.z;
    }
  }
  return launch(&g, f, l, c->stream, params, extra, cooperative);
}
