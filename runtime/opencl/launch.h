/* Kernels of a module, and their launch. */
#ifndef TVMGO_OPENCL_LAUNCH_H_
#define TVMGO_OPENCL_LAUNCH_H_

#include "driver.h"

enum { MAX_ARGS = 256, MAX_LAUNCH = 6 };

typedef enum { ARG_MEMORY, ARG_INT64, ARG_INT32, ARG_UINT32, ARG_FLOAT64, ARG_FLOAT32 } arg_kind;

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
  struct cl_module* module;
  int32_t index;
  char* name;   /* under which it is looked up */
  char* symbol; /* in the source */
  int32_t num_args, num_launch;
  uint8_t args[MAX_ARGS];       /* arg_kind */
  uint8_t launch[MAX_LAUNCH];   /* what the values after the arguments are: 0-2 the grid, 3-5 the block */
  uint32_t work_dim;
  _Atomic(cl_built*) built[MAX_DEVICES]; /* made at the first use on a device */
} cl_function;

/* The kernels of a module. The module of Go, and each function that was handed out, hold a reference. */
typedef struct cl_module {
  _Atomic int64_t refs;
  uintptr_t go; /* handle of the Go side, which holds the programs */
  int32_t num_functions;
  cl_function* functions;
} cl_module;

cl_module* tvmgo_cl_module_new(int32_t num_functions, uintptr_t go); /* one reference; NULL when memory is out */
void tvmgo_cl_module_release(cl_module* m);
/* Fills in a function; the lists are copied. */
int tvmgo_cl_function_set(cl_module* m, int32_t index, const char* name, const char* symbol, const uint8_t* args,
                          int32_t num_args, const uint8_t* launch, int32_t num_launch);
/* A function object, owned; NULL with an error raised. */
void* tvmgo_cl_function_object(cl_module* m, int32_t index);

/* The function that gives the compiled programs of the active device (takes = 0), or takes them; as above. */
void* tvmgo_cl_programs_object(cl_module* m, int takes);

/* Keeps a kernel (given up by the caller) as the one for a device; -1 with an error raised. Called under Go's lock. */
int tvmgo_cl_built_set(cl_module* m, int32_t index, const cl_device* d, cl_program program, cl_kernel k);

/* Whether there is one. */
static inline int tvmgo_cl_is_built(cl_module* m, int32_t index, int32_t device) {
  return atomic_load_explicit(&m->functions[index].built[device], memory_order_acquire) != NULL;
}

#endif
