/* Kernels of a module and their launches. */
#pragma once

#include "driver.h"
#include "kernels.h"

enum { MAX_IDLE = 8 };

/* A kernel built for a device. A cl_kernel stores its arguments, so two launches must not use the same one at the same
 * time: a launch takes an idle one, or creates a new one if there is none. */
typedef struct {
  cl_program program; /* borrowed from Go, which releases it later than this */
  _Atomic(cl_kernel) idle[MAX_IDLE];
  size_t max_group;     /* largest number of work-items in a work-group */
  size_t required[3];   /* the work-group size that the source requires; zeros if it requires none */
} cl_built;

/* A kernel of a module. It does not change after the module is loaded. */
typedef struct {
  tvmgo_kernel k;
  uint32_t work_dim; /* number of dimensions of the work size */
} cl_function;

extern const tvmgo_kernel_class tvmgo_cl_kernels;

/* A new function object that returns the compiled programs of the active device (loads = 0), or loads them; the caller
 * owns it. NULL with an error raised. */
void* tvmgo_cl_programs_object(tvmgo_kernels* m, int loads);

/* Publishes a kernel for a device, and takes ownership of it. The caller holds the Builder's lock. 0, or -1 with an
 * error raised. */
int tvmgo_cl_built_set(cl_function* f, const cl_device* d, cl_program program, cl_kernel k);
