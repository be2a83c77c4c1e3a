/* Tests of the parts of this package that need no device, with a fake driver: the choice of a memory type, hazards, and
 * suballocation in blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../memory_type.h"
#include "../hazard.h"
#include "../memory.h"

static int failures;
#define CHECK(cond, ...)                        \
  do {                                          \
    if (!(cond)) {                              \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #cond); \
      printf(__VA_ARGS__);                      \
      printf("\n");                             \
      failures++;                               \
    }                                           \
  } while (0)

/* ---- the choice of a memory type ---- */

enum {
  L = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
  V = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
  C = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
  K = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
  AMD = VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD,
  LAZY = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT,
};

typedef struct {
  const char* name;
  VkPhysicalDeviceType kind;
  struct {
    uint32_t flags, heap;
  } types[12];
  uint32_t num_types;
  uint64_t heaps[4]; /* MiB */
  uint32_t bits;     /* the types that a buffer may use, as a bit mask; 0: all */
  int32_t data, upload, download;
} machine;

static const machine machines[] = {
    {"a card with a small window", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     {{0, 1}, {L, 0}, {V | C, 1}, {V | C | K, 1}, {L | V | C, 2}}, 5, {24576, 32768, 256}, 0, 1, 2, 3},
    {"a card whose memory the host sees whole", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     {{L | V | C, 0}, {V | C | K, 1}, {V | C, 1}, {L, 0}}, 4, {16384, 32768}, 0, 3, 2, 1},
    {"a card all of whose memory the host sees", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     {{V | C, 1}, {L | V | C, 0}, {V | C | K, 1}}, 3, {16384, 32768}, 0, 1, 0, 2},
    {"a card with types past its caches", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     {{L | AMD, 0}, {V | C | AMD, 1}, {L, 0}, {V | C, 1}, {V | C | K | AMD, 1}, {V | C | K, 1}}, 6, {16384, 32768}, 0,
         2, 3, 5},
    {"an integrated GPU", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
     {{L, 0}, {L | V | C, 0}, {L | V | C | K, 0}}, 3, {16384}, 0, 2, 1, 2},
    {"an integrated GPU with a part of its own", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
     {{V | C, 0}, {L, 1}, {L | V | C, 1}, {V | C | K, 0}}, 4, {8192, 16384}, 0, 2, 2, 3},
    {"a telephone whose cached memory is not coherent", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
     {{L, 0}, {L | V | C, 0}, {L | V | K, 0}, {L | LAZY, 0}}, 4, {4096}, 0, 1, 1, 2},
    {"a CPU", VK_PHYSICAL_DEVICE_TYPE_CPU, {{L | V | C | K, 0}}, 1, {2048}, 0, 0, 0, 0},
    {"no memory of its own for buffers", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     {{L, 0}, {V | C, 1}, {V | C | K, 1}}, 3, {8192, 16384}, 6, 1, 1, 2},
    {"nothing that the host sees", VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, {{L, 0}}, 1, {8192}, 0, 0, -1, -1},
};

static void choices(void) {
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    const machine* m = &machines[i];
    VkPhysicalDeviceMemoryProperties p = {.memoryTypeCount = m->num_types, .memoryHeapCount = 4};
    for (uint32_t t = 0; t < m->num_types; t++) p.memoryTypes[t] = (VkMemoryType){m->types[t].flags, m->types[t].heap};
    for (int h = 0; h < 4; h++) p.memoryHeaps[h].size = m->heaps[h] << 20;
    uint32_t bits = m->bits == 0 ? ~0u : m->bits;
    int32_t got[3], want[3] = {m->data, m->upload, m->download};
    for (int use = 0; use < 3; use++) {
      got[use] = tvmgo_vk_choose(&p, m->kind, bits, (memory_use)use);
      CHECK(got[use] == want[use], "%s: use %d takes type %d, not %d", m->name, use, got[use], want[use]);
    }
  }
}

/* ---- hazards: compared with a simple implementation that records every access ---- */

static uint32_t seed = 7;
static uint32_t next_random(uint32_t n) {
  seed = seed * 1664525 + 1013904223;
  return (seed >> 8) % n;
}

enum { BYTES = 64, BUFFERS = 3 };

static void hazards(void) {
  static vk_hazards h;
  /* For each byte, the numbers of the last command that wrote it and of the last that read it. barrier is the number of
   * the last command before the last barrier. */
  int wrote[BUFFERS][BYTES] = {{0}}, read[BUFFERS][BYTES] = {{0}}, barrier = 0, barriers = 0, needed = 0;
  for (int command = 1; command < 20000; command++) {
    int put = 0, need = 0, before = barrier;
    int uses = next_random(200) == 0 ? MAX_USES + 3 : 1 + (int)next_random(3);
    struct {
      int b, from, to, access;
    } u[MAX_USES + 3];
    for (int i = 0; i < uses; i++) {
      u[i].b = (int)next_random(BUFFERS);
      u[i].from = (int)next_random(BYTES);
      u[i].to = u[i].from + 1 + (int)next_random(4);
      if (u[i].to > BYTES) u[i].to = BYTES;
      u[i].access = 1 + (int)next_random(3);
      if (tvmgo_vk_hazard(&h, (void*)(uintptr_t)(u[i].b + 1), (uint64_t)u[i].from, (uint64_t)u[i].to, u[i].access))
        put = 1;
      for (int at = u[i].from; at < u[i].to; at++) {
        if (wrote[u[i].b][at] > before) need = 1;
        if (u[i].access & USE_WRITE && read[u[i].b][at] > before) need = 1;
      }
    }
    CHECK(put || !need, "command %d goes without the barrier that it needs", command);
    if (put) barrier = command - 1;
    barriers += put;
    needed += need;
    for (int i = 0; i < uses; i++)
      for (int at = u[i].from; at < u[i].to; at++) {
        if (u[i].access & USE_WRITE) wrote[u[i].b][at] = command;
        if (u[i].access & USE_READ) read[u[i].b][at] = command;
      }
    tvmgo_vk_hazard_next(&h);
  }
  CHECK(barriers < needed + needed / 10, "%d barriers where %d were needed", barriers, needed);
  CHECK(needed > 1000, "%d needed", needed);
}

/* After a command with more buffers than the list of uses has entries, the next command needs a barrier in any case. */
static void many_uses(void) {
  vk_hazards h = {0};
  for (int i = 0; i < MAX_USES; i++) tvmgo_vk_hazard(&h, &h, 0, 8, USE_READ);
  CHECK(!tvmgo_vk_hazard(&h, &seed, 0, 8, USE_WRITE), "a barrier before the first command");
  tvmgo_vk_hazard_next(&h);
  CHECK(tvmgo_vk_hazard(&h, &seed, 0, 8, USE_READ), "no barrier after what was not written down");
  CHECK(!tvmgo_vk_hazard(&h, &seed, 8, 16, USE_READ), "one barrier is enough");
}

/* ---- suballocation ---- */

static int allocations, most_allocations;
static int64_t allocated;

static VkResult allocate(VkDevice d, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* c,
                         VkDeviceMemory* out) {
  (void)d, (void)c;
  if (allocated + (int64_t)info->allocationSize > (int64_t)1 << 30) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  uint64_t* p = malloc(sizeof *p);
  *p = info->allocationSize;
  allocated += (int64_t)*p;
  if (++allocations > most_allocations) most_allocations = allocations;
  *out = (VkDeviceMemory)p;
  return VK_SUCCESS;
}
static void release(VkDevice d, VkDeviceMemory m, const VkAllocationCallbacks* c) {
  (void)d, (void)c;
  allocated -= (int64_t)*(uint64_t*)m;
  allocations--;
  free(m);
}

void tvmgo_vk_name(const vk_device* d, VkObjectType type, uint64_t object, const char* format, ...) {
  (void)d, (void)type, (void)object, (void)format;
}

/* Runs of free bytes are not adjacent, and used and free bytes add up to the size of the block. */
static void whole(const vk_block* b) {
  for (; b != NULL; b = b->next) {
    uint64_t sum = b->used;
    for (const vk_run* p = b->free; p != NULL; p = p->next) {
      sum += p->size;
      CHECK(p->next == NULL || p->offset + p->size < p->next->offset, "two runs touch");
    }
    CHECK(sum == b->size, "%llu bytes of %llu", (unsigned long long)sum, (unsigned long long)b->size);
  }
}

static void places(void) {
  static vk_device d;
  enum { MOST = 600 };
  static vk_memory live[MOST];
  d.f.vkAllocateMemory = allocate;
  d.f.vkFreeMemory = release;
  d.memory = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = 1, .memoryTypes = {{L, 0}}, .memoryHeapCount = 1,
                                                .memoryHeaps = {{(VkDeviceSize)1 << 30, 0}}};
  d.properties.limits.maxMemoryAllocationCount = 200;
  d.properties.limits.nonCoherentAtomSize = 64;
  d.heap = tvmgo_vk_heap_new();
  uint64_t held = 0;
  for (int step = 0; step < 60000; step++) {
    vk_memory* m = &live[next_random(MOST)];
    if (m->block != NULL) {
      held -= m->span;
      tvmgo_vk_subfree(m);
      memset(m, 0, sizeof *m);
      continue;
    }
    uint64_t size = 1 + (next_random(50) == 0 ? next_random(30 << 20) : next_random(60000));
    uint64_t align = 16ull << next_random(6);
    VkMemoryRequirements need = {.size = size, .alignment = align, .memoryTypeBits = 1};
    m->d = &d;
    m->spare = malloc(sizeof(vk_run));
    VkResult rc = tvmgo_vk_suballocate(m, &need, 0, 0);
    if (rc != VK_SUCCESS) {
      free(m->spare);
      memset(m, 0, sizeof *m);
      CHECK(held > (size_t)300 << 20, "no place for %llu with %llu held", (unsigned long long)size,
            (unsigned long long)held);
      continue;
    }
    held += m->span;
    CHECK(m->offset % align == 0 && m->span >= size && m->offset + m->span <= m->block->size, "a bad place");
    for (int i = 0; i < MOST; i++)
      CHECK(&live[i] == m || live[i].block != m->block || live[i].offset >= m->offset + m->span ||
                m->offset >= live[i].offset + live[i].span, "two in one place");
    if (step % 100 == 0) whole(d.heap->blocks[0]);
    if (step % 1000 == 0)
      CHECK(allocated < (int64_t)(2 * held + ((uint64_t)128 << 20)), "%lld bytes are held for %llu",
            (long long)allocated,
            (unsigned long long)held);
  }
  CHECK(most_allocations < 100, "%d allocations", most_allocations);
  for (int i = 0; i < MOST; i++)
    if (live[i].block != NULL) tvmgo_vk_subfree(&live[i]);
  CHECK(allocations <= 1, "%d blocks are left", allocations);
  tvmgo_vk_trim(&d);
  CHECK(allocations == 0 && allocated == 0 && atomic_load(&d.heap->held) == 0, "%d are left", allocations);
}

int main(void) {
  choices();
  hazards();
  many_uses();
  places();
  printf(failures == 0 ? "ok\n" : "%d failures\n", failures);
  return failures != 0;
}
