/* What the Go files of this folder call. */
#pragma once

#include "memory_type.h"
#include "driver.h"
#include "hazard.h"

/* vkGetInstanceProcAddr of the loader that is open. */
void* tvmgo_vk_loader(void);

/* Makes the instance, with validation if it is wanted and there; *version is what was agreed on. */
VkResult tvmgo_vk_instance_create(int validate, VkInstance* out, uint32_t* version, int* validated, const char** lacks);

/* A device's family of queues for compute. */
typedef struct {
  uint32_t family, num_queues, timestamp_bits;
} vk_family;

/* The best family: of compute alone before one of graphics, too; 0, or -1 when there is none. */
int tvmgo_vk_family(VkPhysicalDevice physical, vk_family* out);

/* Opens a device and takes it into the table; staged is vk_device's. On failure *why says in words what is missing, if
 * that is known. */
VkResult tvmgo_vk_add_device(VkPhysicalDevice physical, const vk_family* family, uint32_t instance_version, int staged,
                             const char** why);

/* What validation said so far: how many messages, and the i-th of those that were kept ("" beyond). */
uint32_t tvmgo_vk_num_messages(void);
const char* tvmgo_vk_message(uint32_t i);
