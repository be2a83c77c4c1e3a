/* Declarations of the C functions that the Go files of this folder call. */
#pragma once

#include "memory_type.h"
#include "driver.h"
#include "hazard.h"

/* vkGetInstanceProcAddr of the loader. */
void* tvmgo_vk_loader(void);

/* Creates the instance. *version is its version of Vulkan. Enables validation if `validate` is set and the layer is
 * installed, and sets *validated. If a function is missing, *lacks is its name. */
VkResult tvmgo_vk_instance_create(int validate, VkInstance* out, uint32_t* version, int* validated, const char** lacks);

/* The compute queue family of a device. */
typedef struct {
  uint32_t family, num_queues, timestamp_bits;
} vk_family;

/* The best compute queue family; prefers a family without graphics. 0, or -1 if there is none. */
int tvmgo_vk_family(VkPhysicalDevice physical, vk_family* out);

/* Opens a device and adds it to tvmgo_vk_devices; staged is the member of vk_device. On failure, *why is a text that
 * says what is missing, if that is known. */
VkResult tvmgo_vk_add_device(VkPhysicalDevice physical, const vk_family* family, uint32_t instance_version, int staged,
                             const char** why);

/* The number of validation messages so far, and message i; "" if that message was not stored. */
uint32_t tvmgo_vk_num_messages(void);
const char* tvmgo_vk_message(uint32_t i);
