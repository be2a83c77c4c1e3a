/* All about a tensor of a device that no other argument decides. It is where the first one is. Its elements begin where its memory does, or,
   if unit isn't 0, a multiple of that many bytes behind. */
TVMGO_COMMON int32_t tvmgo_on_device(const tvmgo_parameter* p, const DLTensor* t, DLDataType type, int32_t ndim, unsigned unit, int device,
                               const DLTensor* first) {
  char want[64], got[64];
  if (tvmgo_shaped(p, t, type, ndim) != 0) return -1;
  if ((int)t->device.device_type != device || (first != NULL && t->device.device_id != first->device.device_id)) {
    const DLDevice any = {(DLDeviceType)device, 0};
    tvmgo_device_text(first != NULL ? first->device : any, want, sizeof(want));
    tvmgo_device_text(t->device, got, sizeof(got));
    if (first == NULL && strrchr(want, ':') != NULL) *strrchr(want, ':') = 0; /* any of them */
    return tvmgo_raise("ValueError", TVMGO_AT "the tensor is on %s, expected %s: copy it", TVMGO_OF(p), got, want);
  }
  if (tvmgo_is_empty(t)) return 0;
  if (t->data == NULL) {
    return tvmgo_raise("ValueError", TVMGO_AT "the tensor's data is NULL", TVMGO_OF(p));
  }
  if (t->byte_offset == 0 || (unit != 0 && t->byte_offset % unit == 0)) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "the elements begin %llu bytes into the device's memory, expected %s%u: copy them", TVMGO_OF(p),
                     (unsigned long long)t->byte_offset, unit == 0 ? "" : "a multiple of ", unit);
}
