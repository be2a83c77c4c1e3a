/* Arguments of the global functions vm.builtin.*, which compiled programs call.
 *
 * They take the arguments that Apache TVM's functions of these names take, and give the same results. They fail where
 * those fail, and also where those would read or write memory that is not theirs. Each is registered like any built-in:
 * a function that is registered with override replaces it, for programs that are loaded later. */
#pragma once

#include "call/builtin.h"
#include "vm/vm.h"

/* The text that the compiler gives a check, and ": " if there is any: for "%.*s%s" in messages. */
typedef struct {
  TVMFFIByteArray text;
} tvmgo_vm_context;
#define TVMGO_VM_CONTEXT(c) (int)((c).text.size < 2000 ? (c).text.size : 2000), (c).text.data, (c).text.size ? ": " : ""
/* Argument i is a string, or None. */
int tvmgo_vm_arg_context(const char* f, const TVMFFIAny* args, int32_t i, tvmgo_vm_context* out);

/* A Shape, or an Array of integers. */
typedef struct {
  const int64_t* dims;
  int64_t size;
  TVMFFIObject* made; /* released by the caller; NULL if the argument is a Shape */
} tvmgo_vm_dims;
int tvmgo_vm_array_dims(const char* f, const TVMFFIAny* args, int32_t i, tvmgo_vm_dims* out);
static inline int tvmgo_vm_arg_dims(const char* f, const TVMFFIAny* args, int32_t i, tvmgo_vm_dims* out) {
  if (args[i].type_index != kTVMFFIShape) return tvmgo_vm_array_dims(f, args, i, out);
  const TVMFFIShapeCell* cell = (const TVMFFIShapeCell*)(args[i].v_obj + 1);
  *out = (tvmgo_vm_dims){cell->data, (int64_t)cell->size, NULL};
  return 0;
}
/* A number of dimensions that is too large for a tensor must not become a valid one. */
static inline int32_t tvmgo_vm_ndim(const tvmgo_vm_dims* d) {
  return d->size < INT32_MAX ? (int32_t)d->size : INT32_MAX;
}
/* Writes "(2, 3)" into buf, and returns it; long shapes are cut. */
const char* tvmgo_vm_dims_text(const int64_t* dims, int64_t size, char* buf, size_t cap);

/* A tensor, as an object or as DLTensor*; checked. */
int tvmgo_vm_arg_tensor(const char* f, const TVMFFIAny* args, int32_t i, const DLTensor** out);

/* A dtype, or its name. */
int tvmgo_vm_arg_dtype(const char* f, const TVMFFIAny* args, int32_t i, DLDataType* out);
/* Its name for messages, also of a type that has none. */
enum { TVMGO_VM_DTYPE_TEXT = 64 };
void tvmgo_vm_dtype_text(DLDataType t, char* buf);

/* Whether a value is a closure of the machine, of type relax.vm.Closure. */
int tvmgo_vm_is_closure(const TVMFFIAny* v);

/* Adds the name of the function to the error that was raised; returns -1. */
static inline int tvmgo_vm_failed(const char* f) { return tvmgo_raise_context("%s", f); }
