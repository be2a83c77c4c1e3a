/* Kernels of a device module: what all kinds of devices share of how they are described, called and kept alive.
 *
 * A kind has a struct of its own for a kernel that begins with tvmgo_kernel, and a class. Go makes the module; function objects
 * that were handed out keep it alive after Go has given it up. What runs per launch is inline here. */
#ifndef TVMGO_KERNELS_H_
#define TVMGO_KERNELS_H_

#include "core.h"

enum { TVMGO_MAX_KERNEL_ARGS = 256 };

/* What an argument is (docs/abi.md D.2). */
typedef enum {
  TVMGO_ARG_MEMORY,
  TVMGO_ARG_INT64,
  TVMGO_ARG_INT32,
  TVMGO_ARG_UINT32,
  TVMGO_ARG_FLOAT64,
  TVMGO_ARG_FLOAT32,
  TVMGO_ARG_TENSOR_MAP
} tvmgo_kernel_arg;

/* What a value behind the arguments is: three dimensions each, and bytes of shared memory. Go has their names (internal/launch). */
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
  uint8_t args[TVMGO_MAX_KERNEL_ARGS]; /* tvmgo_kernel_arg */
  uint8_t launch[TVMGO_MAX_LAUNCH];    /* of each value after the arguments */
} tvmgo_kernel;

typedef struct {
  size_t kernel_size; /* bytes of the kind's struct */
  TVMFFISafeCallType launch;
  void (*free_kernel)(tvmgo_kernel* k); /* what the kind's struct holds beside the tvmgo_kernel */
  void (*free_go)(uintptr_t go);        /* the last reference is gone; Go can be entered */
  /* What the byte_offset of a tensor argument must be a multiple of on a device; 0 with an error raised. NULL where data are addresses. */
  size_t (*offset_alignment)(int32_t device);
} tvmgo_kernel_class;

/* The kernels of a module. The module of Go, and each function that was handed out, hold a reference. */
typedef struct tvmgo_kernels {
  _Atomic int64_t refs;
  const tvmgo_kernel_class* cls;
  uintptr_t go; /* handle of the Go side, which holds the programs */
  int32_t count;
  char* list;
} tvmgo_kernels;

static inline tvmgo_kernel* tvmgo_kernel_at(const tvmgo_kernels* m, int32_t index) {
  return (tvmgo_kernel*)(m->list + (size_t)index * m->cls->kernel_size);
}

/* One reference; NULL when memory is out, and then go is the caller's still. */
tvmgo_kernels* tvmgo_kernels_new(const tvmgo_kernel_class* cls, int32_t count, uintptr_t go);
void tvmgo_kernels_release(tvmgo_kernels* m);
/* Fills in a kernel; the lists, of at most the numbers above, are copied. -1 with an error raised when memory is out. */
int tvmgo_kernel_describe(tvmgo_kernels* m, int32_t index, const char* name, const char* symbol, const uint8_t* args,
                          int32_t num_args, const uint8_t* launch, int32_t num_launch, const char* sizes);
/* The function object of a kernel, owned; NULL with an error raised. */
void* tvmgo_kernel_object(tvmgo_kernels* m, int32_t index);
/* The same for another function that a module of the kind has: its self is the module. */
void* tvmgo_kernels_object(tvmgo_kernels* m, TVMFFISafeCallType call);
/* The function that returns the class's offset_alignment for a device number. A module that has it launches kernels with tensors as
 * well as with their data, which is how host code finds out. Owned; NULL with an error raised. */
void* tvmgo_kernels_alignment_object(tvmgo_kernels* m);

/* An error of Go's, raised on the calling thread; always returns -1. */
int tvmgo_raise_text(const char* kind, const char* text, size_t n, const char* backtrace, size_t backtrace_len);
/* Takes the error that was raised: its text and in *kind its kind, both to be freed; NULL when there is none. */
char* tvmgo_take_error_text(char** kind);

/* ---- for launches ---- */

/* "argument 2 of kernel add" is what messages begin with. */
#define TVMGO_ARG "kernel %s: argument %d"

int tvmgo_kernel_bad_type(const tvmgo_kernel* k, int i, const char* want, const TVMFFIAny* v);
int tvmgo_kernel_too_wide(const tvmgo_kernel* k, int i, int64_t v);
int tvmgo_kernel_bad_size(const tvmgo_kernel* k, int i, int64_t v);
int tvmgo_kernel_wrong_count(const tvmgo_kernel* k, int32_t n);

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

/* A number as the kernel takes it. */
typedef union {
  int64_t i64;
  uint32_t u32; /* of both signs: the same bits */
  double f64;
  float f32;
} tvmgo_scalar;

/* Argument i, which is a number, from a value. *size: its bytes. */
static inline int tvmgo_kernel_scalar(const tvmgo_kernel* k, int i, const TVMFFIAny* v, tvmgo_scalar* out, size_t* size) {
  int64_t whole = 0;
  double real = 0;
  *size = 4;
  switch ((tvmgo_kernel_arg)k->args[i]) {
    case TVMGO_ARG_INT64:
      *size = 8;
      return tvmgo_kernel_int(k, i, v, &out->i64);
    case TVMGO_ARG_FLOAT64:
      *size = 8;
      return tvmgo_kernel_float(k, i, v, &out->f64);
    case TVMGO_ARG_FLOAT32:
      if (tvmgo_kernel_float(k, i, v, &real) != 0) return -1;
      out->f32 = (float)real;
      return 0;
    default:
      if (tvmgo_kernel_int(k, i, v, &whole) != 0) return -1;
      if (TVMGO_UNLIKELY(whole < INT32_MIN || whole > (k->args[i] == TVMGO_ARG_INT32 ? INT32_MAX : (int64_t)UINT32_MAX)))
        return tvmgo_kernel_too_wide(k, i, whole);
      out->u32 = (uint32_t)whole;
      return 0;
  }
}

/* The launch's sizes, by what they are; those that are not given are 1, and so are zeroes of clusters; shared memory is 0 then. */
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

/* Whether a launch has no work item: it is done as soon as it is asked for, which drivers answer in several ways. */
static inline int tvmgo_kernel_is_empty(const size_t s[TVMGO_MAX_LAUNCH]) {
  return TVMGO_UNLIKELY(s[0] == 0 || s[1] == 0 || s[2] == 0 || s[3] == 0 || s[4] == 0 || s[5] == 0);
}

/* Whether a launch has at most so many blocks as a number of 32 bits counts. Drivers for OpenCL and Vulkan multiply the sizes of the
 * grid in 32 bits, and divide by the product. */
static inline int tvmgo_kernel_blocks_fit(const size_t s[TVMGO_MAX_LAUNCH]) {
  size_t n;
  return TVMGO_LIKELY(!__builtin_mul_overflow(s[0], s[1], &n) && !__builtin_mul_overflow(n, s[2], &n) && n <= UINT32_MAX);
}
int tvmgo_kernel_too_many_blocks(const tvmgo_kernel* k, const size_t* s, const char* device, int32_t id);

/* Grid and block of a launch on a device, as messages show them. */
#define TVMGO_SHAPE "kernel %s with grid [%zu, %zu, %zu] and block [%zu, %zu, %zu] on %s:%d"
#define TVMGO_SHAPE_ARGS(k, s, device, id) (k)->name, (s)[0], (s)[1], (s)[2], (s)[3], (s)[4], (s)[5], device, (int)(id)

#endif
