/* Kernels of a module, and their launch. */
#pragma once

#include "driver.h"
#include "kernels.h"

enum { MAX_IDLE = 8 };

/* A kernel built for a device. OpenCL keeps arguments in the kernel object, so a launch takes one for itself: an idle
 * one or, when as many launches are under way as there are objects, a new one. */
typedef struct {
  cl_program program; /* of the Go side, which lives longer */
  _Atomic(cl_kernel) idle[MAX_IDLE];
  size_t max_group;     /* work items of a work group */
  size_t required[3];   /* the group that the source demands; zeroes when it doesn't */
} cl_built;

/* A kernel of a module. What a call looks like is fixed when the module is loaded. */
typedef struct {
  tvmgo_kernel k;
  uint32_t work_dim; /* the directions of its sizes */
} cl_function;

extern const tvmgo_kernel_class tvmgo_cl_kernels; /* of all modules of this kind */

/* The function that returns the compiled programs of the active device (loads = 0), or loads them; owned, NULL with an
 * error raised. */
void* tvmgo_cl_programs_object(tvmgo_kernels* m, int loads);

/* Publishes a kernel, which the caller gives up, for a device; -1 with an error raised. Called under Go's lock. */
int tvmgo_cl_built_set(cl_function* f, const cl_device* d, cl_program program, cl_kernel k);
