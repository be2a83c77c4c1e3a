//go:build opencl

/* The handles of this package. */
#include "driver.h"

static const char* const kind_names[] = {"nothing in use", "memory", "an image", "a stream", "an event", "a timer"};
tvmgo_handles tvmgo_cl_handles = {
    .api = "opencl", .size = sizeof(cl_handle), .kind_names = kind_names, .memory_kinds = HANDLE_IMAGE};
_Static_assert(sizeof(cl_handle) <= 96, "a handle has at most 96 bytes");
