/* The stride along a dimension, also of a tensor that lists none. */
static int64_t tvmgo_stride(const DLTensor* t, int32_t dim) {
  if (t->strides != NULL) return t->strides[dim];
  uint64_t step = 1;
  for (int32_t i = t->ndim - 1; i > dim; i--) step *= (uint64_t)t->shape[i];
  return (int64_t)step;
}
