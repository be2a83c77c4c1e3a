/* Declarations of the C functions that the Go files of this folder call. */
#pragma once

#include "launch.h"

/* Adds a device that Go found to tvmgo_cl_devices. CL_SUCCESS, or the error code of a query or of creating its command
 * queue. */
cl_int tvmgo_cl_add_device(cl_platform_id platform, cl_device_id id, cl_context context, int one_at_a_time);

/* The cl_mem of a handle of memory, and the cl_command_queue of a stream; 0 with an error raised. */
uintptr_t tvmgo_cl_native_buffer(uintptr_t handle);
uintptr_t tvmgo_cl_native_queue(int32_t device, uintptr_t stream);
