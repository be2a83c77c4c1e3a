/* Kernels of device modules, for all device types: how they are described, launched and kept alive.
 *
 * Each device package has a struct for a kernel that begins with tvmgo_kernel, and one tvmgo_kernel_class. Go creates
 * the module. Function objects that callers hold keep it alive after Go has closed it. The code that runs in each
 * launch is inline in this header. */
#pragma once

#include "backend.h"
#include "device/work.h"
#include "handle.h"

enum { TVMGO_MAX_KERNEL_ARGS = 256 };

/* The type of an argument (docs/abi.md D.2). */
typedef enum {
  TVMGO_ARG_MEMORY,
  TVMGO_ARG_INT64,
  TVMGO_ARG_INT32,
  TVMGO_ARG_UINT32,
  TVMGO_ARG_FLOAT64,
  TVMGO_ARG_FLOAT32,
  TVMGO_ARG_TENSOR_MAP
} tvmgo_kernel_arg;

/* Numbers of the launch sizes, which follow the arguments of a call: three dimensions each, and the bytes of dynamic
 * shared memory. internal/launch has their names. */
enum {
  TVMGO_LAUNCH_GRID = 0,
  TVMGO_LAUNCH_BLOCK = 3,
  TVMGO_LAUNCH_CLUSTER = 6,
  TVMGO_LAUNCH_PREFERRED = 9,
  TVMGO_LAUNCH_SHARED = 12,
  TVMGO_MAX_LAUNCH = 13
};

typedef struct {
  struct tvmgo_kernels* module;
  int32_t index;
  char* name;   /* the name under which callers look it up */
  char* symbol; /* its name in the code */
  char* sizes;  /* names of the launch sizes, for messages */
  int32_t num_args, num_launch;
  uint8_t args[TVMGO_MAX_KERNEL_ARGS];     /* tvmgo_kernel_arg */
  uint8_t launch[TVMGO_MAX_LAUNCH];        /* TVMGO_LAUNCH number of each value after the arguments */
  uint8_t programmatic, cooperative;       /* launch parameters without a value */
  _Atomic(void*) built[TVMGO_MAX_DEVICES]; /* the device package's loaded kernel; NULL before the first launch there */
} tvmgo_kernel;

/* What a driver reports about a kernel on a device: runtime.KernelResources. -1 is what it does not report. */
typedef struct {
  int64_t registers, local_bytes, shared_bytes, constant_bytes, max_threads, multiple, blocks;
} tvmgo_kernel_report;

/* What all kernels of a device package have in common; constant. Functions may be NULL where the comment says so. */
typedef struct {
  size_t kernel_size; /* size of the package's struct that begins with tvmgo_kernel, in bytes */
  int32_t device_type;
  const char* copy_advice; /* continues "copy it there" in the error for an array of another device; NULL for nothing */
  TVMFFISafeCallType launch;
  /* Fills in the package's own fields of a kernel after tvmgo_kernel_describe; may be NULL. 0, or -1 with an error
   * raised. */
  int (*complete)(tvmgo_kernel* k);
  void (*free_built)(void* built);
  /* Whether a built kernel can still be launched on its device. NULL if it always can. */
  int (*is_current)(const void* built, int32_t device);
  /* The alignment of a tensor argument's byte_offset on a device, in bytes; 0 with an error raised. NULL if the data of
   * tensors are addresses. */
  size_t (*offset_alignment)(int32_t device);
  /* Fills in *out, which has -1 everywhere, for a built kernel. blocks is for blocks of a number of threads, 0 if it is
   * not known, with so many bytes of dynamic shared memory. 0, or -1 with an error raised. NULL if the driver reports
   * nothing. */
  int (*report)(const tvmgo_kernel* k, void* built, int32_t device, int64_t threads, size_t dynamic,
                tvmgo_kernel_report* out);
} tvmgo_kernel_class;

/* The kernels of a module. The module in Go and each function object hold one reference. */
typedef struct tvmgo_kernels {
  _Atomic int64_t refs;
  const tvmgo_kernel_class* cls;
  uintptr_t go; /* cgo.Handle of the Builder (module.go) */
  int32_t count;
  char* list;
} tvmgo_kernels;

static inline tvmgo_kernel* tvmgo_kernel_at(const tvmgo_kernels* m, int32_t index) {
  return (tvmgo_kernel*)(m->list + (size_t)index * m->cls->kernel_size);
}

/* The result has one reference. NULL if out of memory; then the caller still owns go. */
tvmgo_kernels* tvmgo_kernels_new(const tvmgo_kernel_class* cls, int32_t count, uintptr_t go);
void tvmgo_kernels_release(tvmgo_kernels* m);
/* The description of a kernel. Strings and arrays are borrowed; the arrays have at most TVMGO_MAX_KERNEL_ARGS and
 * TVMGO_MAX_LAUNCH elements. */
typedef struct {
  const char *name, *symbol, *sizes;
  const uint8_t *args, *launch;
  int32_t num_args, num_launch;
  int programmatic, cooperative;
} tvmgo_kernel_type;
/* Sets the description of kernel i. 0, or -1 with an error raised. */
int tvmgo_kernel_describe(tvmgo_kernels* m, int32_t i, const tvmgo_kernel_type* type);
/* A new function object that launches a kernel; the caller owns it. NULL with an error raised. */
void* tvmgo_kernel_object(tvmgo_kernels* m, int32_t index);
/* A new function object that runs call, with the tvmgo_kernels as self; the caller owns it. NULL with an error
 * raised. */
void* tvmgo_kernels_object(tvmgo_kernels* m, TVMFFISafeCallType call);
/* A new function object that returns the class's offset_alignment for a device number; the caller owns it. Host code
 * that finds this function may pass tensors to kernels, not only their data. NULL with an error raised. */
void* tvmgo_kernels_alignment_object(tvmgo_kernels* m);

/* Raises an error that came from Go on the calling thread; always returns -1. */
int tvmgo_raise_text(const char* kind, const char* text, size_t n, const char* backtrace, size_t backtrace_len);
/* Clears the raised error, and returns its text and in *kind its kind; the caller frees both. NULL if there is none. */
char* tvmgo_take_error_text(char** kind);

/* ---- building kernels ---- */

/* What the device package built from a kernel for a device; NULL if it has built nothing. */
static inline void* tvmgo_kernel_built(const tvmgo_kernel* k, int32_t device) {
  return atomic_load_explicit(&k->built[device], memory_order_acquire);
}

/* Whether a kernel is built for a device and can still be launched there. */
static inline int tvmgo_kernel_is_built(const tvmgo_kernel* k, int32_t device) {
  const void* built = tvmgo_kernel_built(k, device);
  const tvmgo_kernel_class* cls = k->module->cls;
  return built != NULL && (cls->is_current == NULL || cls->is_current(built, device));
}

/* Publishes what was built. The caller holds the Builder's lock. */
static inline void tvmgo_kernel_set_built(tvmgo_kernel* k, int32_t device, void* built) {
  atomic_store_explicit(&k->built[device], built, memory_order_release);
}

/* Builds a kernel for a device unless another thread has built it in the meantime; enters Go. NULL with an error
 * raised. */
void* tvmgo_kernel_build(tvmgo_kernel* k, int32_t device);

/* Reports about kernel `index` on a device, and builds it first if necessary; see report of the class. The device must
 * exist. 0; 1 if the driver reports nothing; -1 with an error raised. */
int tvmgo_kernel_report_on(tvmgo_kernels* m, int32_t index, int32_t device, int64_t threads, size_t dynamic,
                           tvmgo_kernel_report* out);

/* ---- launches ---- */

/* Whether the profile of the calling thread wants this launch: then it is tvmgo_kernel_launch_profiled, which calls
 * launch of the class. */
static inline int tvmgo_kernel_is_profiled(void) {
  return TVMGO_UNLIKELY(tvmgo_profiling != NULL) && !tvmgo_profiling->launching;
}
int tvmgo_kernel_launch_profiled(tvmgo_kernel* k, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);

/* Begins messages, as in "kernel add: argument 2". */
#define TVMGO_ARG "kernel %s: argument %d"

int tvmgo_kernel_bad_type(const tvmgo_kernel* k, int i, const char* want, const TVMFFIAny* v);
int tvmgo_kernel_too_wide(const tvmgo_kernel* k, int i, int64_t v);
int tvmgo_kernel_bad_size(const tvmgo_kernel* k, int i, int64_t v);
int tvmgo_kernel_wrong_count(const tvmgo_kernel* k, int32_t n);
int tvmgo_kernel_no_memory(const tvmgo_kernel* k, int i, int32_t device);
int tvmgo_kernel_bad_memory(const tvmgo_kernel* k, int i, int32_t device, const TVMFFIAny* v, const DLTensor* t);
int tvmgo_kernel_bad_handle(const tvmgo_kernel* k, int i, int32_t device, const tvmgo_handles* all, const void* data);
int tvmgo_kernel_bad_offset(const tvmgo_kernel* k, int i, int32_t device, size_t offset, size_t nbytes, size_t align);

/* Checks the number of values, and returns the number of the calling thread's active device; -1 with an error raised.
 * Enumerates the devices if that has not been done. The caller checks that the device exists. */
static inline int32_t tvmgo_kernel_begin(const tvmgo_kernel* k, int32_t device_type, int32_t n) {
  if (TVMGO_UNLIKELY(n != k->num_args + k->num_launch)) return tvmgo_kernel_wrong_count(k, n);
  int32_t id = tvmgo_thread_get()->active_device[device_type];
  return tvmgo_device_api(device_type) == NULL ? -1 : id;
}

static inline int tvmgo_kernel_int(const tvmgo_kernel* k, int i, const TVMFFIAny* v, int64_t* out) {
  if (TVMGO_UNLIKELY(v->type_index != kTVMFFIInt && v->type_index != kTVMFFIBool))
    return tvmgo_kernel_bad_type(k, i, "an integer", v);
  *out = v->v_int64;
  return 0;
}

static inline int tvmgo_kernel_float(const tvmgo_kernel* k, int i, const TVMFFIAny* v, double* out) {
  if (TVMGO_LIKELY(v->type_index == kTVMFFIFloat)) *out = v->v_float64;
  else if (v->type_index == kTVMFFIInt || v->type_index == kTVMFFIBool) *out = (double)v->v_int64;
  else return tvmgo_kernel_bad_type(k, i, "a number", v);
  return 0;
}

/* An argument as drivers read it from memory: a scalar of 8 bytes, a scalar of 4 bytes followed by zeros, or an
 * address. */
typedef union {
  int64_t i64;
  uint32_t u32; /* signed values, too: they have the same bits */
  double f64;
  float f32;
  uint64_t bits;
  uintptr_t address;
} tvmgo_kernel_slot;

/* The size of a scalar argument in bytes. */
static inline size_t tvmgo_kernel_scalar_size(const tvmgo_kernel* k, int i) {
  return k->args[i] == TVMGO_ARG_INT64 || k->args[i] == TVMGO_ARG_FLOAT64 ? 8 : 4;
}

/* Converts a value to argument i, a scalar. 0, or -1 with an error raised. */
static inline int tvmgo_kernel_scalar(const tvmgo_kernel* k, int i, const TVMFFIAny* v, tvmgo_kernel_slot* out) {
  int64_t n = 0;
  double real = 0;
  switch ((tvmgo_kernel_arg)k->args[i]) {
    case TVMGO_ARG_INT64: return tvmgo_kernel_int(k, i, v, &out->i64);
    case TVMGO_ARG_FLOAT64: return tvmgo_kernel_float(k, i, v, &out->f64);
    case TVMGO_ARG_FLOAT32:
      if (tvmgo_kernel_float(k, i, v, &real) != 0) return -1;
      out->bits = 0;
      out->f32 = (float)real;
      return 0;
    default:
      if (tvmgo_kernel_int(k, i, v, &n) != 0) return -1;
      if (TVMGO_UNLIKELY(n < INT32_MIN || n > (k->args[i] == TVMGO_ARG_INT32 ? INT32_MAX : (int64_t)UINT32_MAX)))
        return tvmgo_kernel_too_wide(k, i, n);
      out->bits = (uint32_t)n;
      return 0;
  }
}

/* Reads argument i, device memory, from a value: an array, or the data pointer of one, as generated code passes it.
 * *tensor is the array, NULL for a pointer; *data is the pointer. An array must be on a device of the kernel's type, or
 * in host memory that such devices can access. 0, or -1 with an error raised. */
static inline int tvmgo_kernel_memory(const tvmgo_kernel* k, int i, int32_t device_type, int32_t device,
                                      const TVMFFIAny* v, const void** data, const DLTensor** tensor) {
  const DLTensor* t = NULL;
  *tensor = NULL;
  *data = v->v_ptr;
  if (TVMGO_LIKELY(v->type_index == kTVMFFIOpaquePtr)) return 0;
  if (v->type_index == kTVMFFITensor) t = tvmgo_tensor_dl(v->v_obj);
  else if (v->type_index == kTVMFFIDLTensorPtr) t = v->v_ptr;
  if (TVMGO_UNLIKELY(t == NULL || (t->device.device_type != device_type &&
                                   tvmgo_device_family(t->device.device_type) != device_type)))
    return tvmgo_kernel_bad_memory(k, i, device, v, t);
  *tensor = t;
  *data = t->data;
  return 0;
}

/* Checks that an argument's data is a memory handle of the device of the launch, and returns it; NULL with an error
 * raised. */
static inline const void* tvmgo_kernel_handle(const tvmgo_kernel* k, int i, int32_t device, const tvmgo_handles* all,
                                              const void* data) {
  if (TVMGO_LIKELY(tvmgo_handle_kind(all, data) - 1u < all->memory_kinds &&
                   ((const tvmgo_handle*)data)->device == device))
    return data;
  tvmgo_kernel_bad_handle(k, i, device, all, data);
  return NULL;
}

/* Checks the offset at which an argument begins in an allocation of nbytes: it must be inside the allocation and a
 * multiple of align. 0, or -1 with an error raised. */
static inline int tvmgo_kernel_check_offset(const tvmgo_kernel* k, int i, int32_t device, size_t offset, size_t nbytes,
                                            size_t align) {
  if (TVMGO_LIKELY(offset < nbytes && offset % align == 0)) return 0;
  return tvmgo_kernel_bad_offset(k, i, device, offset, nbytes, align);
}

/* Reads the launch sizes into s, by their TVMGO_LAUNCH numbers. Missing sizes are 1, cluster sizes of 0 count as 1, and
 * missing shared memory is 0. 0, or -1 with an error raised. */
static inline int tvmgo_kernel_sizes(const tvmgo_kernel* k, const TVMFFIAny* values, size_t s[TVMGO_MAX_LAUNCH]) {
  for (int i = 0; i < TVMGO_LAUNCH_SHARED; i++) s[i] = 1;
  s[TVMGO_LAUNCH_SHARED] = 0;
  for (int i = 0; i < k->num_launch; i++) {
    int64_t v = 0;
    if (tvmgo_kernel_int(k, k->num_args + i, &values[i], &v) != 0) return -1;
    if (TVMGO_UNLIKELY(v < 0)) return tvmgo_kernel_bad_size(k, k->num_args + i, v);
    int is_cluster = k->launch[i] >= TVMGO_LAUNCH_CLUSTER && k->launch[i] < TVMGO_LAUNCH_SHARED;
    s[k->launch[i]] = v == 0 && is_cluster ? 1 : (size_t)v;
  }
  return 0;
}

/* Whether a launch has no work-item. The caller then launches nothing, because drivers disagree on such launches. */
static inline int tvmgo_kernel_is_empty(const size_t s[TVMGO_MAX_LAUNCH]) {
  return TVMGO_UNLIKELY(s[0] == 0 || s[1] == 0 || s[2] == 0 || s[3] == 0 || s[4] == 0 || s[5] == 0);
}

/* Whether the number of blocks fits into 32 bits. Drivers of OpenCL and Vulkan multiply the grid's sizes in 32 bits and
 * divide by the product, which would be 0 after an overflow. */
static inline int tvmgo_kernel_blocks_fit(const size_t s[TVMGO_MAX_LAUNCH]) {
  size_t n;
  return TVMGO_LIKELY(!__builtin_mul_overflow(s[0], s[1], &n) && !__builtin_mul_overflow(n, s[2], &n) &&
                      n <= UINT32_MAX);
}
int tvmgo_kernel_too_many_blocks(const tvmgo_kernel* k, const size_t* s, int32_t device);

/* Grid and block of a launch on a device of the kernel's type, for messages. */
#define TVMGO_SHAPE "kernel %s with grid [%zu, %zu, %zu] and block [%zu, %zu, %zu] on %s:%d"
#define TVMGO_SHAPE_ARGS(k, s, device)                                                                               \
  (k)->name, (s)[0], (s)[1], (s)[2], (s)[3], (s)[4], (s)[5], tvmgo_device_type_name((k)->module->cls->device_type),  \
      (int)(device)
