// Memory: the compiler calls these functions before each load and store of a kernel (it instruments them as for the
// thread sanitizer). Each byte of shared memory, and each element of global memory that the kernel may write, has a
// record of the last write and of two reads. Two accesses by different threads, one of which is a write, must be
// ordered by a barrier between them, in whatever order the threads run here.
#include <stdlib.h>
#include <string.h>

#include "engine.h"

namespace cudarun {

uint32_t launch_clock;

constexpr uint32_t kAtomic = 1u << 10, kInFlight = 0xFFFFFFFFu, kMaxClock = 1u << 20;
struct area {
  char *base;
  size_t bytes, granule; // bytes of a record's element
  bool writes;           // the kernel may write it
  record *records;
};

alignas(1024) char dynamic_area[2 * kRedZone + kMaxDynamic];
static record dynamic_records[kMaxDynamic];
static size_t dynamic_bytes;
static library *lib; // of the kernel that runs
static area areas[FAKECUDA_MAX_PARAMS];
static int nareas;
static bool fenced;
static struct { uint32_t clock; uint3 index; } *blocks; // of this launch, to name them
static size_t nblocks, capblocks;

static uint32_t now(bool atomic) {
  return current->clock << 11 | (atomic ? kAtomic : 0) | static_cast<uint32_t>(current->linear);
}

// Whether an access certainly happened before one that the current thread makes now. since is the first clock that
// counts: of the block for shared memory, of the launch for global memory.
static bool ordered(uint32_t id, uint32_t since) {
  uint32_t t = id & 1023, clock = id >> 11;
  if (clock < since) return true;
  if (clock < first_clock) return false; // of another block
  if (t == static_cast<uint32_t>(current->linear) || clock < barrier_clock) return true;
  return static_cast<int>(t / kLanes) == current->warp && clock < known[current->linear][t % kLanes];
}

static bool conflicts(uint32_t earlier, uint32_t mine, uint32_t since) {
  return !ordered(earlier, since) && !(earlier & kAtomic && mine & kAtomic);
}

static const char *who(uint32_t id) {
  static char text[160];
  uint32_t clock = id >> 11;
  size_t i = nblocks;
  while (i > 0 && blocks[i - 1].clock > clock) i--;
  uint3 b = i ? blocks[i - 1].index : uint3{0, 0, 0};
  const char *t = thread_name(static_cast<int>(id & 1023));
  if (clock >= first_clock) return t;
  snprintf(text, sizeof text, "%s of block (%u, %u, %u)", t, b.x, b.y, b.z);
  return text;
}

static const char *shared_name(char *p, size_t *at);

// Reports a race at the i-th element from p on, whose index in its area is at.
[[noreturn]] static void race(const char *how, char *p, size_t i, size_t at, bool shared, uint32_t other,
                              const char *did, const void *pc) {
  bool here = other >> 11 >= first_clock;
  const char *what = "global memory, element";
  const char *fault = here ? "a barrier is missing between them" : "blocks have no order";
  if (shared) what = shared_name(p + i, &at);
  fail(kLaunchFailed, pc, "%s %s%s %zu, which %s %s: %s", how, what, shared ? ", byte" : "", at + (shared ? 0 : i),
       who(other), did, fault);
}

static void touch(record *r, char *p, size_t n, size_t at, bool writes, bool atomic, bool shared, const void *pc) {
  uint32_t mine = now(atomic), since = shared ? first_clock : launch_clock;
  for (size_t i = 0; i < n; i++, r++) {
    if (conflicts(r->written, mine, since)) {
      race(writes ? "writes" : "reads", p, i, at, shared, r->written, "has written", pc);
    }
    if (writes) {
      const uint32_t reads[] = {r->first, r->last};
      for (uint32_t read : reads) {
        if (conflicts(read, mine, since)) race("writes", p, i, at, shared, read, "has read", pc);
      }
      r->written = mine;
    } else if (ordered(r->first, since)) {
      r->first = mine;
    } else if ((r->first & 1023) != (mine & 1023)) {
      r->last = mine;
    }
  }
}

// ---- shared memory

static const char *shared_name(char *p, size_t *at) {
  if (p >= dynamic_area && p < dynamic_area + sizeof dynamic_area) {
    *at = static_cast<size_t>(p - dynamic_area) - kRedZone;
    return "dynamic shared memory";
  }
  static char text[256];
  size_t offset = static_cast<size_t>(p - lib->shared);
  const variable *v = offset < lib->bytes && lib->owners[offset] >= 0 ? &lib->variables[lib->owners[offset]] : nullptr;
  *at = v ? offset - v->offset : offset;
  snprintf(text, sizeof text, "shared memory %s", v ? v->name : "");
  return text;
}

// The records of n bytes at p; null if p is no shared memory. Bytes that belong to no variable are an error.
static record *shared_records(char *p, size_t n, const void *pc) {
  if (p >= dynamic_area && p < dynamic_area + sizeof dynamic_area) {
    ptrdiff_t at = p - dynamic_area - static_cast<ptrdiff_t>(kRedZone);
    if (at < 0 || static_cast<size_t>(at) + n > dynamic_bytes) {
      fail(kIllegalAddress, pc, "accesses byte %td of dynamic shared memory, which has %zu bytes", at, dynamic_bytes);
    }
    return dynamic_records + at;
  }
  if (!lib->bytes || p < lib->shared || p >= lib->shared + lib->bytes) return nullptr;
  size_t at = static_cast<size_t>(p - lib->shared);
  if (at + n > lib->bytes || lib->owners[at] < 0 || lib->owners[at] != lib->owners[at + n - 1]) {
    const variable *v = nullptr;
    for (int i = 0; i < lib->nvariables; i++) {
      if (lib->variables[i].offset <= at + n && (!v || lib->variables[i].offset > v->offset)) v = &lib->variables[i];
    }
    fail(kIllegalAddress, pc, "accesses %zu bytes at byte %td of shared memory %s, which has %zu bytes", n,
         static_cast<ptrdiff_t>(at) - static_cast<ptrdiff_t>(v ? v->offset : 0), v ? v->name : "", v ? v->bytes : 0);
  }
  return lib->records + at;
}

bool is_shared(const void *p, size_t n) {
  return shared_records(static_cast<char *>(const_cast<void *>(p)), n, nullptr) != nullptr;
}

static void shared_access(record *r, char *p, size_t n, bool writes, bool atomic, const void *pc) {
  size_t at;
  for (size_t i = 0; i < n; i++) {
    if (r[i].written == kInFlight) {
      const char *what = shared_name(p + i, &at);
      fail(kLaunchFailed, pc, "%s %s, byte %zu, into which an asynchronous copy is in flight: it is visible after "
           "cp.async.wait_group and a barrier", writes ? "writes" : "reads", what, at);
    }
    if ((!writes || atomic) && r[i].written >> 11 < first_clock) {
      const char *what = shared_name(p + i, &at);
      fail(kLaunchFailed, pc, "reads %s, byte %zu, which nothing in this block has written", what, at);
    }
  }
  touch(r, p, n, 0, writes, atomic, true, pc);
}

void shared_in_flight(char *p, size_t n, int line) {
  record *r = shared_records(p, n, nullptr);
  if (!r) fail_line(kIllegalAddress, line, "cp.async copies to memory that is not shared");
  memory_write(p, n, nullptr);
  for (size_t i = 0; i < n; i++) r[i].written = kInFlight;
}

void shared_landed(char *p, size_t n) {
  record *r = shared_records(p, n, nullptr);
  for (size_t i = 0; i < n; i++) r[i].written = now(false);
}

constexpr uint32_t kStaticWindow = 1u << 24, kDynamicWindow = 1u << 25;

uint32_t shared_offset(const void *pointer) {
  char *p = static_cast<char *>(const_cast<void *>(pointer));
  if (p >= dynamic_area && p <= dynamic_area + sizeof dynamic_area) {
    return kDynamicWindow + static_cast<uint32_t>(p - dynamic_area);
  }
  if (lib->bytes && p >= lib->shared && p <= lib->shared + lib->bytes) {
    return kStaticWindow + static_cast<uint32_t>(p - lib->shared);
  }
  fail(kIllegalAddress, nullptr, "converts an address that is not in shared memory to a shared address");
}

char *shared_pointer(uint32_t offset, size_t n) {
  char *p = offset >= kDynamicWindow ? dynamic_area + (offset - kDynamicWindow)
                                     : lib->shared + (offset - kStaticWindow);
  if (offset < kStaticWindow || offset >= kDynamicWindow + sizeof dynamic_area || !shared_records(p, n, nullptr)) {
    fail(kIllegalAddress, nullptr, "uses 0x%x as an address of shared memory", offset);
  }
  return p;
}

// ---- global memory

static void global_access(char *p, size_t n, bool writes, bool atomic, const void *pc) {
  for (int i = 0; i < nareas; i++) {
    area *a = &areas[i];
    if (p < a->base || p >= a->base + a->bytes) continue;
    size_t at = static_cast<size_t>(p - a->base);
    if (at + n > a->bytes) break;
    if (writes && !a->writes) fail(kIllegalAddress, pc, "writes to memory of a const pointer");
    if (!a->writes || fenced) return;
    size_t first = at / a->granule, last = (at + n - 1) / a->granule;
    touch(a->records + first, p, last - first + 1, first, writes, atomic, false, pc);
    return;
  }
  if (p >= lib->low && p < lib->high) return; // constants and variables of the module
  const area *nearest = nullptr;
  ptrdiff_t distance = 1 << 24;
  for (int i = 0; i < nareas; i++) {
    ptrdiff_t d = p < areas[i].base ? areas[i].base - p : p - (areas[i].base + areas[i].bytes);
    if (d < distance) distance = d, nearest = &areas[i];
  }
  if (nearest) {
    fail(kIllegalAddress, pc, "%s %zu bytes at byte %td of an allocation of %zu bytes", writes ? "writes" : "reads", n,
         p - nearest->base, nearest->bytes);
  }
  fail(kIllegalAddress, pc, "%s %zu bytes at %p, which is memory of no argument", writes ? "writes" : "reads", n,
       static_cast<void *>(p));
}

static void access(void *pointer, size_t n, bool writes, bool atomic, const void *pc) {
  char *p = static_cast<char *>(pointer);
  if (!current || n == 0) return;
  if (static_cast<size_t>(p - static_cast<char *>(current->stack)) < kStack) return;
  if (record *r = shared_records(p, n, pc)) {
    shared_access(r, p, n, writes, atomic, pc);
  } else {
    global_access(p, n, writes, atomic, pc);
  }
}

void memory_read(const void *p, size_t n, const void *pc) { access(const_cast<void *>(p), n, false, false, pc); }
void memory_write(void *p, size_t n, const void *pc) { access(p, n, true, false, pc); }
void memory_atomic(void *p, size_t n, const void *pc) {
  if (reinterpret_cast<uintptr_t>(p) % n) fail(kMisaligned, pc, "an atomic operation on %zu bytes at %p", n, p);
  access(p, n, true, true, pc);
}
void memory_fence(void) { fenced = true; }

// ---- launches and blocks

static void add_area(const fakecuda_launch *l, const fakecuda_kernel *k, uint32_t i) {
  char *base = static_cast<char *>(l->extents[i].base);
  size_t bytes = l->extents[i].bytes, granule = k->params[i].element ? k->params[i].element : 1;
  bool writes = k->params[i].access & FAKECUDA_WRITES;
  if (!bytes) return;
  for (int j = 0; j < nareas; j++) {
    area *a = &areas[j];
    if (base > a->base + a->bytes || a->base > base + bytes) continue;
    char *end = base + bytes > a->base + a->bytes ? base + bytes : a->base + a->bytes;
    a->base = base < a->base ? base : a->base;
    a->bytes = static_cast<size_t>(end - a->base);
    a->granule = granule < a->granule ? granule : a->granule;
    a->writes |= writes;
    return;
  }
  areas[nareas++] = area{base, bytes, granule, writes, nullptr};
}

static void forget(void) { // the records of shared memory
  memset(dynamic_records, 0, sizeof dynamic_records);
  for (library *l = libraries; l; l = l->next) memset(l->records, 0, l->bytes * sizeof *l->records);
}

void memory_begin(library *of, const fakecuda_launch *l, const fakecuda_kernel *k) {
  lib = of;
  nareas = 0;
  nblocks = 0;
  fenced = false;
  if (first_clock > kMaxClock || !first_clock) {
    forget();
    first_clock = 1;
  }
  launch_clock = first_clock;
  dynamic_bytes = l->shared;
  for (uint32_t i = 0; i < k->nparams; i++) {
    if (k->params[i].access) add_area(l, k, i);
  }
  for (int i = 0; i < nareas; i++) {
    area *a = &areas[i];
    if (a->writes) a->records = static_cast<record *>(calloc(a->bytes / a->granule + 1, sizeof(record)));
  }
}

void memory_end(void) {
  for (int i = 0; i < nareas; i++) free(areas[i].records);
  nareas = 0;
}

// Every format of floating point reads the bytes FF 7F FF 7F … as NaN.
static void poison(char *p, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = static_cast<char>(i % 2 ? 0x7F : 0xFF);
}

void *dynamic_shared(void) { return dynamic_area + kRedZone; }

void memory_block(uint3 block) {
  barrier_clock = first_clock;
  poison(dynamic_area + kRedZone, dynamic_bytes);
  if (lib->bytes) poison(lib->shared, lib->bytes);
  if (nblocks == capblocks) {
    capblocks = capblocks ? 2 * capblocks : 256;
    blocks = static_cast<decltype(blocks)>(realloc(blocks, capblocks * sizeof *blocks));
  }
  blocks[nblocks].clock = first_clock;
  blocks[nblocks++].index = block;
}

} // namespace cudarun
