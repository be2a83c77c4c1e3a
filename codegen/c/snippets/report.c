/* Keeps the first index that was outside. It is false. */
static bool tvmgo_report(int64_t* record, int32_t access, int64_t index, int64_t size) {
  int32_t none = 0;
  if (__atomic_compare_exchange_n((int32_t*)record, &none, access, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    record[1] = index;
    record[2] = size;
  }
  return false;
}
