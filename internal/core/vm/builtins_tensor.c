/* Tensors: views, copies to other devices, and values that the host reads. */
#include "vm/builtins.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- values that the host reads ---- */

/* The first n elements, on the host: in the tensor itself, or in a copy, for which its stream is awaited. The copy is
 * in local if it fits, else in *made, which the caller frees. NULL: raised. */
static const void* first_elements(const DLTensor* t, int64_t n, void* local, size_t local_size, void** made) {
  size_t nbytes;
  *made = NULL;
  if (t->device.device_type == kDLCPU) return (const char*)t->data + t->byte_offset;
  DLTensor part = *t;
  part.ndim = 1;
  part.shape = &n;
  part.strides = NULL;
  if (tvmgo_dl_bytes(&part, &nbytes) != 0) return NULL;
  void* to = local;
  if (nbytes > local_size && (to = *made = malloc(nbytes)) == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  if (tvmgo_dl_copy_bytes(&part, to, nbytes, 0) == 0) return to;
  free(*made);
  *made = NULL;
  return NULL;
}

/* (bool, int, or a tensor, whose first element counts) */
TVMGO_BUILTIN(read_if_cond) {
  const DLTensor* t;
  if (tvmgo_check_count(f, n, 1, 1) != 0) return -1;
  if (args[0].type_index == kTVMFFIBool || args[0].type_index == kTVMFFIInt) {
    *result = tvmgo_any_bool(args[0].v_int64 != 0);
    return 0;
  }
  if (tvmgo_vm_arg_tensor(f, args, 0, &t) != 0) return -1;
  int bits = t->dtype.bits;
  if ((t->dtype.code != kDLInt && t->dtype.code != kDLUInt && t->dtype.code != kDLBool) || t->dtype.lanes != 1 ||
      (bits != 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64)) {
    char text[TVMGO_VM_DTYPE_TEXT];
    tvmgo_vm_dtype_text(t->dtype, text);
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the condition is a tensor of %s, expected one of bool or of integers of "
                       "8, 16, 32 or 64 bits (argument 0)", f, text);
  }
  int64_t elements, value = 0, local;
  void* made;
  if (tvmgo_dl_elements(t, &elements) != 0) return tvmgo_vm_failed(f);
  if (elements == 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the condition is a tensor without elements", f);
  const void* p = first_elements(t, 1, &local, sizeof local, &made);
  if (p == NULL) return tvmgo_vm_failed(f);
  memcpy(&value, p, bits == 1 ? 1 : (size_t)bits / 8);
  free(made);
  *result = tvmgo_any_bool(value != 0);
  return 0;
}

static int64_t element(const void* data, int64_t i, int bits) {
  switch (bits) {
    case 16: return ((const int16_t*)data)[i];
    case 32: return ((const int32_t*)data)[i];
    default: return ((const int64_t*)data)[i];
  }
}

/* (tensor of one dimension of int16, int32 or int64) */
TVMGO_BUILTIN(tensor_to_shape) {
  const DLTensor* t;
  int64_t local[8], *dims;
  void* made = NULL;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_vm_arg_tensor(f, args, 0, &t) != 0) return -1;
  int bits = t->dtype.bits;
  if (t->ndim != 1 || t->dtype.code != kDLInt || (bits != 16 && bits != 32 && bits != 64) || t->dtype.lanes != 1) {
    char text[TVMGO_VM_DTYPE_TEXT];
    tvmgo_vm_dtype_text(t->dtype, text);
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected a tensor of one dimension of int16, int32 or int64, got one of "
                       "%d dimensions of %s (argument 0)", f, (int)t->ndim, text);
  }
  int64_t size = t->shape[0];
  int64_t stride = t->strides == NULL || size < 2 ? 1 : t->strides[0];
  if (stride != 1 && t->device.device_type != kDLCPU)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the tensor is not contiguous: copy it to a compact one first", f);
  TVMFFIObject* shape = tvmgo_shape_new_uninit((size_t)size, &dims);
  if (shape == NULL) return -1;
  const void* data = size == 0 ? local : first_elements(t, size, local, sizeof local, &made);
  if (data == NULL) {
    tvmgo_object_release(shape);
    return tvmgo_vm_failed(f);
  }
  for (int64_t i = 0; i < size; i++) dims[i] = element(data, i * stride, bits);
  free(made);
  return tvmgo_give_new(shape, result);
}

/* ---- views ---- */

/* (tensor, shape): a view with another shape, which may have fewer elements. */
TVMGO_BUILTIN(reshape) {
  tvmgo_vm_dims shape;
  const DLTensor* t;
  if (tvmgo_check_count(f, n, 2, 2) != 0 || tvmgo_vm_arg_tensor(f, args, 0, &t) != 0 ||
      tvmgo_vm_arg_dims(f, args, 1, &shape) != 0)
    return -1;
  TVMFFIObject* source = NULL; /* nobody else keeps the memory of a DLTensor* alive */
  if (args[0].type_index == kTVMFFIDLTensorPtr) source = tvmgo_vm_copy(tvmgo_vm_account_here(), t, t->device, NULL);
  else tvmgo_object_retain(source = args[0].v_obj);
  tvmgo_tensor* view =
      source == NULL ? NULL
                     : tvmgo_tensor_view((tvmgo_tensor*)source, shape.dims, tvmgo_vm_ndim(&shape), t->dtype, NULL, 0);
  tvmgo_object_release(source);
  tvmgo_object_release(shape.made);
  return view == NULL ? tvmgo_vm_failed(f) : tvmgo_give_new(view, result);
}

static int has_addresses(int32_t type) {
  return type == kDLCPU || type == kDLCUDA || type == kDLCUDAHost || type == kDLCUDAManaged;
}

/* (tensor): the tensor itself if its byte_offset is 0. Otherwise a view of the same memory, where data is an address
 * that generated code may assume to be aligned; else a copy. */
TVMGO_BUILTIN(ensure_zero_offset) {
  enum { ALIGNMENT = 64 };
  const DLTensor* t;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_kind(f, args, 0, kTVMFFITensor) != 0 ||
      tvmgo_vm_arg_tensor(f, args, 0, &t) != 0)
    return -1;
  if (t->byte_offset == 0) return tvmgo_give(&args[0], result);
  TVMFFIObject* out;
  DLTensor moved = *t;
  moved.data = (char*)t->data + t->byte_offset;
  moved.byte_offset = 0;
  if (has_addresses(t->device.device_type) && (uintptr_t)moved.data % ALIGNMENT == 0) {
    out = (TVMFFIObject*)tvmgo_tensor_wrap(&moved, args[0].v_obj, tvmgo_tensor_release_source);
    if (out != NULL) tvmgo_object_retain(args[0].v_obj);
  } else {
    out = tvmgo_vm_copy(tvmgo_vm_account_here(), t, t->device, NULL);
  }
  return out == NULL ? tvmgo_vm_failed(f) : tvmgo_give_new(out, result);
}

/* ---- copies ---- */

/* (tensor, device type, index, [scope]): always a copy */
TVMGO_BUILTIN(to_device) {
  const DLTensor* t;
  int32_t type, index;
  TVMFFIByteArray scope = {"", 0};
  char name[64] = "";
  if (tvmgo_check_count(f, n, 3, 4) != 0 || tvmgo_vm_arg_tensor(f, args, 0, &t) != 0 ||
      tvmgo_arg_int32(f, args, 1, &type) != 0 || tvmgo_arg_int32(f, args, 2, &index) != 0 ||
      (n == 4 && tvmgo_arg_text(f, args, 3, &scope) != 0))
    return -1;
  if (scope.size >= sizeof name)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the scope is longer than %zu bytes", f, sizeof name - 1);
  memcpy(name, scope.data, scope.size);
  TVMFFIObject* out = tvmgo_vm_copy(tvmgo_vm_account_here(), t, (DLDevice){(DLDeviceType)type, index}, name);
  return out == NULL ? tvmgo_vm_failed(f) : tvmgo_give_new(out, result);
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("vm.builtin.read_if_cond", read_if_cond);
  tvmgo_global_builtin("vm.builtin.tensor_to_shape", tensor_to_shape);
  tvmgo_global_builtin("vm.builtin.reshape", reshape);
  tvmgo_global_builtin("vm.builtin.ensure_zero_offset", ensure_zero_offset);
  tvmgo_global_builtin("vm.builtin.to_device", to_device);
}
