/* Checks of the arguments of a function against its annotations. The last argument of each is the compiler's text for
 * errors, which says where the value comes from. -1 as a number of dimensions means any. */
#include "vm/builtins.h"

#include <inttypes.h>
#include <stdio.h>

/* "NAME: CONTEXT: expected WHAT, got TYPE (argument 0)" */
static int wrong_type(const char* f, const tvmgo_vm_context* c, const char* what, const TVMFFIAny* got) {
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: %.*s%sexpected %s, got %s (argument 0)", f, TVMGO_VM_CONTEXT(*c), what,
                     tvmgo_type_name(got->type_index));
}

static int check_ndim(const char* f, const tvmgo_vm_context* c, const char* what, int64_t ndim, const int64_t* dims,
                      int64_t got) {
  char text[256];
  if (ndim == -1 || ndim == got) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %.*s%sexpected a %s with %" PRId64 " dimensions, got %" PRId64 ": %s", f,
                     TVMGO_VM_CONTEXT(*c), what, ndim, got, tvmgo_vm_dims_text(dims, got, text, sizeof text));
}

/* (value, ndim, [dtype or None,] context) */
TVMGO_BUILTIN(check_tensor_info) {
  int32_t ndim;
  DLDataType dtype;
  tvmgo_vm_context c;
  const DLTensor* t;
  if (tvmgo_check_count(f, n, 3, 4) != 0 || tvmgo_arg_int32(f, args, 1, &ndim) != 0 ||
      tvmgo_vm_arg_context(f, args, n - 1, &c) != 0)
    return -1;
  int has_dtype = n == 4 && args[2].type_index != kTVMFFINone;
  if (has_dtype && tvmgo_vm_arg_dtype(f, args, 2, &dtype) != 0) return -1;
  if (args[0].type_index != kTVMFFITensor && args[0].type_index != kTVMFFIDLTensorPtr)
    return wrong_type(f, &c, "a Tensor", &args[0]);
  if (tvmgo_vm_arg_tensor(f, args, 0, &t) != 0 || check_ndim(f, &c, "Tensor", ndim, t->shape, t->ndim) != 0)
    return -1;
  if (!has_dtype ||
      (t->dtype.code == dtype.code && t->dtype.bits == dtype.bits && t->dtype.lanes == dtype.lanes))
    return 0;
  char expected[TVMGO_VM_DTYPE_TEXT], got[TVMGO_VM_DTYPE_TEXT];
  tvmgo_vm_dtype_text(dtype, expected);
  tvmgo_vm_dtype_text(t->dtype, got);
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %.*s%sexpected a Tensor with dtype %s, got %s", f, TVMGO_VM_CONTEXT(c),
                     expected, got);
}

/* (value, ndim, context) */
TVMGO_BUILTIN(check_shape_info) {
  int64_t ndim;
  tvmgo_vm_context c;
  if (tvmgo_check_count(f, n, 3, 3) != 0 || tvmgo_arg_int(f, args, 1, &ndim) != 0 ||
      tvmgo_vm_arg_context(f, args, 2, &c) != 0)
    return -1;
  if (args[0].type_index != kTVMFFIShape) return wrong_type(f, &c, "a Shape", &args[0]);
  const TVMFFIShapeCell* cell = (const TVMFFIShapeCell*)(args[0].v_obj + 1);
  return check_ndim(f, &c, "Shape", ndim, cell->data, (int64_t)cell->size);
}

/* (value, dtype, context): integers pass for floats; the number of bits does not matter. */
TVMGO_BUILTIN(check_prim_value_info) {
  DLDataType dtype;
  tvmgo_vm_context c;
  char name[TVMGO_VM_DTYPE_TEXT], what[TVMGO_VM_DTYPE_TEXT + 20];
  if (tvmgo_check_count(f, n, 3, 3) != 0 || tvmgo_vm_arg_dtype(f, args, 1, &dtype) != 0 ||
      tvmgo_vm_arg_context(f, args, 2, &c) != 0)
    return -1;
  int32_t type = args[0].type_index;
  int is_int = type == kTVMFFIInt || type == kTVMFFIBool;
  switch (dtype.code) {
    case kDLInt:
    case kDLUInt:
    case kDLBool:
      if (is_int) return 0;
      break;
    case kDLFloat:
      if (is_int || type == kTVMFFIFloat) return 0;
      break;
    case kDLOpaqueHandle: /* void is the handle without bits */
      if (dtype.bits != 0 && type == kTVMFFIOpaquePtr) return 0;
      if (dtype.bits != 0) break;
      /* fall through */
    default:
      tvmgo_vm_dtype_text(dtype, name);
      return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: %.*s%sno integer, float or pointer has the dtype \"%s\" (argument 1)",
                         f, TVMGO_VM_CONTEXT(c), name);
  }
  tvmgo_vm_dtype_text(dtype, name);
  snprintf(what, sizeof what, "a value of dtype %s", name);
  return wrong_type(f, &c, what, &args[0]);
}

/* (value, context) */
TVMGO_BUILTIN(check_string_info) {
  tvmgo_vm_context c;
  if (tvmgo_check_count(f, n, 2, 2) != 0 || tvmgo_vm_arg_context(f, args, 1, &c) != 0) return -1;
  int32_t type = args[0].type_index;
  if (type == kTVMFFIStr || type == kTVMFFISmallStr || type == kTVMFFIRawStr) return 0;
  return wrong_type(f, &c, "a str", &args[0]);
}

/* (value, size, context) */
TVMGO_BUILTIN(check_tuple_info) {
  int64_t size;
  tvmgo_vm_context c;
  if (tvmgo_check_count(f, n, 3, 3) != 0 || tvmgo_arg_int(f, args, 1, &size) != 0 ||
      tvmgo_vm_arg_context(f, args, 2, &c) != 0)
    return -1;
  if (args[0].type_index != kTVMFFIArray) return wrong_type(f, &c, "a tuple (an Array)", &args[0]);
  int64_t got = tvmgo_seq_cell(args[0].v_obj)->size;
  if (got == size) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %.*s%sexpected a tuple with %" PRId64 " elements, got one with %" PRId64,
                     f, TVMGO_VM_CONTEXT(c), size, got);
}

/* (value, context) */
TVMGO_BUILTIN(check_func_info) {
  tvmgo_vm_context c;
  if (tvmgo_check_count(f, n, 2, 2) != 0 || tvmgo_vm_arg_context(f, args, 1, &c) != 0) return -1;
  if (args[0].type_index == kTVMFFIFunction || tvmgo_vm_is_closure(&args[0])) return 0;
  return wrong_type(f, &c, "a function", &args[0]);
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("vm.builtin.check_tensor_info", check_tensor_info);
  tvmgo_global_builtin("vm.builtin.check_shape_info", check_shape_info);
  tvmgo_global_builtin("vm.builtin.check_prim_value_info", check_prim_value_info);
  tvmgo_global_builtin("vm.builtin.check_string_info", check_string_info);
  tvmgo_global_builtin("vm.builtin.check_tuple_info", check_tuple_info);
  tvmgo_global_builtin("vm.builtin.check_func_info", check_func_info);
}
