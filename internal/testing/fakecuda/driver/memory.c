// Memory: live allocations by address. As on a real machine, the host cannot use a device address: it lies in a range
// without access permission, and the bytes are in a second range at a fixed distance.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fake.h"

#define ARENA (1ull << 36) // size of the address range of one device
#define ALIGNMENT 512
#define GAP 4096 // unused bytes after each allocation, so that an access beyond its end is detected

static unsigned char *numbers[MAX_DEVICES], *bytes_of[MAX_DEVICES];
static size_t cursor[MAX_DEVICES];
block **blocks;
int nblocks;
static int capblocks;
static block *dead[4096];
static unsigned ndead;

static void *reserve(int protection) {
  void *p = mmap(NULL, ARENA, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    perror("fakecuda: reserve addresses");
    abort();
  }
  return p;
}

void *host_address(CUdeviceptr at) {
  for (int d = 0; d < MAX_DEVICES; d++) {
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)__atomic_load_n(&numbers[d], __ATOMIC_ACQUIRE);
    if (base && at >= base && at < base + ARENA) return bytes_of[d] + (at - base);
  }
  return (void *)(uintptr_t)at;
}

// The first block that ends after an address.
static int first_after(CUdeviceptr at) {
  int lo = 0, hi = nblocks;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (blocks[mid]->base + (blocks[mid]->size ? blocks[mid]->size : 1) <= at) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

block *block_find(CUdeviceptr at) {
  int i = first_after(at);
  return i < nblocks && blocks[i]->base <= at ? blocks[i] : NULL;
}

block *block_of(CUdeviceptr at) {
  block *b = block_find(at);
  for (unsigned i = 0; !b && i < 4096; i++) {
    block *d = dead[(ndead - 1 - i) % 4096];
    if (d && d->base <= at && at < d->base + d->size) b = d;
  }
  return b;
}

static void block_add(block *b) {
  if (nblocks == capblocks) {
    capblocks = capblocks ? 2 * capblocks : 64;
    blocks = realloc(blocks, (size_t)capblocks * sizeof *blocks);
  }
  int i = first_after(b->base);
  memmove(blocks + i + 1, blocks + i, (size_t)(nblocks - i) * sizeof *blocks);
  blocks[i] = b;
  nblocks++;
}

// Finds a free part of a device's address range, as far as possible from recently freed memory.
static CUdeviceptr place(int device, size_t bytes) {
  if (!numbers[device]) {
    bytes_of[device] = reserve(PROT_READ | PROT_WRITE);
    __atomic_store_n(&numbers[device], reserve(PROT_NONE), __ATOMIC_RELEASE);
  }
  CUdeviceptr base = (CUdeviceptr)(uintptr_t)numbers[device], at = base + cursor[device];
  for (int round = 0; round < 2; round++, at = base) {
    while (at + bytes + GAP <= base + ARENA) {
      int i = first_after(at);
      if (i == nblocks || blocks[i]->base >= at + bytes + GAP) {
        cursor[device] = (at - base + bytes + GAP + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return at;
      }
      at = (blocks[i]->base + blocks[i]->size + GAP + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
  }
  return 0;
}

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

CUresult block_make_device(context *c, int device, pool *p, size_t bytes, block **out) {
  CUresult result = CUDA_SUCCESS;
  device_state *d = &devices[device];
  if (p) {
    result = pool_take(p, rounded(bytes));
  } else {
    pools_trim();
    if (bytes > (size_t)config.memory || d->used + d->cached + rounded(bytes) > (size_t)config.memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    d->used += rounded(bytes);
  }
  if (result) return result;
  block *b = calloc(1, sizeof *b);
  *b = (block){.base = place(device, bytes), .size = bytes, .kind = DEVICE_MEMORY, .ctx = c, .device = device,
               .pool = p};
  if (!b->base) abort(); // cannot happen: the range is much larger than the memory
  memset(host_address(b->base), 0xCB, bytes < 1 << 20 ? bytes : 1 << 20); // new memory contains garbage
  block_add(b);
  *out = b;
  return CUDA_SUCCESS;
}

static block *block_make_host(context *c, block_kind kind, void *p, size_t bytes) {
  block *b = calloc(1, sizeof *b);
  *b = (block){.base = (CUdeviceptr)(uintptr_t)p, .size = bytes, .kind = kind, .ctx = c, .device = c->device};
  block_add(b);
  return b;
}

void block_release(block *b, const char *call) {
  int i = first_after(b->base);
  memmove(blocks + i, blocks + i + 1, (size_t)(nblocks - i - 1) * sizeof *blocks);
  nblocks--;
  if (b->kind == DEVICE_MEMORY) {
    if (b->pool) {
      if (!b->freed) pool_give(b->pool, rounded(b->size));
    } else {
      devices[b->device].used -= rounded(b->size);
    }
    uintptr_t at = (uintptr_t)host_address(b->base), from = (at + 4095) & ~4095ull, to = (at + b->size) & ~4095ull;
    if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
  } else if (b->kind == HOST_MEMORY || b->kind == MANAGED_MEMORY) {
    if (b->kind == MANAGED_MEMORY) devices[b->device].used -= rounded(b->size);
    munmap((void *)(uintptr_t)b->base, (b->size + 4095) & ~4095ull);
  }
  b->freed_by = call;
  free(b->records);
  b->records = NULL;
  b->nrecords = b->caprecords = 0;
  block **place = &dead[ndead++ % 4096];
  free(*place);
  *place = b;
}

void block_wait(block *b) {
  while (order_pending(b, 0, b->size, false)) pthread_cond_wait(&fake_changed, &fake_lock);
}

void memory_reset(void) {
  while (nblocks) block_release(blocks[nblocks - 1], "reset");
  for (int i = 0; i < 4096; i++) {
    free(dead[i]);
    dead[i] = NULL;
  }
}

// Whether the system has reused the address: it often places the next mapping where memory was freed last.
static bool is_mapped(CUdeviceptr at) {
  unsigned char there;
  return mincore((void *)(uintptr_t)(at & ~4095ull), 1, &there) == 0;
}

CUresult range_check(const guard *g, const char *what, CUdeviceptr at, size_t bytes, bool host, block **out) {
  block *b = block_find(at);
  if (out) *out = b;
  if (!b) {
    block *old = block_of(at);
    bool in_arena = host_address(at) != (void *)(uintptr_t)at;
    if (host && at && !in_arena && (!old || is_mapped(at))) return CUDA_SUCCESS;
    if (old) {
      report("%s: %s 0x%llx is memory that %s freed", g->name, what, at, old->freed_by);
    } else {
      report("%s: %s 0x%llx is no memory of an allocation", g->name, what, at);
    }
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (b->freed) {
    report("%s: %s 0x%llx is memory that %s freed", g->name, what, at, b->freed_by);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (bytes > b->base + b->size - at) {
    report("%s: %s of %zu bytes at 0x%llx goes beyond its allocation of %zu bytes at 0x%llx", g->name, what, bytes, at,
           b->size,
        b->base);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

API CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
  ENTER(F_CTX);
  device_state *d = &devices[g.ctx->device];
  if (available) *available = (size_t)config.memory - d->used - d->cached;
  if (total) *total = 150109880320ull;
  return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  ENTER(F_CTX | F_UNSAFE);
  block *b;
  if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = block_make_device(g.ctx, g.ctx->device, NULL, bytes, &b);
  if (!result) *out = b->base;
  return result;
}

API CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags) {
  ENTER(F_CTX | F_UNSAFE);
  if (!out || !bytes || (flags != 1 && flags != 2)) return CUDA_ERROR_INVALID_VALUE;
  device_state *d = &devices[g.ctx->device];
  if (d->used + d->cached + rounded(bytes) > (size_t)config.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  d->used += rounded(bytes);
  *out = block_make_host(g.ctx, MANAGED_MEMORY, p, bytes)->base;
  return CUDA_SUCCESS;
}

// Before the driver frees memory, it waits for the work of the memory's own context, but not for the work of other
// contexts. If the memory belongs to a pool, it does not wait at all.
static void check_unused(const guard *g, const block *b) {
  const record *r = order_pending_unawaited(b, b->pool ? NULL : b->ctx);
  if (r)
    report("%s: 0x%llx is still used by %s on %s, for which it does not wait", g->name, b->base, r->call,
           object_name(r->stream));
}

API CUresult cuMemFree_v2(CUdeviceptr at) {
  ENTER(F_RELEASE | F_CTX | F_UNSAFE);
  if (!at) return g.fault;
  block *b = block_find(at);
  if (!b || b->freed || b->base != at || b->kind > MANAGED_MEMORY || b->module) {
    block *old = b ? b : block_of(at);
    report("%s: 0x%llx %s%s", g.name, at,
           old && old->freed_by ? "was freed before, by " : b
               ? "is not the begin of memory that it can free" : "was never allocated",
           old && old->freed_by ? old->freed_by : "");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (guard_keeps(&g)) return g.fault;
  check_unused(&g, b);
  b->freed_by = g.name; // no other thread can free it while this call waits
  block_wait(b);
  block_release(b, g.name);
  return g.fault;
}

API CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  ENTER(F_CTX | F_UNSAFE);
  if (!out || !bytes || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  block_make_host(g.ctx, HOST_MEMORY, p, bytes);
  *out = p;
  return CUDA_SUCCESS;
}

API CUresult cuMemFreeHost(void *p) {
  ENTER(F_RELEASE | F_CTX | F_UNSAFE);
  if (!p) return g.fault;
  block *b = block_of((CUdeviceptr)(uintptr_t)p);
  if (!b || b->freed_by || b->kind != HOST_MEMORY || b->base != (CUdeviceptr)(uintptr_t)p) {
    report("%s: %p %s%s", g.name, p, b && b->freed_by ? "was freed before, by "
           : "is not memory that cuMemHostAlloc gave", b &&
        b->freed_by ? b->freed_by : "");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (guard_keeps(&g)) return g.fault;
  check_unused(&g, b);
  b->freed_by = g.name;
  block_wait(b);
  block_release(b, g.name);
  return g.fault;
}

// Memory that the driver did not allocate is an error, as with a real driver.
API CUresult cuPointerGetAttribute(void *out, int what, CUdeviceptr at) {
  ENTER(F_CTX);
  const block *b = block_find(at);
  if (!b || !out || what != 2) return CUDA_ERROR_INVALID_VALUE;
  *(unsigned *)out = b->freed ? 0 : b->kind == HOST_MEMORY ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}
