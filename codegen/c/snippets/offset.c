/* Whether kernels may be given a tensor that begins inside of its buffer. Those of tvmgo's runtime take a tensor as well as a buffer's handle, and see the
   part of the buffer that it is. Its device modules, and no others, have a function that returns what an offset must be a multiple of. */
static __attribute__((noinline, cold)) int32_t tvmgo_offset(const tvmgo_parameter* p, const DLTensor* t, tvmgo_import* known, const char* name) {
  char device[64];
  int64_t unit = 0;
  if (tvmgo_is_empty(t)) return 0;
  tvmgo_device_text(t->device, device, sizeof(device));
  const int32_t rc = tvmgo_ask(known, name, t->device.device_id, &unit);
  if (rc < 0) return rc;
  if (rc > 0) {
    return tvmgo_raise("ValueError", TVMGO_AT "the elements begin %llu bytes into the device's memory, expected 0: this runtime gives kernels on %s whole "
                       "buffers only: copy them, or load the file with tvmgo's runtime", TVMGO_OF(p), (unsigned long long)t->byte_offset, device);
  }
  if (unit > 0 && t->byte_offset % (uint64_t)unit == 0) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "the elements begin %llu bytes into the device's memory, expected a multiple of %lld on %s: copy them",
                     TVMGO_OF(p), (unsigned long long)t->byte_offset, (long long)unit, device);
}
