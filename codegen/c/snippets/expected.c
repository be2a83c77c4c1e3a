TVMGO_COMMON int32_t tvmgo_expected(const tvmgo_parameter* p, const char* got) {
  return tvmgo_raise("TypeError", TVMGO_AT "expected %s, got %s", TVMGO_OF(p), p->type, got);
}
