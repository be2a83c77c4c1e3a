/* Copies of tensors on other devices. */
#include "vm/vm.h"

static int is_host(int32_t type) { return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost; }

static TVMFFIStreamHandle stream_of(const DLTensor* t) {
  return tvmgo_stream_get(t->device.device_type, t->device.device_id);
}

static int copy_through_host(const DLTensor* from, const DLTensor* to) {
  TVMFFIObject* host = tvmgo_vm_copy(NULL, from, (DLDevice){kDLCPU, 0}, NULL);
  if (host == NULL) return -1;
  int rc = tvmgo_vm_copy_into(tvmgo_tensor_dl(host), to);
  tvmgo_object_release(host);
  return rc;
}

int tvmgo_vm_copy_into(const DLTensor* from, const DLTensor* to) {
  int32_t f = from->device.device_type, t = to->device.device_type;
  int apart = !is_host(f) && !is_host(t) && tvmgo_device_family(f) != tvmgo_device_family(t);
  if (apart || (f == kDLCPU && t != kDLCPU && !tvmgo_dl_contiguous(from))) return copy_through_host(from, to);
  const DLTensor* owner = f != kDLCPU ? from : to; /* on whose stream the copy is queued */
  if (tvmgo_dl_copy(from, to, stream_of(owner)) != 0) return -1;
  /* The host reads, and the streams of other devices start, without knowing of this one. */
  if (f != kDLCPU && (is_host(t) || from->device.device_id != to->device.device_id))
    return tvmgo_device_sync(from->device, stream_of(from));
  return 0;
}

/* Memory for a compact tensor: of the account, or, without one, its own. */
static TVMFFIObject* tensor_like(tvmgo_vm_account* a, const DLTensor* t, DLDevice dev, const char* scope) {
  if (a == NULL) return (TVMFFIObject*)tvmgo_tensor_new(t->shape, t->ndim, t->dtype, dev, scope);
  TVMFFIObject* storage = tvmgo_vm_storage_new_array(a, dev, t->shape, t->ndim, t->dtype, scope);
  if (storage == NULL) return NULL;
  TVMFFIObject* made = tvmgo_vm_storage_tensor(storage, 0, t->shape, t->ndim, t->dtype, scope);
  tvmgo_object_release(storage);
  return made;
}

TVMFFIObject* tvmgo_vm_copy(tvmgo_vm_account* a, const DLTensor* t, DLDevice dev, const char* scope) {
  TVMFFIObject* fresh = tensor_like(a, t, dev, scope);
  if (fresh == NULL || tvmgo_vm_copy_into(t, tvmgo_tensor_dl(fresh)) == 0) return fresh;
  tvmgo_object_release(fresh);
  return NULL;
}
