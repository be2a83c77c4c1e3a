/* The handles of this package. */
#include "driver.h"

static const char* const kind_names[] = {"nothing in use", "memory", "a stream", "an event", "a timer"};
tvmgo_handles tvmgo_vk_handles = {
    .api = "vulkan", .size = sizeof(vk_handle), .kind_names = kind_names, .memory_kinds = HANDLE_BUFFER};
_Static_assert(sizeof(vk_handle) <= 96, "a handle has at most 96 bytes");
