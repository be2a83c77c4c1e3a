/* The memory of one argument, and a pair of arguments that must not overlap; both are told by their places in a list of memory. */
typedef struct {
  int parameter;
  const void* handle; /* of memory that has no address */
  uintptr_t start;
  uint64_t size;
} tvmgo_memory;
typedef struct {
  int32_t first, second;
  int8_t first_written, second_written, same;
} tvmgo_pair;

/* Refuses memory that overlaps. */
TVMGO_COMMON __attribute__((noinline)) int32_t tvmgo_apart(const tvmgo_parameter* p, const tvmgo_memory* memory, const tvmgo_pair* pairs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const tvmgo_memory *a = &memory[pairs[i].first], *b = &memory[pairs[i].second];
    if (a->handle != b->handle || (pairs[i].same && a->start == b->start) || !tvmgo_overlap(a->start, a->size, b->start, b->size)) continue;
    return tvmgo_overlaps(&p[a->parameter], &p[b->parameter], pairs[i].first_written, pairs[i].second_written, pairs[i].same);
  }
  return 0;
}
