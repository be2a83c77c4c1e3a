/* Shapes and integers whose values are known when a program runs: they are checked against, stored in and made from
 * the shape heap, an int64 tensor on the host with one slot for each symbolic variable of a function. */
#include "vm/builtins.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What to do with a dimension (docs/abi.md G.3). */
enum { EQUALS_IMMEDIATE, STORE, IGNORE, EQUALS_LOADED };
enum { USE_IMMEDIATE, LOAD };

typedef struct {
  int64_t* slots; /* NULL: the function has no heap */
  int64_t size;
} heap;

static int arg_heap(const char* f, const TVMFFIAny* args, int32_t i, heap* out) {
  const DLTensor* t;
  if (tvmgo_vm_arg_tensor(f, args, i, &t) != 0) return -1;
  if (t->ndim != 1 || t->dtype.code != kDLInt || t->dtype.bits != 64 || t->dtype.lanes != 1 ||
      t->device.device_type != kDLCPU || !tvmgo_dl_contiguous(t))
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "%s: argument %d must be a shape heap, a compact int64 tensor of one dimension on the CPU: make "
                       "it with vm.builtin.alloc_shape_heap", f, (int)i);
  *out = (heap){(int64_t*)((char*)t->data + t->byte_offset), t->shape[0]};
  return 0;
}

/* Functions without symbolic variables pass None. */
static int arg_heap_or_none(const char* f, const TVMFFIAny* args, int32_t i, heap* out) {
  *out = (heap){NULL, 0};
  return args[i].type_index == kTVMFFINone ? 0 : arg_heap(f, args, i, out);
}

static int no_slot(const char* f, const heap* h, int64_t slot) {
  return tvmgo_raise(TVMGO_INDEX_ERROR, "%s: the shape heap has no slot %" PRId64 ", only %" PRId64 " slots", f, slot,
                     h->size);
}
static inline int has_slot(const heap* h, int64_t slot) { return slot >= 0 && slot < h->size; }

/* What does not match: dimension i of a shape, or with shape NULL an integer. */
static int mismatch(const char* f, const TVMFFIAny* context, const tvmgo_vm_dims* shape, int64_t i, int64_t value,
                    int64_t expected, int loaded) {
  tvmgo_vm_context c;
  char what[64] = "the value", text[256];
  if (tvmgo_vm_arg_context(f, context, 0, &c) != 0) return -1;
  if (shape != NULL) snprintf(what, sizeof what, "dimension %" PRId64 " of the shape", i);
  return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: %.*s%s%s%s%s is %" PRId64 ", expected %" PRId64 "%s", f,
                     TVMGO_VM_CONTEXT(c), what, shape == NULL ? "" : " ",
                     shape == NULL ? "" : tvmgo_vm_dims_text(shape->dims, shape->size, text, sizeof text), value,
                     expected, loaded ? ", the value that it had where it was met first" : "");
}

/* One pair of code and operand. */
static inline int match(const char* f, heap* h, int64_t code, int64_t operand, const TVMFFIAny* context,
                        const tvmgo_vm_dims* shape, int64_t i, int64_t value) {
  switch (code) {
    case EQUALS_IMMEDIATE:
      return value == operand ? 0 : mismatch(f, context, shape, i, value, operand, 0);
    case STORE:
      if (!has_slot(h, operand)) return no_slot(f, h, operand);
      h->slots[operand] = value;
      return 0;
    case IGNORE:
      return 0;
    case EQUALS_LOADED:
      if (!has_slot(h, operand)) return no_slot(f, h, operand);
      return value == h->slots[operand] ? 0 : mismatch(f, context, shape, i, value, h->slots[operand], 1);
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "%s: the code of dimension %" PRId64 " is %" PRId64
                     ", expected 0 (equals), 1 (store), 2 (ignore) or 3 (equals what is stored)", f, i, code);
}

static const TVMFFIAny no_context = {.type_index = kTVMFFINone};

/* The number of pairs in argument i, which follow it; the arguments must contain them. */
static int arg_pairs(const char* f, const TVMFFIAny* args, int32_t n, int32_t i, int64_t* pairs) {
  if (tvmgo_arg_int(f, args, i, pairs) != 0) return -1;
  if (*pairs >= 0 && *pairs <= (n - i - 1) / 2) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument %d says that %" PRId64 " pairs of code and operand follow, but "
                     "there are %d more arguments", f, (int)i, *pairs, (int)(n - i - 1));
}

/* (Tensor or Shape, heap, size, (code, operand) * size, context) */
TVMGO_BUILTIN(match_shape) {
  enum { FIRST = 3 };
  tvmgo_vm_dims shape = {NULL, 0, NULL};
  heap h;
  int64_t size;
  if (tvmgo_check_count(f, n, FIRST, -1) != 0) return -1;
  if (args[0].type_index == kTVMFFITensor || args[0].type_index == kTVMFFIDLTensorPtr) {
    const DLTensor* t;
    if (tvmgo_vm_arg_tensor(f, args, 0, &t) != 0) return -1;
    shape.dims = t->shape;
    shape.size = t->ndim;
  } else if (tvmgo_vm_arg_dims(f, args, 0, &shape) != 0) {
    return -1;
  }
  int rc = arg_heap_or_none(f, args, 1, &h) != 0 || arg_pairs(f, args, n, 2, &size) != 0 ? -1 : 0;
  const TVMFFIAny* context = rc == 0 && FIRST + 2 * size < n ? &args[FIRST + 2 * size] : &no_context;
  tvmgo_vm_context c;
  if (rc == 0 && context->type_index != kTVMFFINone) rc = tvmgo_vm_arg_context(f, context, 0, &c);
  if (rc == 0 && size != shape.size) {
    char text[256];
    rc = tvmgo_vm_arg_context(f, context, 0, &c);
    if (rc == 0)
      rc = tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: %.*s%sthe shape %s has %" PRId64 " dimensions, expected %" PRId64, f,
                       TVMGO_VM_CONTEXT(c), tvmgo_vm_dims_text(shape.dims, shape.size, text, sizeof text), shape.size,
                       size);
  }
  for (int64_t i = 0; rc == 0 && i < size; i++) {
    int64_t code, operand;
    int32_t at = (int32_t)(FIRST + 2 * i);
    if (tvmgo_arg_int(f, args, at, &code) != 0 || tvmgo_arg_int(f, args, at + 1, &operand) != 0)
      rc = -1;
    else
      rc = match(f, &h, code, operand, context, &shape, i, shape.dims[i]);
  }
  tvmgo_object_release(shape.made);
  return rc;
}

/* (int, heap, code, operand, context) */
TVMGO_BUILTIN(match_prim_value) {
  heap h;
  tvmgo_vm_context c;
  int64_t value, code, operand;
  if (tvmgo_check_count(f, n, 5, 5) != 0 || tvmgo_arg_int(f, args, 0, &value) != 0 ||
      arg_heap(f, args, 1, &h) != 0 || tvmgo_arg_int(f, args, 2, &code) != 0 ||
      tvmgo_arg_int(f, args, 3, &operand) != 0 || tvmgo_vm_arg_context(f, args, 4, &c) != 0)
    return -1;
  return match(f, &h, code, operand, &args[4], NULL, 0, value);
}

static inline int make(const char* f, const heap* h, int64_t code, int64_t operand, int64_t* out) {
  if (code == USE_IMMEDIATE) {
    *out = operand;
    return 0;
  }
  if (code != LOAD)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: a code is %" PRId64 ", expected 0 (the operand) or 1 (load)", f, code);
  if (!has_slot(h, operand)) return no_slot(f, h, operand);
  *out = h->slots[operand];
  return 0;
}

/* (heap, size, (code, operand) * size) */
TVMGO_BUILTIN(make_shape) {
  enum { FIRST = 2 };
  heap h;
  int64_t size, *dims;
  if (tvmgo_check_count(f, n, FIRST, -1) != 0 || arg_heap_or_none(f, args, 0, &h) != 0 ||
      arg_pairs(f, args, n, 1, &size) != 0)
    return -1;
  TVMFFIObject* shape = tvmgo_shape_new_uninit((size_t)size, &dims);
  if (shape == NULL) return -1;
  for (int64_t i = 0; i < size; i++) {
    int64_t code, operand;
    int32_t at = (int32_t)(FIRST + 2 * i);
    if (tvmgo_arg_int(f, args, at, &code) != 0 || tvmgo_arg_int(f, args, at + 1, &operand) != 0 ||
        make(f, &h, code, operand, &dims[i]) != 0) {
      tvmgo_object_release(shape);
      return -1;
    }
  }
  return tvmgo_give_new(shape, result);
}

/* (heap, code, operand) */
TVMGO_BUILTIN(make_prim_value) {
  heap h;
  int64_t code, operand, value = 0;
  if (tvmgo_check_count(f, n, 3, 3) != 0 || arg_heap(f, args, 0, &h) != 0 || tvmgo_arg_int(f, args, 1, &code) != 0 ||
      tvmgo_arg_int(f, args, 2, &operand) != 0 || make(f, &h, code, operand, &value) != 0)
    return -1;
  *result = tvmgo_any_int(value);
  return 0;
}

/* (machine, slots): the slots are 0. The host of every machine is the CPU, so the first argument is not used. */
TVMGO_BUILTIN(alloc_shape_heap) {
  enum { MAX_SLOTS = 1 << 20 }; /* a damaged number must not take all memory */
  int64_t size;
  if (tvmgo_check_count(f, n, 2, 2) != 0 || tvmgo_arg_int(f, args, 1, &size) != 0) return -1;
  if (size > MAX_SLOTS)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: a heap of %" PRId64 " slots: a function can have %d symbolic dimensions: the executable is "
                       "damaged: copy it or compile the model again", f, size, MAX_SLOTS);
  tvmgo_tensor* t = tvmgo_tensor_new(&size, 1, (DLDataType){kDLInt, 64, 1}, (DLDevice){kDLCPU, 0}, NULL);
  if (t == NULL) return tvmgo_vm_failed(f);
  if (size > 0) memset(t->dl.data, 0, (size_t)size * sizeof(int64_t));
  return tvmgo_give_new(t, result);
}

/* (Tensor or DLTensor*) */
TVMGO_BUILTIN(shape_of) {
  const DLTensor* t;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_vm_arg_tensor(f, args, 0, &t) != 0) return -1;
  return tvmgo_give_new(tvmgo_shape_new(t->shape, (size_t)t->ndim), result);
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("vm.builtin.alloc_shape_heap", alloc_shape_heap);
  tvmgo_global_builtin("vm.builtin.match_shape", match_shape);
  tvmgo_global_builtin("vm.builtin.match_prim_value", match_prim_value);
  tvmgo_global_builtin("vm.builtin.make_shape", make_shape);
  tvmgo_global_builtin("vm.builtin.make_prim_value", make_prim_value);
  tvmgo_global_builtin("vm.builtin.shape_of", shape_of);
}
