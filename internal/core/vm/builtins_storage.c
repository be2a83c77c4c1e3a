/* Storages, and tensors in them. */
#include "device/workspace_pool.h"
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

/* (machine, shape, index of a device or -1 for the host, dtype, scope): the storage takes the bytes of a tensor of this
 * shape and dtype. */
TVMGO_BUILTIN(alloc_storage) {
  int64_t index;
  DLDevice dev;
  DLDataType dtype;
  tvmgo_vm_dims shape;
  char scope[SCOPE_SIZE];
  tvmgo_vm_call* c;
  if (tvmgo_check_count(f, n, 5, 5) != 0 || (c = tvmgo_vm_call_of(f, &args[0])) == NULL ||
      tvmgo_arg_int(f, args, 2, &index) != 0 || tvmgo_vm_arg_dtype(f, args, 3, &dtype) != 0 ||
      arg_scope(f, args, 4, scope) != 0)
    return -1;
  if (tvmgo_vm_call_device(c, index, &dev) != 0) return tvmgo_vm_failed(f);
  if (tvmgo_vm_arg_dims(f, args, 1, &shape) != 0) return -1;
  TVMFFIObject* storage = tvmgo_vm_storage_new_array(tvmgo_vm_call_account(c), dev, shape.dims, tvmgo_vm_ndim(&shape),
                                                     dtype, scope);
  tvmgo_object_release(shape.made);
  return storage == NULL ? tvmgo_vm_failed(f) : tvmgo_give_new(storage, result);
}

/* (storage, byte offset, shape, dtype, [scope]) */
TVMGO_BUILTIN(alloc_tensor) {
  int64_t offset;
  DLDataType dtype;
  tvmgo_vm_dims shape;
  char scope[SCOPE_SIZE];
  if (tvmgo_check_count(f, n, 4, 5) != 0 || tvmgo_arg_kind(f, args, 0, tvmgo_vm_storage_type()) != 0 ||
      tvmgo_arg_int(f, args, 1, &offset) != 0 || tvmgo_vm_arg_dtype(f, args, 3, &dtype) != 0 ||
      (n == 5 && arg_scope(f, args, 4, scope) != 0) || tvmgo_vm_arg_dims(f, args, 2, &shape) != 0)
    return -1;
  TVMFFIObject* tensor = tvmgo_vm_storage_tensor(args[0].v_obj, offset, shape.dims, tvmgo_vm_ndim(&shape), dtype,
                                                 n == 5 ? scope : NULL);
  tvmgo_object_release(shape.made);
  return tensor == NULL ? tvmgo_vm_failed(f) : tvmgo_give_new(tensor, result);
}

/* Returns the idle memory of all devices to them. */
TVMGO_BUILTIN(memory_manager_clear) {
  int64_t freed;
  if (tvmgo_check_count(f, n, 0, 0) != 0) return -1;
  return tvmgo_pool_trim_all(&freed) != 0 ? tvmgo_vm_failed(f) : 0;
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("vm.builtin.alloc_storage", alloc_storage);
  tvmgo_global_builtin("vm.builtin.memory_manager.clear", memory_manager_clear);
  tvmgo_global_builtin("vm.builtin.alloc_tensor", alloc_tensor);
}
