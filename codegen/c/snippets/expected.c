static int32_t tvmgo_expected(const tvmgo_parameter* p, const char* got) {
  return tvmgo_raise("TypeError", "%s: argument %d (%s): expected %s, got %s", p->function, p->index, p->name, p->type, got);
}
