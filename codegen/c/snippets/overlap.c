/* Whether two ranges of bytes have one in common; empty ones have none. */
static inline int tvmgo_overlap(uintptr_t a, uint64_t a_size, uintptr_t b, uint64_t b_size) {
  return a < b ? b - a < a_size && b_size != 0 : a - b < b_size && a_size != 0;
}

/* Says which of two tensors is written, and what to do. same: one tensor may be passed for both. */
TVMGO_COMMON __attribute__((noinline, cold)) int32_t tvmgo_overlaps(const tvmgo_parameter* p, const tvmgo_parameter* q, int p_written,
                                                              int q_written, int same) {
  const char* way = same ? "pass the same tensor for both, or memory that does not overlap" : "pass memory that does not overlap";
  const int both = p_written && q_written;
  return tvmgo_raise("ValueError",
                     "%s: argument %d (%s) and argument %d (%s) overlap in memory: the function writes %s%s%s: %s, or build the function "
                     "with target option alias-check=0",
                     TVMGO_OF(p), q->index, q->name, both ? "both" : (p_written ? p : q)->name, both ? "" : ", and reads ",
                     both ? "" : (p_written ? q : p)->name, way);
}
