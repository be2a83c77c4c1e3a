/* Sets this thread's error. */
TVMGO_COMMON __attribute__((noinline, cold, format(printf, 2, 3))) int32_t tvmgo_raise(const char* kind, const char* format, ...) {
  char message[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}
