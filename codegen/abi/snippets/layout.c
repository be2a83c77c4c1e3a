//// same: raise parameter
/* Compares one number of a tensor's description with the expected one. name: the expression of the expected number,
   NULL for a constant. by: the arguments on which it depends. */
TVMGO_SHARED int32_t tvmgo_same(const tvmgo_parameter* p, const char* what, int64_t got, int64_t want, const char* name,
                                const char* by) {
  if (got == want) return 0;
  if (name == NULL) {
    return tvmgo_raise("ValueError", TVMGO_AT "%s is %lld, expected %lld", TVMGO_OF(p), what, (long long)got,
                       (long long)want);
  }
  return tvmgo_raise("ValueError", TVMGO_AT "%s is %lld, expected %s = %lld%s%s%s", TVMGO_OF(p), what, (long long)got,
                     name, (long long)want, by == NULL ? "" : " (", by == NULL ? "" : by, by == NULL ? "" : ")");
}

//// fits: raise parameter
/* Checks a size that the code keeps in a smaller type. */
TVMGO_SHARED int32_t tvmgo_fits(const tvmgo_parameter* p, const char* what, int64_t value, int64_t least, int64_t most,
                                const char* type) {
  if (value >= least && value <= most) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "%s is %lld, which does not fit %s", TVMGO_OF(p), what, (long long)value,
                     type);
}

//// contiguous: is_empty raise parameter
TVMGO_SHARED int32_t tvmgo_contiguous(const tvmgo_parameter* p, const DLTensor* t) {
  if (t->strides == NULL || tvmgo_is_empty(t)) return 0;
  int64_t step = 1;
  for (int32_t i = t->ndim; i-- > 0;) {
    if (t->shape[i] != 1 && t->strides[i] != step) {
      return tvmgo_raise("ValueError",
                         TVMGO_AT "strides[%d] is %lld, expected %lld: the tensor is not contiguous, copy it",
                         TVMGO_OF(p), (int)i, (long long)t->strides[i], (long long)step);
    }
    if (__builtin_mul_overflow(step, t->shape[i], &step)) {
      return tvmgo_raise("ValueError", TVMGO_AT "the tensor has more elements than can be counted", TVMGO_OF(p));
    }
  }
  return 0;
}

//// stride: is_empty
/* Returns the stride of a dimension, also of a tensor without strides. */
static int64_t tvmgo_stride(const DLTensor* t, int32_t dim) {
  if (t->strides != NULL) return t->strides[dim];
  uint64_t step = 1;
  for (int32_t i = t->ndim - 1; i > dim; i--) step *= (uint64_t)t->shape[i];
  return (int64_t)step;
}

//// data
/* Returns the address of the first element. */
static inline void* tvmgo_data(const DLTensor* t) { return t->data == NULL ? NULL : (char*)t->data + t->byte_offset; }

//// base
/* Returns the address from which indices count, for a buffer whose indices include its offset. */
static void* tvmgo_base(const DLTensor* t, uint64_t size) {
  return t->data == NULL ? NULL : (char*)t->data + t->byte_offset % size;
}

//// reach: is_empty stride
/* Returns how many bytes of a tensor with strides lie before its first element. *size: how many bytes its elements
   span, with gaps. */
static uint64_t tvmgo_reach(const DLTensor* t, uint64_t bits, uint64_t* size) {
  uint64_t before = 0, behind = 0;
  *size = 0;
  if (tvmgo_is_empty(t)) return 0;
  for (int32_t i = 0; i < t->ndim; i++) {
    const int64_t step = tvmgo_stride(t, i);
    if (step < 0) before += (uint64_t)(t->shape[i] - 1) * (0 - (uint64_t)step);
    else behind += (uint64_t)(t->shape[i] - 1) * (uint64_t)step;
  }
  before = (before * bits + 7) / 8;
  *size = before + ((behind + 1) * bits + 7) / 8;
  return before;
}

//// overlap: raise parameter
/* Reports whether two ranges have a byte in common. */
static inline int tvmgo_overlap(uintptr_t a, uint64_t a_size, uintptr_t b, uint64_t b_size) {
  return a < b ? b - a < a_size && b_size != 0 : a - b < b_size && a_size != 0;
}

/* Raises the error of two tensors that overlap. same: one tensor may be passed for both. */
TVMGO_SHARED __attribute__((noinline, cold)) int32_t tvmgo_overlaps(const tvmgo_parameter* p, const tvmgo_parameter* q,
                                                                    int p_written, int q_written, int same) {
  const char* way = same ? "pass the same tensor for both, or memory" : "pass memory";
  const int both = p_written && q_written;
  return tvmgo_raise("ValueError",
                     "%s: %s and %s overlap in memory: the function writes %s%s%s: %s that does not overlap, or build "
                     "the function with target option alias-check=0",
                     TVMGO_OF(p), q->argument, both ? "both" : (p_written ? p : q)->name, both ? "" : ", and reads ",
                     both ? "" : (p_written ? q : p)->name, way);
}

//// apart: overlap
/* The memory of one argument. */
typedef struct {
  int parameter;
  const void* handle; /* of memory that has no address */
  uintptr_t start;
  uint64_t size;
} tvmgo_memory;

/* Two arguments that must not overlap: indices into an array of tvmgo_memory. */
typedef struct {
  int32_t first, second;
  int8_t first_written, second_written, same;
} tvmgo_pair;

/* Raises an error if the memory of a pair overlaps. */
TVMGO_SHARED __attribute__((noinline)) int32_t tvmgo_apart(const tvmgo_parameter* p, const tvmgo_memory* memory,
                                                           const tvmgo_pair* pairs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const tvmgo_memory *a = &memory[pairs[i].first], *b = &memory[pairs[i].second];
    if (a->handle != b->handle || (pairs[i].same && a->start == b->start)) continue;
    if (!tvmgo_overlap(a->start, a->size, b->start, b->size)) continue;
    return tvmgo_overlaps(&p[a->parameter], &p[b->parameter], pairs[i].first_written, pairs[i].second_written,
                          pairs[i].same);
  }
  return 0;
}
