/* Which of a device's types of memory is taken. */
#pragma once

#include "driver.h"

/* The best type among those of `bits` for a use on a device of a kind; -1 when there is none. */
int32_t tvmgo_vk_choose(const VkPhysicalDeviceMemoryProperties* memory, VkPhysicalDeviceType kind, uint32_t bits,
                        memory_use use);

/* "type 2 (device-local, host-visible, host-coherent) of heap 0" */
const char* tvmgo_vk_type_text(const VkPhysicalDeviceMemoryProperties* memory, int32_t type, char* buf, size_t cap);
