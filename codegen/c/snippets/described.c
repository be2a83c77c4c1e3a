/* All about a tensor that no other argument decides. */
TVMGO_COMMON int32_t tvmgo_described(const tvmgo_parameter* p, const DLTensor* t, DLDataType type, int32_t ndim, unsigned alignment) {
  char got[64];
  if (tvmgo_shaped(p, t, type, ndim) != 0) return -1;
  if (t->device.device_type != kDLCPU) {
    tvmgo_device_text(t->device, got, sizeof(got));
    return tvmgo_raise("ValueError", TVMGO_AT "the tensor is on %s, expected cpu: copy it", TVMGO_OF(p), got);
  }
  if (tvmgo_is_empty(t)) return 0;
  if (t->data == NULL) {
    return tvmgo_raise("ValueError", TVMGO_AT "the tensor's data is NULL", TVMGO_OF(p));
  }
  const unsigned beyond = (unsigned)(((uintptr_t)t->data + (uintptr_t)t->byte_offset) % alignment);
  if (beyond == 0) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "the elements begin %u bytes behind a multiple of %u: copy them to aligned memory",
                     TVMGO_OF(p), beyond, alignment);
}
