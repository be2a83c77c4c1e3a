/* Opening the drivers that the OpenCL loader uses. */
#pragma once

#include <stddef.h>

/* Whether a driver's library can be opened. If not, why is the dynamic linker's error. */
int tvmgo_cl_opens(const char* library, char* why, size_t size);
