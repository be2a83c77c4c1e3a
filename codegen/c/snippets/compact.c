TVMGO_COMMON int32_t tvmgo_compact(const tvmgo_parameter* p, const DLTensor* t) {
  if (t->strides == NULL || tvmgo_is_empty(t)) return 0;
  int64_t step = 1;
  for (int32_t i = t->ndim; i-- > 0;) {
    if (t->shape[i] != 1 && t->strides[i] != step) {
      return tvmgo_raise("ValueError", TVMGO_AT "strides[%d] is %lld, expected %lld: the tensor is not compact, copy it",
                         TVMGO_OF(p), (int)i, (long long)t->strides[i], (long long)step);
    }
    if (__builtin_mul_overflow(step, t->shape[i], &step)) {
      return tvmgo_raise("ValueError", TVMGO_AT "the tensor has more elements than can be counted", TVMGO_OF(p));
    }
  }
  return 0;
}
