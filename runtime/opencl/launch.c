//go:build opencl

/* The way from a call to a queued kernel. No memory is allocated and Go is not entered, but at a kernel's first use on a device. */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tvmgoOpenCLBuild(uintptr_t module, int32_t function, int32_t device); /* program.go */
int tvmgoOpenCLSavePrograms(uintptr_t module, int32_t device, void** out, size_t* size); /* precompiled.go */
int tvmgoOpenCLLoadPrograms(uintptr_t module, int32_t device, void* data, size_t size);
void tvmgoOpenCLModuleFree(uintptr_t module);

/* The kernel for a device, built when there is none yet. */
static cl_built* built_for(cl_function* f, const cl_device* d) {
  cl_built* b = atomic_load_explicit(&f->built[d->index], memory_order_acquire);
  if (TVMGO_LIKELY(b != NULL)) return b;
  if (tvmgo_enter_go("compiling a kernel") != 0 || tvmgoOpenCLBuild(f->module->go, f->index, d->index) != 0) return NULL;
  return atomic_load_explicit(&f->built[d->index], memory_order_acquire);
}

/* The thread's active device; NULL with an error raised. */
static const cl_device* active_device(void) {
  int32_t id = tvmgo_thread_get()->active_device[kDLOpenCL];
  return tvmgo_device_api(kDLOpenCL) == NULL ? NULL : tvmgo_cl_device(id); /* finds devices first, if need be */
}

/* "argument 2 of kernel add" is what messages begin with. */
#define ARG "kernel %s: argument %d"

static int bad_type(const cl_function* f, int i, const char* want, const TVMFFIAny* v) {
  return tvmgo_raise(TVMGO_TYPE_ERROR, ARG " must be %s, not %s", f->name, i, want, tvmgo_type_name(v->type_index));
}

static int int_of(const cl_function* f, int i, const TVMFFIAny* v, int64_t* out) {
  if (v->type_index != kTVMFFIInt && v->type_index != kTVMFFIBool) return bad_type(f, i, "an integer", v);
  *out = v->v_int64;
  return 0;
}

static int float_of(const cl_function* f, int i, const TVMFFIAny* v, double* out) {
  if (v->type_index == kTVMFFIFloat) *out = v->v_float64;
  else if (v->type_index == kTVMFFIInt || v->type_index == kTVMFFIBool) *out = (double)v->v_int64;
  else return bad_type(f, i, "a number", v);
  return 0;
}

/* Parts of buffers that were made for one launch. */
typedef struct {
  int n;
  cl_mem at[MAX_ARGS];
} parts;

static int part_of(const cl_function* f, int i, const cl_device* d, const cl_handle* h, size_t offset, parts* p, cl_mem* out) {
  if (h->kind != HANDLE_BUFFER || offset % d->base_align != 0 || offset >= h->nbytes)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       ARG " begins %zu bytes into its memory of %zu: opencl:%d takes parts of a buffer that begin at a multiple "
                           "of %zu bytes: copy it to an array of its own",
                       f->name, i, offset, h->nbytes, (int)d->index, d->base_align);
  cl_buffer_region region = {offset, h->nbytes - offset};
  cl_int rc;
  cl_mem m = clCreateSubBuffer(h->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
  if (m == NULL) return tvmgo_cl_raise(rc, ARG ": a part of its memory", f->name, i);
  *out = p->at[p->n++] = m;
  return 0;
}

/* The memory behind an argument: a handle as generated code passes it, or an array. */
static int memory_of(const cl_function* f, int i, const cl_device* d, const TVMFFIAny* v, parts* p, cl_mem* out) {
  const void* data = v->v_ptr;
  size_t offset = 0;
  if (v->type_index == kTVMFFITensor || v->type_index == kTVMFFIDLTensorPtr) {
    const DLTensor* t = v->type_index == kTVMFFITensor ? tvmgo_tensor_dl(v->v_obj) : v->v_ptr;
    if (t == NULL) return bad_type(f, i, "an array", v);
    if (t->device.device_type != kDLOpenCL)
      return tvmgo_raise(TVMGO_VALUE_ERROR, ARG " is an array of device type %d, the kernel runs on opencl:%d: copy it there",
                         f->name, i, (int)t->device.device_type, (int)d->index);
    data = t->data;
    offset = t->byte_offset;
  } else if (v->type_index == kTVMFFINone) {
    return tvmgo_raise(TVMGO_VALUE_ERROR, ARG " is NULL: memory of opencl:%d is needed", f->name, i, (int)d->index);
  } else if (v->type_index != kTVMFFIOpaquePtr) {
    return bad_type(f, i, "an array or its data", v);
  }
  const cl_handle* h = data;
  if (TVMGO_UNLIKELY(!tvmgo_cl_is_memory(h)))
    return tvmgo_raise(TVMGO_VALUE_ERROR, ARG ": %p is not memory of opencl: it was made elsewhere, or freed", f->name, i, data);
  if (TVMGO_UNLIKELY(h->device != d->index))
    return tvmgo_raise(TVMGO_VALUE_ERROR, ARG " is memory of opencl:%d, the kernel runs on opencl:%d: copy it there, or make that "
                       "device the active one", f->name, i, (int)h->device, (int)d->index);
  *out = h->mem;
  return TVMGO_LIKELY(offset == 0) ? 0 : part_of(f, i, d, h, offset, p, out);
}

/* Sets argument i from a value. */
static int set_arg(const cl_function* f, int i, const cl_device* d, cl_kernel k, const TVMFFIAny* v, parts* p) {
  union {
    cl_mem mem;
    int64_t i64;
    int32_t i32;
    uint32_t u32;
    double f64;
    float f32;
  } a;
  size_t size = 8;
  int64_t whole = 0;
  double real = 0;
  switch ((arg_kind)f->args[i]) {
    case ARG_MEMORY:
      if (memory_of(f, i, d, v, p, &a.mem) != 0) return -1;
      size = sizeof a.mem;
      break;
    case ARG_FLOAT64:
    case ARG_FLOAT32:
      if (float_of(f, i, v, &real) != 0) return -1;
      if (f->args[i] == ARG_FLOAT64) {
        a.f64 = real;
      } else {
        a.f32 = (float)real;
        size = 4;
      }
      break;
    case ARG_INT64:
      if (int_of(f, i, v, &a.i64) != 0) return -1;
      break;
    case ARG_INT32:
    case ARG_UINT32:
      if (int_of(f, i, v, &whole) != 0) return -1;
      if (whole < INT32_MIN || whole > (f->args[i] == ARG_INT32 ? INT32_MAX : (int64_t)UINT32_MAX))
        return tvmgo_raise(TVMGO_VALUE_ERROR, ARG " is %lld, which does not fit into 32 bits", f->name, i, (long long)whole);
      a.u32 = (uint32_t)whole;
      size = 4;
      break;
  }
  cl_int rc = clSetKernelArg(k, (cl_uint)i, size, &a);
  return TVMGO_LIKELY(rc == CL_SUCCESS) ? 0 : tvmgo_cl_raise(rc, ARG ", of %zu bytes", f->name, i, size);
}

static int wrong_count(const cl_function* f, int32_t n) {
  static const char* const names[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"};
  char tags[128] = "";
  for (int i = 0; i < f->num_launch; i++) {
    strcat(tags, i == 0 ? " for " : ", ");
    strcat(tags, names[f->launch[i]]);
  }
  return tvmgo_raise(TVMGO_TYPE_ERROR, "kernel %s takes %d values, %d arguments and %d numbers%s; %d were given", f->name,
                     (int)(f->num_args + f->num_launch), (int)f->num_args, (int)f->num_launch, tags, (int)n);
}

/* Grid and block of a launch, as messages show them. */
#define SHAPE "kernel %s with grid [%zu, %zu, %zu] and block [%zu, %zu, %zu] on opencl:%d"
#define SHAPE_ARGS(f, s, d) (f)->name, (s)[0], (s)[1], (s)[2], (s)[3], (s)[4], (s)[5], (int)(d)->index

static int sizes_of(const cl_function* f, const TVMFFIAny* values, size_t s[6]) {
  for (int i = 0; i < 6; i++) s[i] = 1;
  for (int i = 0; i < f->num_launch; i++) {
    int64_t v = 0;
    if (int_of(f, f->num_args + i, &values[i], &v) != 0) return -1;
    if (v < 0)
      return tvmgo_raise(TVMGO_VALUE_ERROR, ARG ", a size of the launch, is negative: %lld", f->name, f->num_args + i,
                         (long long)v);
    s[f->launch[i]] = v == 0 ? 1 : (size_t)v;
  }
  return 0;
}

/* What the device would refuse, with the limit. */
static int check_sizes(const cl_function* f, const cl_device* d, const cl_built* b, const size_t s[6], size_t global[3]) {
  size_t group = 1;
  for (int i = 0; i < 3; i++) {
    if (TVMGO_UNLIKELY(s[3 + i] > d->max_items[i]))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the limit of threadIdx.%c is %zu", SHAPE_ARGS(f, s, d), "xyz"[i],
                         d->max_items[i]);
    if (TVMGO_UNLIKELY(b->required[0] != 0 && s[3 + i] != b->required[i]))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the source demands a block of [%zu, %zu, %zu]", SHAPE_ARGS(f, s, d),
                         b->required[0], b->required[1], b->required[2]);
    group *= s[3 + i]; /* cannot overflow: each is within the device's limits */
    if (TVMGO_UNLIKELY(__builtin_mul_overflow(s[i], s[3 + i], &global[i])))
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": more than 2^64 work items", SHAPE_ARGS(f, s, d));
  }
  if (TVMGO_LIKELY(group <= b->max_group)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": a block of %zu work items; the limit of this kernel there is %zu (of the device: %zu)",
                     SHAPE_ARGS(f, s, d), group, b->max_group, d->max_group);
}

/* A kernel object for this launch alone; NULL with an error raised. */
static cl_kernel take(const cl_function* f, const cl_device* d, cl_built* b) {
  for (int i = 0; i < MAX_IDLE; i++) {
    if (i > 0 && atomic_load_explicit(&b->idle[i], memory_order_relaxed) == NULL) continue;
    cl_kernel k = atomic_exchange_explicit(&b->idle[i], NULL, memory_order_acquire);
    if (TVMGO_LIKELY(k != NULL)) return k;
  }
  cl_int rc;
  cl_kernel k = clCreateKernel(b->program, f->symbol, &rc);
  if (k == NULL) tvmgo_cl_raise(rc, "kernel %s on opencl:%d: another object of it", f->name, (int)d->index);
  return k;
}

static void give_back(cl_built* b, cl_kernel k) {
  for (int i = 0; i < MAX_IDLE; i++) {
    cl_kernel none = NULL;
    if (atomic_load_explicit(&b->idle[i], memory_order_relaxed) != NULL) continue;
    if (atomic_compare_exchange_strong_explicit(&b->idle[i], &none, k, memory_order_release, memory_order_relaxed)) return;
  }
  clReleaseKernel(k);
}

static int launch(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  cl_function* f = self;
  size_t s[6], global[3];
  parts p;
  (void)result;
  if (TVMGO_UNLIKELY(n != f->num_args + f->num_launch)) return wrong_count(f, n);
  const cl_device* d = active_device();
  if (d == NULL) return -1;
  cl_built* b = built_for(f, d);
  if (b == NULL) return -1;
  cl_command_queue q = tvmgo_cl_queue(d, tvmgo_stream_get(kDLOpenCL, d->index));
  if (q == NULL || sizes_of(f, args + f->num_args, s) != 0 || check_sizes(f, d, b, s, global) != 0) return -1;
  p.n = 0;
  int rc = 0;
  cl_int code = CL_SUCCESS;
  cl_kernel k = take(f, d, b);
  if (k == NULL) return -1;
  for (int i = 0; i < f->num_args && rc == 0; i++) rc = set_arg(f, i, d, k, &args[i], &p);
  if (rc == 0) {
    tvmgo_cl_enter(d);
    code = clEnqueueNDRangeKernel(q, k, f->work_dim, NULL, global, s + 3, 0, NULL, NULL);
    tvmgo_cl_leave(d);
  }
  give_back(b, k);
  for (int i = 0; i < p.n; i++) clReleaseMemObject(p.at[i]); /* the queued kernel keeps them */
  if (TVMGO_UNLIKELY(code != CL_SUCCESS)) rc = tvmgo_cl_raise(code, "launch " SHAPE, SHAPE_ARGS(f, s, d));
  return rc;
}

/* ---- making and freeing ---- */

cl_module* tvmgo_cl_module_new(int32_t num_functions, uintptr_t go) {
  cl_module* m = calloc(1, sizeof *m);
  if (m == NULL) return NULL;
  m->functions = calloc(num_functions > 0 ? (size_t)num_functions : 1, sizeof *m->functions);
  if (m->functions == NULL) {
    free(m);
    return NULL;
  }
  m->num_functions = num_functions;
  m->go = go;
  m->refs = 1;
  return m;
}

static void free_built(cl_built* b) {
  if (b == NULL) return;
  for (int i = 0; i < MAX_IDLE; i++)
    if (b->idle[i] != NULL) clReleaseKernel(b->idle[i]); /* queued launches keep it */
  free(b);
}

void tvmgo_cl_module_release(cl_module* m) {
  if (atomic_fetch_sub(&m->refs, 1) != 1 || !tvmgo_can_enter_go()) return;
  for (int32_t i = 0; i < m->num_functions; i++) {
    for (int d = 0; d < MAX_DEVICES; d++) free_built(m->functions[i].built[d]);
    free(m->functions[i].name);
    free(m->functions[i].symbol);
  }
  free(m->functions);
  tvmgoOpenCLModuleFree(m->go);
  free(m);
}

int tvmgo_cl_function_set(cl_module* m, int32_t index, const char* name, const char* symbol, const uint8_t* args,
                          int32_t num_args, const uint8_t* launch_list, int32_t num_launch) {
  cl_function* f = &m->functions[index];
  f->module = m;
  f->index = index;
  f->name = strdup(name);
  f->symbol = strdup(symbol);
  if (f->name == NULL || f->symbol == NULL) return tvmgo_raise_oom();
  f->num_args = num_args;
  f->num_launch = num_launch;
  if (num_args > 0) memcpy(f->args, args, (size_t)num_args);
  f->work_dim = 1;
  for (int32_t i = 0; i < num_launch; i++) {
    f->launch[i] = launch_list[i];
    uint32_t dim = launch_list[i] % 3 + 1u;
    if (dim > f->work_dim) f->work_dim = dim;
  }
  return 0;
}

static void drop(void* self) { tvmgo_cl_module_release(((cl_function*)self)->module); }

void* tvmgo_cl_function_object(cl_module* m, int32_t index) {
  TVMFFIObjectHandle h = NULL;
  atomic_fetch_add(&m->refs, 1);
  if (TVMFFIFunctionCreate(&m->functions[index], launch, drop, &h) == 0) return h;
  atomic_fetch_sub(&m->refs, 1);
  return NULL;
}

static int save_programs(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const cl_module* m = self;
  const cl_device* d = active_device();
  void* data = NULL;
  size_t size = 0;
  (void)args;
  if (n != 0) return tvmgo_raise(TVMGO_TYPE_ERROR, "opencl.GetPreCompiledPrograms takes no arguments, %d were given", (int)n);
  if (d == NULL || tvmgo_enter_go("compiling programs") != 0 || tvmgoOpenCLSavePrograms(m->go, d->index, &data, &size) != 0)
    return -1;
  int rc = tvmgo_bytes_make(data, size, result);
  free(data);
  return rc;
}

static int load_programs(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const cl_module* m = self;
  const cl_device* d = active_device();
  TVMFFIByteArray bytes;
  (void)result;
  if (n != 1) return tvmgo_raise(TVMGO_TYPE_ERROR, "opencl.SetPreCompiledPrograms takes the bytes, %d arguments were given", (int)n);
  if (d == NULL || tvmgo_arg_text("opencl.SetPreCompiledPrograms", args, 0, &bytes) != 0 ||
      tvmgo_enter_go("taking programs") != 0)
    return -1;
  return tvmgoOpenCLLoadPrograms(m->go, d->index, (void*)bytes.data, bytes.size);
}

static void drop_module(void* self) { tvmgo_cl_module_release(self); }

void* tvmgo_cl_programs_object(cl_module* m, int takes) {
  TVMFFIObjectHandle h = NULL;
  atomic_fetch_add(&m->refs, 1);
  if (TVMFFIFunctionCreate(m, takes ? load_programs : save_programs, drop_module, &h) == 0) return h;
  atomic_fetch_sub(&m->refs, 1);
  return NULL;
}

int tvmgo_cl_built_set(cl_module* m, int32_t index, const cl_device* d, cl_program program, cl_kernel k) {
  cl_function* f = &m->functions[index];
  cl_uint num_args = 0;
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
  if (rc == CL_SUCCESS && (int32_t)num_args == f->num_args) {
    atomic_store_explicit(&f->built[d->index], b, memory_order_release);
    return 0;
  }
  free_built(b);
  if (rc != CL_SUCCESS) return tvmgo_cl_raise(rc, "kernel %s on opencl:%d", f->name, (int)d->index);
  return tvmgo_raise(TVMGO_CORRUPT_ERROR, "kernel %s has %u arguments in its source, but %d in its description", f->name,
                     (unsigned)num_args, (int)f->num_args);
}
