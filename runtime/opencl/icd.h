/* Drivers that the OpenCL loader is to open. */
#pragma once

#include <stddef.h>

/* Whether a driver's library can be opened; else why, as the dynamic linker says it. */
int tvmgo_cl_opens(const char* library, char* why, size_t size);
