/* The choice of a memory type. A kernel is at least ten times slower if it accesses memory over the bus, and so is the
 * host if it reads uncached memory. Each type gets a score, in which an earlier demand outweighs all later ones. */
#include "memory_type.h"

#include <stdio.h>

/* Whether the device and the host have the same memory. */
static int shares_memory(VkPhysicalDeviceType kind) {
  return kind == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || kind == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

/* The score of a memory type for a use; 0 if it cannot be used. Higher bits are earlier demands; the lowest bits are
 * the size of the heap. */
static uint64_t fit(const VkPhysicalDeviceMemoryProperties* memory, VkPhysicalDeviceType kind, uint32_t i,
                    memory_use use) {
  uint32_t flags = memory->memoryTypes[i].propertyFlags;
  int local = (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0,
      visible = (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
  int coherent = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0,
      cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  /* The first two cannot be used for buffers; the last bypasses the device's caches. */
  int odd = (flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
                      VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD)) != 0;
  if (odd || (use != MEMORY_DATA && !visible)) return 0;
  uint64_t heap = memory->memoryHeaps[memory->memoryTypes[i].heapIndex].size >> 20; /* MiB */
  if (heap >= (uint64_t)1 << 40) heap = ((uint64_t)1 << 40) - 1;
  uint64_t demands[3];
  switch (use) {
    case MEMORY_DATA:
      demands[0] = local;
      /* The host-visible part of a GPU's memory may be small, so the size of the heap outweighs the host's demands. */
      if (shares_memory(kind))
        return (uint64_t)1 << 62 | demands[0] << 61 | heap << 4 | (uint64_t)(visible && coherent && cached) << 1 |
               visible;
      return (uint64_t)1 << 62 | demands[0] << 61 | heap << 4 | !visible;
    case MEMORY_UPLOAD:
      demands[0] = coherent, demands[1] = shares_memory(kind) ? 1 : !local, demands[2] = !cached;
      break;
    default:
      demands[0] = cached, demands[1] = coherent, demands[2] = shares_memory(kind) ? 1 : !local;
  }
  return (uint64_t)1 << 62 | demands[0] << 61 | demands[1] << 60 | demands[2] << 59 | heap;
}

int32_t tvmgo_vk_choose(const VkPhysicalDeviceMemoryProperties* memory, VkPhysicalDeviceType kind, uint32_t bits,
                        memory_use use) {
  int32_t best = -1;
  uint64_t most = 0;
  for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
    uint64_t f = bits >> i & 1 ? fit(memory, kind, i, use) : 0;
    if (f > most) {
      most = f;
      best = (int32_t)i;
    }
  }
  return best;
}

const char* tvmgo_vk_type_text(const VkPhysicalDeviceMemoryProperties* memory, int32_t type, char* buf, size_t cap) {
  static const struct {
    uint32_t bit;
    const char* name;
  } names[] = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "device-local"},
               {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, "host-visible"},
               {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, "host-coherent"},
               {VK_MEMORY_PROPERTY_HOST_CACHED_BIT, "host-cached"}};
  size_t n = (size_t)snprintf(buf, cap, "type %d (", (int)type);
  const char* comma = "";
  for (size_t i = 0; i < sizeof names / sizeof *names && n < cap; i++)
    if (memory->memoryTypes[type].propertyFlags & names[i].bit) {
      n += (size_t)snprintf(buf + n, cap - n, "%s%s", comma, names[i].name);
      comma = ", ";
    }
  if (n < cap) snprintf(buf + n, cap - n, ") of heap %u", memory->memoryTypes[type].heapIndex);
  return buf;
}
