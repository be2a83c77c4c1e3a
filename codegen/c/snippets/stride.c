/* The stride along a dimension, also of a tensor that lists none. */
static int64_t tvmgo_stride(const DLTensor* t, int32_t dim) {
  if (t->strides != NULL) return t->strides[dim];
  int64_t step = 1;
  for (int32_t i = t->ndim - 1; i > dim; i--) step *= t->shape[i];
  return step;
}
