/* Kernels of device modules: how they are described, called and kept alive, for all devices.
 *
 * A package of devices has a struct for a kernel that begins with tvmgo_kernel, and a class. Go makes the module;
 * function objects that were handed out keep it alive after Go has closed it. Code that runs for each launch is inline
 * here. */
#pragma once

#include "backend.h"
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

/* The values behind the arguments: three dimensions of each, and bytes of shared memory. Go has their names
 * (internal/launch). */
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
  char* name;   /* under which it is looked up */
  char* symbol; /* in the code */
  char* sizes;  /* names of the values after the arguments, for messages */
  int32_t num_args, num_launch;
  uint8_t args[TVMGO_MAX_KERNEL_ARGS];     /* tvmgo_kernel_arg */
  uint8_t launch[TVMGO_MAX_LAUNCH];        /* of each value after the arguments */
  uint8_t programmatic, cooperative;       /* launch parameters without a value */
  _Atomic(void*) built[TVMGO_MAX_DEVICES]; /* the package's own, for each device; NULL before the first launch there */
} tvmgo_kernel;

/* What the kernels of a package of devices have in common; constant. NULL functions do nothing. */
typedef struct {
  size_t kernel_size; /* bytes of the package's struct */
  int32_t device_type;
  const char* copy_advice; /* continues "copy it there" in the error for an array of another device; NULL for nothing */
  TVMFFISafeCallType launch;
  /* Completes a kernel that was described. -1 with an error raised. */
  int (*complete)(tvmgo_kernel* k);
  void (*free_built)(void* built);
  /* Whether a built kernel can still be launched on its device; NULL: always. */
  int (*is_current)(const void* built, int32_t device);
  /* The multiple that the byte_offset of a tensor argument must be on a device; 0 with an error raised. NULL if data
   * are addresses. */
  size_t (*offset_alignment)(int32_t device);
} tvmgo_kernel_class;

/* The kernels of a module. The module in Go, and each function that was handed out, hold a reference. */
typedef struct tvmgo_kernels {
  _Atomic int64_t refs;
  const tvmgo_kernel_class* cls;
  uintptr_t go; /* a cgo.Handle of the Go side (builder.go) */
  int32_t count;
  char* list;
} tvmgo_kernels;

static inline tvmgo_kernel* tvmgo_kernel_at(const tvmgo_kernels* m, int32_t index) {
  return (tvmgo_kernel*)(m->list + (size_t)index * m->cls->kernel_size);
}

/* One reference; NULL if memory is out, and then the caller still owns go. */
tvmgo_kernels* tvmgo_kernels_new(const tvmgo_kernel_class* cls, int32_t count, uintptr_t go);
void tvmgo_kernels_release(tvmgo_kernels* m);
/* The description of a kernel. Texts and lists are borrowed; the lists have at most the numbers above. */
typedef struct {
  const char *name, *symbol, *sizes;
  const uint8_t *args, *launch;
  int32_t num_args, num_launch;
  int programmatic, cooperative;
} tvmgo_kernel_type;
/* Fills in and completes kernel i. -1 with an error raised. */
int tvmgo_kernel_describe(tvmgo_kernels* m, int32_t i, const tvmgo_kernel_type* type);
/* The function object of a kernel, owned; NULL with an error raised. */
void* tvmgo_kernel_object(tvmgo_kernels* m, int32_t index);
/* The same for another function of a module: its self is the module. */
void* tvmgo_kernels_object(tvmgo_kernels* m, TVMFFISafeCallType call);
/* The function that returns the class's offset_alignment for a device number. A module that has it launches kernels
 * with tensors as well as with their data, which is how host code finds out. Owned; NULL with an error raised. */
void* tvmgo_kernels_alignment_object(tvmgo_kernels* m);

/* Raises an error of Go on the calling thread; always returns -1. */
int tvmgo_raise_text(const char* kind, const char* text, size_t n, const char* backtrace, size_t backtrace_len);
/* Takes the error that was raised: its text and in *kind its kind, both to be freed; NULL if there is none. */
char* tvmgo_take_error_text(char** kind);

/* ---- building kernels ---- */

/* What was built of a kernel for a device; NULL if nothing was. */
static inline void* tvmgo_kernel_built(const tvmgo_kernel* k, int32_t device) {
  return atomic_load_explicit(&k->built[device], memory_order_acquire);
}

/* Whether that is there and current. */
static inline int tvmgo_kernel_is_built(const tvmgo_kernel* k, int32_t device) {
  const void* built = tvmgo_kernel_built(k, device);
  const tvmgo_kernel_class* cls = k->module->cls;
  return built != NULL && (cls->is_current == NULL || cls->is_current(built, device));
}

/* Publishes what was built, under Go's lock. */
static inline void tvmgo_kernel_set_built(tvmgo_kernel* k, int32_t device, void* built) {
  atomic_store_explicit(&k->built[device], built, memory_order_release);
}

/* Builds a kernel for a device, if no other thread has done so by now; enters Go. NULL with an error raised. */
void* tvmgo_kernel_build(tvmgo_kernel* k, int32_t device);

/* ---- for launches ---- */

/* "kernel add: argument 2" begins messages. */
#define TVMGO_ARG "kernel %s: argument %d"

int tvmgo_kernel_bad_type(const tvmgo_kernel* k, int i, const char* want, const TVMFFIAny* v);
int tvmgo_kernel_too_wide(const tvmgo_kernel* k, int i, int64_t v);
int tvmgo_kernel_bad_size(const tvmgo_kernel* k, int i, int64_t v);
int tvmgo_kernel_wrong_count(const tvmgo_kernel* k, int32_t n);
int tvmgo_kernel_no_memory(const tvmgo_kernel* k, int i, int32_t device);
int tvmgo_kernel_bad_memory(const tvmgo_kernel* k, int i, int32_t device, const TVMFFIAny* v, const DLTensor* t);
int tvmgo_kernel_bad_handle(const tvmgo_kernel* k, int i, int32_t device, const tvmgo_handles* all, const void* data);
int tvmgo_kernel_bad_offset(const tvmgo_kernel* k, int i, int32_t device, size_t offset, size_t nbytes, size_t align);

/* The number of the calling thread's active device, after a check that there are as many values as the kernel takes; -1
 * with an error raised. Finds the devices, if that has not been done. Whether the number exists is the caller's to
 * check. */
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

/* An argument in memory, as drivers take it: a scalar of 8 bytes, one of 4 bytes with zeroes behind it, or an
 * address. */
typedef union {
  int64_t i64;
  uint32_t u32; /* of both signs: the same bits */
  double f64;
  float f32;
  uint64_t bits;
  uintptr_t address;
} tvmgo_kernel_slot;

/* Bytes of a scalar argument. */
static inline size_t tvmgo_kernel_scalar_size(const tvmgo_kernel* k, int i) {
  return k->args[i] == TVMGO_ARG_INT64 || k->args[i] == TVMGO_ARG_FLOAT64 ? 8 : 4;
}

/* Argument i, a scalar, from a value. */
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

/* The memory that a value stands for: *data, as generated code passes it, and the tensor if the value is an array, else
 * NULL. An array is of the kernel's type of device, or of host memory that such devices reach. -1 with an error
 * raised. */
static inline int tvmgo_kernel_memory(const tvmgo_kernel* k, int i, int32_t device_type, int32_t device,
                                      const TVMFFIAny* v,
                                      const void** data, const DLTensor** tensor) {
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

/* The handle of memory that an argument's data is, of the device of the launch; NULL with an error raised. */
static inline const void* tvmgo_kernel_handle(const tvmgo_kernel* k, int i, int32_t device, const tvmgo_handles* all,
                                              const void* data) {
  if (TVMGO_LIKELY(tvmgo_handle_kind(all, data) - 1u < all->memory_kinds &&
                   ((const tvmgo_handle*)data)->device == device))
    return data;
  tvmgo_kernel_bad_handle(k, i, device, all, data);
  return NULL;
}

/* Whether a kernel can take memory of nbytes from an offset on, which must be a multiple of align: 0, or -1 with an
 * error raised. */
static inline int tvmgo_kernel_check_offset(const tvmgo_kernel* k, int i, int32_t device, size_t offset, size_t nbytes,
                                            size_t align) {
  if (TVMGO_LIKELY(offset < nbytes && offset % align == 0)) return 0;
  return tvmgo_kernel_bad_offset(k, i, device, offset, nbytes, align);
}

/* The launch sizes by their TVMGO_LAUNCH number. Missing ones are 1, and so are clusters of 0; missing shared memory is
 * 0. */
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

/* Whether a launch has no work item. It is complete at once; drivers disagree on such launches. */
static inline int tvmgo_kernel_is_empty(const size_t s[TVMGO_MAX_LAUNCH]) {
  return TVMGO_UNLIKELY(s[0] == 0 || s[1] == 0 || s[2] == 0 || s[3] == 0 || s[4] == 0 || s[5] == 0);
}

/* Whether the number of blocks fits into 32 bits. Drivers for OpenCL and Vulkan multiply the sizes of the grid in 32
 * bits, and divide by the product. */
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
