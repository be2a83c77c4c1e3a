//go:build opencl

/* Launches. Only the first use of a kernel on a device allocates memory and enters Go. */
#include "launch.h"

#include <stdlib.h>

int tvmgoOpenCLSavePrograms(uintptr_t module, int32_t device, void** out, size_t* size); /* precompiled.go */
int tvmgoOpenCLLoadPrograms(uintptr_t module, int32_t device, void* data, size_t size);

/* The kernel that is built for a device; builds it if necessary. NULL with an error raised. */
static cl_built* built_for(cl_function* f, const cl_device* d) {
  cl_built* b = tvmgo_kernel_built(&f->k, d->index);
  return TVMGO_LIKELY(b != NULL) ? b : tvmgo_kernel_build(&f->k, d->index);
}

/* The sub-buffers that were created for one launch. */
typedef struct {
  int n;
  cl_mem at[TVMGO_MAX_KERNEL_ARGS];
} sub_buffers;

static int sub_buffer_of(const cl_function* f, int i, const cl_device* d, const cl_handle* h, size_t offset,
                         sub_buffers* p, cl_mem* out) {
  if (h->kind != HANDLE_BUFFER) return tvmgo_kernel_bad_offset(&f->k, i, d->index, offset, h->nbytes, d->base_align);
  if (tvmgo_kernel_check_offset(&f->k, i, d->index, offset, h->nbytes, d->base_align) != 0) return -1;
  cl_buffer_region region = {offset, h->nbytes - offset};
  cl_int rc;
  cl_mem m = clCreateSubBuffer(h->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
  if (m == NULL) return tvmgo_cl_raise(rc, TVMGO_ARG ": create a sub-buffer", f->k.name, i);
  *out = p->at[p->n++] = m;
  return 0;
}

/* The memory object of an argument. 0, or -1 with an error raised. */
static int memory_of(const cl_function* f, int i, const cl_device* d, const TVMFFIAny* v, sub_buffers* p, cl_mem* out) {
  const void* data;
  const DLTensor* t;
  if (tvmgo_kernel_memory(&f->k, i, kDLOpenCL, d->index, v, &data, &t) != 0) return -1;
  const cl_handle* h = tvmgo_kernel_handle(&f->k, i, d->index, &tvmgo_cl_handles, data);
  if (h == NULL) return -1;
  *out = h->mem;
  return TVMGO_LIKELY(t == NULL || t->byte_offset == 0) ? 0 : sub_buffer_of(f, i, d, h, t->byte_offset, p, out);
}

/* Sets argument i from a value. */
static int set_arg(const cl_function* f, int i, const cl_device* d, cl_kernel k, const TVMFFIAny* v, sub_buffers* p) {
  union {
    cl_mem mem;
    tvmgo_kernel_slot scalar;
  } a;
  size_t size = sizeof a.mem;
  if (f->k.args[i] == TVMGO_ARG_MEMORY) {
    if (memory_of(f, i, d, v, p, &a.mem) != 0) return -1;
  } else {
    if (tvmgo_kernel_scalar(&f->k, i, v, &a.scalar) != 0) return -1;
    size = tvmgo_kernel_scalar_size(&f->k, i);
  }
  cl_int rc = clSetKernelArg(k, (cl_uint)i, size, &a);
  return TVMGO_LIKELY(rc == CL_SUCCESS) ? 0 : tvmgo_cl_raise(rc, TVMGO_ARG ", of %zu bytes", f->k.name, i, size);
}

/* Grid and block of a launch, for messages. */
#define SHAPE TVMGO_SHAPE
#define SHAPE_ARGS(f, s, d) TVMGO_SHAPE_ARGS(&(f)->k, s, (d)->index)

/* Checks the sizes of a launch, for errors that name the limit, and computes the global work size. */
static int check_sizes(const cl_function* f, const cl_device* d, const cl_built* b, const size_t* s, size_t global[3]) {
  size_t group = 1;
  for (int i = 0; i < 3; i++) {
    if (TVMGO_UNLIKELY(s[3 + i] > d->max_items[i]))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the limit of threadIdx.%c is %zu", SHAPE_ARGS(f, s, d), "xyz"[i],
                         d->max_items[i]);
    if (TVMGO_UNLIKELY(b->required[0] != 0 && s[3 + i] != b->required[i]))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the source requires a block of [%zu, %zu, %zu]",
                         SHAPE_ARGS(f, s, d), b->required[0], b->required[1], b->required[2]);
    if (TVMGO_UNLIKELY(__builtin_mul_overflow(group, s[3 + i], &group))) group = SIZE_MAX;
    if (TVMGO_UNLIKELY(__builtin_mul_overflow(s[i], s[3 + i], &global[i])))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": more than 2^64 work-items", SHAPE_ARGS(f, s, d));
  }
  if (TVMGO_UNLIKELY(!tvmgo_kernel_blocks_fit(s))) return tvmgo_kernel_too_many_blocks(&f->k, s, d->index);
  if (TVMGO_LIKELY(group <= b->max_group)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     SHAPE ": the block has %zu work-items; the limit of this kernel is %zu (of the device: %zu)",
                     SHAPE_ARGS(f, s, d), group, b->max_group, d->max_group);
}

/* A kernel object that no other launch uses; NULL with an error raised. */
static cl_kernel take_idle_kernel(const cl_function* f, const cl_device* d, cl_built* b) {
  for (int i = 0; i < MAX_IDLE; i++) {
    if (i > 0 && atomic_load_explicit(&b->idle[i], memory_order_relaxed) == NULL) continue;
    cl_kernel k = atomic_exchange_explicit(&b->idle[i], NULL, memory_order_acquire);
    if (TVMGO_LIKELY(k != NULL)) return k;
  }
  cl_int rc;
  cl_kernel k = clCreateKernel(b->program, f->k.symbol, &rc);
  if (k == NULL) tvmgo_cl_raise(rc, "kernel %s on opencl:%d: create another kernel object", f->k.name, (int)d->index);
  return k;
}

static void return_idle_kernel(cl_built* b, cl_kernel k) {
  for (int i = 0; i < MAX_IDLE; i++) {
    cl_kernel none = NULL;
    if (atomic_load_explicit(&b->idle[i], memory_order_relaxed) != NULL) continue;
    if (atomic_compare_exchange_strong_explicit(&b->idle[i], &none, k, memory_order_release, memory_order_relaxed))
      return;
  }
  clReleaseKernel(k);
}

static int launch(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  cl_function* f = self;
  if (tvmgo_kernel_is_profiled()) return tvmgo_kernel_launch_profiled(&f->k, args, n, result);
  size_t s[TVMGO_MAX_LAUNCH], global[3];
  sub_buffers p;
  int32_t id = tvmgo_kernel_begin(&f->k, kDLOpenCL, n);
  const cl_device* d = id < 0 ? NULL : tvmgo_cl_device(id);
  if (d == NULL || tvmgo_kernel_sizes(&f->k, args + f->k.num_args, s) != 0) return -1;
  if (tvmgo_kernel_is_empty(s)) return 0;
  cl_built* b = built_for(f, d);
  if (b == NULL) return -1;
  cl_command_queue q = tvmgo_cl_queue(d, tvmgo_stream_get(kDLOpenCL, d->index));
  if (q == NULL || check_sizes(f, d, b, s, global) != 0) return -1;
  p.n = 0;
  int rc = 0;
  cl_int code = CL_SUCCESS;
  cl_kernel k = take_idle_kernel(f, d, b);
  if (k == NULL) return -1;
  for (int i = 0; i < f->k.num_args && rc == 0; i++) rc = set_arg(f, i, d, k, &args[i], &p);
  if (rc == 0) {
    tvmgo_cl_enter(d);
    code = clEnqueueNDRangeKernel(q, k, f->work_dim, NULL, global, s + 3, 0, NULL, NULL);
    tvmgo_cl_leave(d);
  }
  return_idle_kernel(b, k);
  for (int i = 0; i < p.n; i++) clReleaseMemObject(p.at[i]); /* the enqueued kernel retains them */
  if (TVMGO_UNLIKELY(code != CL_SUCCESS)) rc = tvmgo_cl_raise(code, "launch " SHAPE, SHAPE_ARGS(f, s, d));
  return rc;
}

/* ---- the class of kernels ---- */

static void free_built(void* built) {
  cl_built* b = built;
  for (int i = 0; i < MAX_IDLE; i++)
    if (b->idle[i] != NULL) clReleaseKernel(b->idle[i]); /* enqueued launches retain it */
  free(b);
}

static size_t offset_alignment(int32_t device) {
  const cl_device* d = tvmgo_device_api(kDLOpenCL) == NULL ? NULL : tvmgo_cl_device(device);
  return d == NULL ? 0 : d->base_align;
}

static int complete(tvmgo_kernel* k) {
  cl_function* f = (cl_function*)k;
  f->work_dim = 1;
  for (int32_t i = 0; i < k->num_launch; i++) {
    uint32_t dim = k->launch[i] % 3 + 1u;
    if (dim > f->work_dim) f->work_dim = dim;
  }
  return 0;
}

static int report(const tvmgo_kernel* k, void* built, int32_t device, int64_t threads, size_t dynamic,
                  tvmgo_kernel_report* out) {
  const cl_function* f = (const cl_function*)k;
  const cl_device* d = tvmgo_cl_device(device);
  cl_ulong shared = 0, private = 0;
  size_t multiple = 0;
  if (d == NULL) return -1;
  cl_kernel of = take_idle_kernel(f, d, built);
  if (of == NULL) return -1;
#define QUERY(what, v) (clGetKernelWorkGroupInfo(of, d->id, what, sizeof v, &v, NULL) == CL_SUCCESS)
  if (QUERY(CL_KERNEL_LOCAL_MEM_SIZE, shared)) out->shared_bytes = (int64_t)shared;
  if (QUERY(CL_KERNEL_PRIVATE_MEM_SIZE, private)) out->local_bytes = (int64_t)private;
  if (QUERY(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, multiple) && multiple > 0) out->multiple = (int64_t)multiple;
#undef QUERY
  return_idle_kernel(built, of);
  out->max_threads = (int64_t)((const cl_built*)built)->max_group;
  return 0;
}

const tvmgo_kernel_class tvmgo_cl_kernels = {.kernel_size = sizeof(cl_function),
                                             .device_type = kDLOpenCL,
                                             .launch = launch,
                                             .complete = complete,
                                             .free_built = free_built,
                                             .offset_alignment = offset_alignment,
                                             .report = report};

/* ---- compiled programs ---- */

/* The calling thread's active device; NULL with an error raised. */
static const cl_device* active_device(void) {
  int32_t id = tvmgo_thread_get()->active_device[kDLOpenCL];
  return tvmgo_device_api(kDLOpenCL) == NULL ? NULL : tvmgo_cl_device(id); /* tvmgo_device_api enumerates them */
}

static int save_programs(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_kernels* m = self;
  const cl_device* d = active_device();
  void* data = NULL;
  size_t size = 0;
  if (n != 0)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "opencl.GetPreCompiledPrograms takes no arguments, %d were given", (int)n);
  if (d == NULL || tvmgo_enter_go("compiling programs") != 0 ||
      tvmgoOpenCLSavePrograms(m->go, d->index, &data, &size) != 0)
    return -1;
  int rc = tvmgo_bytes_make(data, size, result);
  free(data);
  return rc;
}

static int load_programs(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_kernels* m = self;
  const cl_device* d = active_device();
  TVMFFIByteArray bytes;
  if (n != 1)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "opencl.SetPreCompiledPrograms takes one argument, the bytes; %d were given",
                       (int)n);
  if (d == NULL || tvmgo_arg_text("opencl.SetPreCompiledPrograms", args, 0, &bytes) != 0 ||
      tvmgo_enter_go("loading programs") != 0)
    return -1;
  return tvmgoOpenCLLoadPrograms(m->go, d->index, (void*)bytes.data, bytes.size);
}

void* tvmgo_cl_programs_object(tvmgo_kernels* m, int loads) {
  return tvmgo_kernels_object(m, loads ? load_programs : save_programs);
}

int tvmgo_cl_built_set(cl_function* f, const cl_device* d, cl_program program, cl_kernel k) {
  cl_uint num_args = 0;
  cl_ulong shared = 0;
  cl_built* b = calloc(1, sizeof *b);
  if (b == NULL) {
    clReleaseKernel(k);
    return tvmgo_raise_oom();
  }
  b->program = program;
  b->idle[0] = k;
  cl_int rc = clGetKernelInfo(k, CL_KERNEL_NUM_ARGS, sizeof num_args, &num_args, NULL);
  if (rc == CL_SUCCESS)
    rc = clGetKernelWorkGroupInfo(k, d->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof b->max_group, &b->max_group, NULL);
  if (rc == CL_SUCCESS)
    rc = clGetKernelWorkGroupInfo(k, d->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof b->required, b->required, NULL);
  if (rc == CL_SUCCESS)
    rc = clGetKernelWorkGroupInfo(k, d->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof shared, &shared, NULL);
  if (rc == CL_SUCCESS && shared > d->shared_bytes) { /* PoCL would end the process at the launch */
    free_built(b);
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "kernel %s uses %llu bytes of shared memory in each block, %llu more than opencl:%d (%s) has "
                       "(%llu): use smaller tiles, or build for this target: max_shared_memory_per_block=%llu",
                       f->k.name, (unsigned long long)shared, (unsigned long long)(shared - d->shared_bytes),
                       (int)d->index, d->name, (unsigned long long)d->shared_bytes,
                       (unsigned long long)d->shared_bytes);
  }
  if (rc == CL_SUCCESS && (int32_t)num_args == f->k.num_args) {
    tvmgo_kernel_set_built(&f->k, d->index, b);
    return 0;
  }
  free_built(b);
  if (rc != CL_SUCCESS) return tvmgo_cl_raise(rc, "kernel %s on opencl:%d", f->k.name, (int)d->index);
  return tvmgo_raise(TVMGO_CORRUPT_ERROR, "kernel %s has %u arguments in its source, but %d in its description",
                     f->k.name, (unsigned)num_args, (int)f->k.num_args);
}
