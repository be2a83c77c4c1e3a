/* Gives a text to who asks for it. */
static __attribute__((noinline)) int tvmgo_text(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes = {text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}
