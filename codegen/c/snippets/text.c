/* Gives a text to who asks for it. */
TVMGO_COMMON __attribute__((noinline)) int tvmgo_text(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes = {text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}
