/* Storages, and tensors in them. */
#include "vm/builtins.h"

#include <string.h>

enum { SCOPE_SIZE = 64 };

static int arg_scope(const char* f, const TVMFFIAny* args, int32_t i, char scope[SCOPE_SIZE]) {
  TVMFFIByteArray text;
  if (tvmgo_arg_text(f, args, i, &text) != 0) return -1;
  if (text.size >= SCOPE_SIZE)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the scope is longer than %d bytes", f, SCOPE_SIZE - 1);
  memcpy(scope, text.data, text.size);
  scope[text.size] = 0;
  return 0;
}

/* (storage, byte offset, shape, dtype, [scope]) */
TVMGO_BUILTIN(alloc_tensor) {
  int64_t offset;
  DLDataType dtype;
  tvmgo_vm_dims shape;
  char scope[SCOPE_SIZE];
  if (tvmgo_check_count(f, n, 4, 5) != 0 || tvmgo_arg_kind(f, args, 0, tvmgo_vm_storage_type) != 0 ||
      tvmgo_arg_int(f, args, 1, &offset) != 0 || tvmgo_vm_arg_dtype(f, args, 3, &dtype) != 0 ||
      (n == 5 && arg_scope(f, args, 4, scope) != 0) || tvmgo_vm_arg_dims(f, args, 2, &shape) != 0)
    return -1;
  TVMFFIObject* tensor = tvmgo_vm_storage_tensor(args[0].v_obj, offset, shape.dims, tvmgo_vm_ndim(&shape), dtype,
                                                 n == 5 ? scope : NULL);
  tvmgo_object_release(shape.made);
  return tensor == NULL ? tvmgo_vm_failed(f) : tvmgo_give_new(tensor, result);
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("vm.builtin.alloc_tensor", alloc_tensor);
}
