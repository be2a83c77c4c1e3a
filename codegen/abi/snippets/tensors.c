//// type_text
TVMGO_SHARED void tvmgo_type_text(DLDataType t, char* out, size_t size) {
  static const char* const names[] = {TVMGO_TYPE_NAMES};
  const int known = t.code < sizeof(names) / sizeof(names[0]) && names[t.code] != NULL;
  int used;
  if (!known) used = snprintf(out, size, "a type of code %d", t.code);
  else if (t.code < kDLBool) used = snprintf(out, size, "%s%d", names[t.code], t.bits);
  else used = snprintf(out, size, "%s", names[t.code]);
  if (t.lanes != 1 && known) snprintf(out + used, size - (size_t)used, "x%d", t.lanes);
}

//// device_text
/* id: -1 for all devices of the type. */
TVMGO_SHARED void tvmgo_device_text(int type, int id, char* out, size_t size) {
  static const char* const names[] = {TVMGO_DEVICE_NAMES};
  const int known = type > 0 && type < (int)(sizeof(names) / sizeof(names[0])) && names[type] != NULL;
  if (!known) snprintf(out, size, "a device of type %d", type);
  else if (id < 0) snprintf(out, size, "%s", names[type]);
  else snprintf(out, size, "%s:%d", names[type], id);
}

//// is_empty
/* Reports whether a tensor has no elements. Its address may then be anything. */
static int tvmgo_is_empty(const DLTensor* t) {
  for (int32_t i = 0; i < t->ndim; i++)
    if (t->shape[i] == 0) return 1;
  return 0;
}

//// extents: raise parameter
/* Checks that a tensor's shape is possible. */
static inline int32_t tvmgo_extents(const tvmgo_parameter* p, const DLTensor* t) {
  if (t->ndim < 0) {
    return tvmgo_raise("ValueError", TVMGO_AT "ndim is %d, which is negative", TVMGO_OF(p), (int)t->ndim);
  }
  if (t->ndim > 0 && t->shape == NULL) {
    return tvmgo_raise("ValueError", TVMGO_AT "the tensor's shape is NULL", TVMGO_OF(p));
  }
  for (int32_t i = 0; i < t->ndim; i++) {
    if (t->shape[i] >= 0 && t->shape[i] <= (int64_t)1 << 48) continue;
    return tvmgo_raise("ValueError", TVMGO_AT "shape[%d] is %lld, which is %s", TVMGO_OF(p), (int)i,
                       (long long)t->shape[i], t->shape[i] < 0 ? "negative" : "more than memory can hold");
  }
  return 0;
}

//// shaped: extents type_text
/* Checks the number of dimensions, the shape and the data type of a tensor. The bool of TVM v0.20 is uint1. */
TVMGO_SHARED int32_t tvmgo_shaped(const tvmgo_parameter* p, const DLTensor* t, DLDataType type, int32_t ndim) {
  char want[64], got[64];
  if (t->ndim != ndim) {
    return tvmgo_raise("ValueError", TVMGO_AT "expected %d %s (%s), got %d", TVMGO_OF(p), (int)ndim,
                       ndim == 1 ? "dimension" : "dimensions", p->type, (int)t->ndim);
  }
  if (tvmgo_extents(p, t) != 0) return -1;
  if (t->dtype.code == type.code && t->dtype.bits == type.bits && t->dtype.lanes == type.lanes) return 0;
  if (type.code == kDLBool && t->dtype.code == kDLUInt && t->dtype.bits == 1 && t->dtype.lanes == type.lanes) return 0;
  tvmgo_type_text(type, want, sizeof(want));
  tvmgo_type_text(t->dtype, got, sizeof(got));
  return tvmgo_raise("TypeError", TVMGO_AT "expected %s, got %s", TVMGO_OF(p), want, got);
}

//// placed: is_empty device_text raise parameter
/* Checks that a tensor has data, and is on a type of device (0: on any). If there is a first tensor, whose parameter is
   by, it must be on the same device. */
static inline int32_t tvmgo_placed(const tvmgo_parameter* p, const DLTensor* t, int device, const tvmgo_parameter* by,
                                   const DLTensor* first) {
  char want[64], got[64];
  const int is_type = device == 0 || (int)t->device.device_type == device;
  if (!is_type || (first != NULL && t->device.device_id != first->device.device_id)) {
    tvmgo_device_text(device, first != NULL ? (int)first->device.device_id : -1, want, sizeof(want));
    tvmgo_device_text((int)t->device.device_type, (int)t->device.device_id, got, sizeof(got));
    return tvmgo_raise("ValueError", TVMGO_AT "the tensor is on %s, expected %s%s%s: copy it", TVMGO_OF(p), got, want,
                       first != NULL ? ", the device of " : "", first != NULL ? by->argument : "");
  }
  if (t->data != NULL || tvmgo_is_empty(t)) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "the tensor's data is NULL", TVMGO_OF(p));
}

//// aligned: is_empty raise parameter
/* Checks that the address of the first element is a multiple of alignment. */
static inline int32_t tvmgo_aligned(const tvmgo_parameter* p, const DLTensor* t, unsigned alignment) {
  const unsigned beyond = (unsigned)(((uintptr_t)t->data + (uintptr_t)t->byte_offset) % alignment);
  if (beyond == 0 || tvmgo_is_empty(t)) return 0;
  return tvmgo_raise("ValueError",
                     TVMGO_AT "the elements begin %u bytes behind a multiple of %u: copy them to aligned memory",
                     TVMGO_OF(p), beyond, alignment);
}

//// starts: is_empty raise parameter
/* Checks that the elements start at the beginning of the device's memory or, if unit is not 0, a multiple of that many
   bytes behind it. */
TVMGO_SHARED int32_t tvmgo_starts(const tvmgo_parameter* p, const DLTensor* t, unsigned unit) {
  if (t->byte_offset == 0 || (unit != 0 && t->byte_offset % unit == 0) || tvmgo_is_empty(t)) return 0;
  return tvmgo_raise("ValueError",
                     TVMGO_AT "the elements begin %llu bytes into the device's memory, expected %s%u: copy them",
                     TVMGO_OF(p), (unsigned long long)t->byte_offset, unit == 0 ? "" : "a multiple of ", unit);
}
