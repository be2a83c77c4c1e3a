/* How many bytes of a tensor with strides lie before its first element, and how many its elements span, gaps among them. */
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
