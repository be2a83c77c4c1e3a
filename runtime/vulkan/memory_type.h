/* The choice of a memory type. */
#pragma once

#include "driver.h"

/* The best memory type for a use, among the types whose bit is set in bits; -1 if there is none. */
int32_t tvmgo_vk_choose(const VkPhysicalDeviceMemoryProperties* memory, VkPhysicalDeviceType kind, uint32_t bits,
                        memory_use use);

/* Describes a memory type, as in "type 2 (device-local, host-visible, host-coherent) of heap 0". Returns buf. */
const char* tvmgo_vk_type_text(const VkPhysicalDeviceMemoryProperties* memory, int32_t type, char* buf, size_t cap);
