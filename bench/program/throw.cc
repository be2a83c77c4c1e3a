/* C++ code that throws and catches errors with the headers of Apache TVM's wheel. It is a separate library, which
 * program/error.c opens, so that the program itself needs no C++. */
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <cstdint>

using tvm::ffi::Error;
using tvm::ffi::Function;

namespace {
int64_t fail(int64_t length) {
  if (length < 0) TVM_FFI_THROW(ValueError) << "the length must be positive, got " << length;
  return length;
}
}  // namespace

/* Throws in a function behind the C ABI and catches in its caller, n times. Returns the number of errors caught. */
extern "C" int64_t bench_throw_through_call(int64_t n) {
  static Function f = Function::FromTyped(fail);
  int64_t caught = 0;
  for (int64_t i = 0; i < n; i++) {
    try {
      f(int64_t{-1});
    } catch (const Error& e) {
      caught += e.kind() == "ValueError";
    }
  }
  return caught;
}
