// Calls of a library of kernels: Go cannot call a C function pointer.
#pragma once

#include <stddef.h>

#include "../fakecuda/fakecuda_kernel.h"

// Opens a library. Returns the reason of a failure, else NULL.
const char *cudarun_open(const char *path, void **library);
const fakecuda_kernel *cudarun_find(void *library, const char *name);
// Runs a kernel. Each argument has its value at params[i]; memory[i] is the allocation of a pointer. text gets the
// reason of a failure.
int cudarun_launch(const fakecuda_kernel *k, const unsigned *dims, unsigned shared, const void *const *params,
                   const fakecuda_extent *extents, char *text, size_t size);
