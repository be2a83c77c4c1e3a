/* Tensors in and out of DLPack, both generations of its managed tensor. */
#include "device/device.h"

#include <stdlib.h>

static void release_legacy(void* owner) {
  DLManagedTensor* m = owner;
  if (m->deleter != NULL) m->deleter(m);
}

static void release_versioned(void* owner) {
  DLManagedTensorVersioned* m = owner;
  if (m->deleter != NULL) m->deleter(m);
}

static int from_dlpack(const DLTensor* dl, void* owner, void (*release)(void*), int32_t alignment,
                       int32_t contiguous, TVMFFIObjectHandle* out) {
  static const char op[] = "take DLPack tensor";
  if (tvmgo_dl_check(dl, op) != 0 || tvmgo_dl_check_place(dl, op) != 0) return -1;
  if (alignment < 0 || (alignment & (alignment - 1)) != 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: require_alignment is %d, which is not a power of two", op,
                       (int)alignment);
  uintptr_t address = (uintptr_t)dl->data;
  if (dl->device.device_type == kDLCPU) address += dl->byte_offset;
  if (alignment > 0 && address % (uintptr_t)alignment != 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: data at %p is aligned to %llu bytes, not aligned to %d bytes as "
                       "require_alignment demands: copy it to aligned memory",
                       op, (void*)address, (unsigned long long)(address & -address), (int)alignment);
  if (contiguous && !tvmgo_dl_contiguous(dl))
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: the tensor is not contiguous, as require_contiguous demands: copy it first",
                       op);
  tvmgo_tensor* t = tvmgo_tensor_wrap(dl, owner, release);
  if (t == NULL) return -1;
  *out = t;
  return 0;
}

int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment,
                           int32_t require_contiguous, TVMFFIObjectHandle* out) {
  if (from == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "take DLPack tensor: %s is NULL",
                       from == NULL ? "the managed tensor" : "out");
  return from_dlpack(&from->dl_tensor, from, release_legacy, require_alignment, require_contiguous,
                     out);
}

int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, int32_t require_alignment,
                                    int32_t require_contiguous, TVMFFIObjectHandle* out) {
  if (from == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "take DLPack tensor: %s is NULL",
                       from == NULL ? "the managed tensor" : "out");
  if (from->version.major != DLPACK_MAJOR_VERSION)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "take DLPack tensor: version %u.%u is not readable here, %d.x is: convert it",
                       (unsigned)from->version.major, (unsigned)from->version.minor,
                       DLPACK_MAJOR_VERSION);
  if (from->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "take DLPack tensor: its sub-byte elements are padded to bytes, packed ones "
                       "are expected: pack them");
  return from_dlpack(&from->dl_tensor, from, release_versioned, require_alignment,
                     require_contiguous, out);
}

static tvmgo_tensor* need_tensor(TVMFFIObjectHandle obj, const char* op) {
  TVMFFIObject* o = obj;
  if (o != NULL && o->type_index == kTVMFFITensor) return (tvmgo_tensor*)o;
  tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the handle is %s, not a Tensor", op,
              o == NULL ? "NULL" : tvmgo_type_name(o->type_index));
  return NULL;
}

/* The tensor for a consumer: DLPack requires strides, which arrays of the classic ABI report as NULL. */
static DLTensor shown(TVMFFIObjectHandle obj) {
  DLTensor dl = *tvmgo_tensor_dl(obj);
  if (dl.strides == NULL) dl.strides = ((tvmgo_tensor*)obj)->dims + dl.ndim;
  return dl;
}

/* Whether the memory of the tensor, or of the tensor that it is a view of, was imported as read-only. The first
 * generation has no field for it. */
static int is_read_only(const tvmgo_tensor* t) {
  while (t->release == tvmgo_tensor_release_source && ((TVMFFIObject*)t->owner)->type_index == kTVMFFITensor)
    t = t->owner;
  return t->release == release_versioned &&
         (((DLManagedTensorVersioned*)t->owner)->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
}

static void delete_legacy(DLManagedTensor* m) {
  tvmgo_object_release(m->manager_ctx);
  free(m);
}

static void delete_versioned(DLManagedTensorVersioned* m) {
  tvmgo_object_release(m->manager_ctx);
  free(m);
}

int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out) {
  static const char op[] = "give DLPack tensor";
  if (need_tensor(from, op) == NULL) return -1;
  if (out == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: out is NULL", op);
  DLManagedTensor* m = calloc(1, sizeof *m);
  if (m == NULL) return tvmgo_raise_oom();
  m->dl_tensor = shown(from);
  m->manager_ctx = from;
  m->deleter = delete_legacy;
  tvmgo_object_retain(from);
  *out = m;
  return 0;
}

int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned** out) {
  static const char op[] = "give DLPack tensor";
  if (need_tensor(from, op) == NULL) return -1;
  if (out == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: out is NULL", op);
  DLManagedTensorVersioned* m = calloc(1, sizeof *m);
  if (m == NULL) return tvmgo_raise_oom();
  m->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  m->flags = is_read_only(from) ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  m->dl_tensor = shown(from);
  m->manager_ctx = from;
  m->deleter = delete_versioned;
  tvmgo_object_retain(from);
  *out = m;
  return 0;
}

int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype,
                                 TVMFFIObjectHandle* out) {
  static const char op[] = "create tensor view";
  if (need_tensor(source, op) == NULL) return -1;
  if (out == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: out is NULL", op);
  if (prototype == NULL || (prototype->ndim > 0 && prototype->strides == NULL))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is NULL", op,
                       prototype == NULL ? "the prototype" : "the prototype's strides");
  if (tvmgo_dl_check(prototype, op) != 0) return -1;
  tvmgo_tensor* t = tvmgo_tensor_wrap(prototype, source, tvmgo_tensor_release_source);
  if (t == NULL) return -1;
  tvmgo_object_retain(source);
  *out = t;
  return 0;
}
