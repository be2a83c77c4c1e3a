/* Kernels of a module, and their launch. */
#ifndef TVMGO_OPENCL_LAUNCH_H_
#define TVMGO_OPENCL_LAUNCH_H_

#include "driver.h"
#include "kernels.h"

enum { MAX_IDLE = 8 };

/* A kernel built for a device. OpenCL keeps arguments in the kernel object, so a launch takes one for itself: an idle one or,
 * when as many launches are under way as there are objects, a new one. */
typedef struct {
  cl_program program; /* of the Go side, which lives longer */
  _Atomic(cl_kernel) idle[MAX_IDLE];
  size_t max_group;     /* work items of a work group */
  size_t required[3];   /* the group that the source demands; zeroes when it doesn't */
} cl_built;

/* A kernel of a module. What a call looks like is fixed when the module is loaded. */
typedef struct {
  tvmgo_kernel k;
  uint32_t work_dim;
  _Atomic(cl_built*) built[MAX_DEVICES]; /* made at the first use on a device */
} cl_function;

extern const tvmgo_kernel_class tvmgo_cl_kernels; /* of all modules of this kind */

/* The function that gives the compiled programs of the active device (takes = 0), or takes them; owned, NULL with an error raised. */
void* tvmgo_cl_programs_object(tvmgo_kernels* m, int takes);

/* Counts the directions of a kernel's sizes, once they are described. */
void tvmgo_cl_function_ready(tvmgo_kernels* m, int32_t index);

/* Keeps a kernel (given up by the caller) as the one for a device; -1 with an error raised. Called under Go's lock. */
int tvmgo_cl_built_set(tvmgo_kernels* m, int32_t index, const cl_device* d, cl_program program, cl_kernel k);

/* Whether there is one. */
static inline int tvmgo_cl_is_built(tvmgo_kernels* m, int32_t index, int32_t device) {
  const cl_function* f = (const cl_function*)tvmgo_kernel_at(m, index);
  return atomic_load_explicit(&f->built[device], memory_order_acquire) != NULL;
}

#endif
