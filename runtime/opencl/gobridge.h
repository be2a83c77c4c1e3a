/* What the Go files of this folder call. */
#pragma once

#include "launch.h"

/* Takes over a device that Go found: 0, or an OpenCL code when its queue cannot be made. */
cl_int tvmgo_cl_add_device(cl_platform_id platform, cl_device_id id, cl_context context, int one_at_a_time);
