/* Whether two ranges of bytes have one in common; empty ones have none. */
static inline int tvmgo_overlap(uintptr_t a, uint64_t a_size, uintptr_t b, uint64_t b_size) {
  return a < b ? b - a < a_size && b_size != 0 : a - b < b_size && a_size != 0;
}

static __attribute__((noinline, cold)) int32_t tvmgo_overlaps(const tvmgo_parameter* p, const tvmgo_parameter* q, const char* reason) {
  return tvmgo_raise("ValueError", "%s: argument %d (%s) and argument %d (%s) overlap in memory: %s", TVMGO_OF(p), q->index, q->name, reason);
}
