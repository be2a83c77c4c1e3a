TVMGO_COMMON int32_t tvmgo_count(const char* function, const char* signature, const void* args, int32_t got, int32_t want) {
  if (got == want && (args != NULL || want == 0)) return 0;
  const char* what = want == 1 ? "argument" : "arguments";
  if (got == want) return tvmgo_raise("TypeError", "%s: expected %d %s, got NULL: %s", function, (int)want, what, signature);
  return tvmgo_raise("TypeError", "%s: expected %d %s, got %d: %s", function, (int)want, what, (int)got, signature);
}
