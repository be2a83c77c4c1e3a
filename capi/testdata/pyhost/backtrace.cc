/* Local C++ functions around a callback; build with -shared. */
#include <tvm/ffi/c_api.h>

#include <string>

static TVMFFIObjectHandle callback;
static int crosses;
static std::string text;

namespace inner {

__attribute__((noinline)) static int leaf(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) {
  const TVMFFIByteArray* b = TVMFFIBacktrace("leaf.cc", 7, "leaf", crosses);
  text.assign(b->data, b->size);
  return 0;
}

__attribute__((noinline)) static int above(void*, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int rc = TVMFFIFunctionCall(callback, const_cast<TVMFFIAny*>(args), n, result);
  __asm__ volatile("" ::: "memory");
  return rc;
}

}  // namespace inner

extern "C" {
TVMFFISafeCallType leaf_function = inner::leaf, above_function = inner::above;

void set_callback(TVMFFIObjectHandle f, int cross) {
  callback = f;
  crosses = cross;
}
const char* last_backtrace() { return text.c_str(); }
}
