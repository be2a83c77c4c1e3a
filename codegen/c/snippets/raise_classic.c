/* Sets this thread's error. */
TVMGO_COMMON __attribute__((noinline, cold, format(printf, 2, 3))) int32_t tvmgo_raise(const char* kind, const char* format, ...) {
  char message[1024];
  va_list args;
  const int used = snprintf(message, sizeof(message), "%s: ", kind);
  va_start(args, format);
  vsnprintf(message + used, sizeof(message) - (size_t)used, format, args);
  va_end(args);
  TVMAPISetLastError(message);
  return -1;
}
