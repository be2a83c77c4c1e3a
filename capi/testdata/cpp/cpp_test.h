// Checks for the C++ programs, which use tvm-ffi's public headers only. A failed check prints a line, and the program
// continues. A TEST belongs to an area, and a run of the program with the area's name runs the area's tests.
#ifndef CPP_TEST_H_
#define CPP_TEST_H_

#include <tvm/ffi/tvm_ffi.h>

#include <atomic>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace cpp_test {

struct Case {
  const char* area;
  const char* name;
  void (*run)();
};
std::vector<Case>& Cases();
extern std::atomic<int> failures;  // failed checks so far

struct Register {
  Register(const char* area, const char* name, void (*run)()) { Cases().push_back({area, name, run}); }
};

inline void Fail(const char* file, int line, const std::string& what) {
  if (failures++ >= 50) return;
  std::ostringstream line_of_text;
  line_of_text << file << ':' << line << ": " << what << '\n';
  std::cout << line_of_text.str() << std::flush;
}

template <typename T>
std::string Show(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// The kind of the error that f throws, "" if none; its message and traceback are stored in message and backtrace.
template <typename F>
std::string Thrown(F&& f, std::string* message = nullptr, std::string* backtrace = nullptr) {
  try {
    f();
  } catch (const tvm::ffi::Error& e) {
    if (message != nullptr) *message = e.message();
    if (backtrace != nullptr) *backtrace = e.backtrace();
    return e.kind();
  }
  return "";
}

// A function created by the library that calls f through the C ABI. Functions created by C++ call each other directly,
// so that their exceptions do not pass through the library.
inline tvm::ffi::Function ThroughC(tvm::ffi::Function f) {
  using tvm::ffi::detail::ObjectUnsafe;
  return tvm::ffi::Function::FromExternC(
      ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(std::move(f)),
      [](void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
        return TVMFFIFunctionCall(self, const_cast<TVMFFIAny*>(args), n, result);
      },
      [](void* self) { TVMFFIObjectDecRef(self); });
}

}  // namespace cpp_test

#define TEST(area, name)                                                     \
  static void area##_##name();                                               \
  static cpp_test::Register register_##area##_##name(#area, #name, area##_##name); \
  static void area##_##name()

#define CHECK(...)                                                                            \
  do {                                                                                        \
    if (!(__VA_ARGS__)) cpp_test::Fail(__FILE__, __LINE__, std::string(#__VA_ARGS__) + " is false"); \
  } while (0)

#define SAME(got, want)                                                                         \
  do {                                                                                          \
    const auto& got_ = (got);                                                                   \
    const auto& want_ = (want);                                                                 \
    if (!(got_ == want_))                                                                       \
      cpp_test::Fail(__FILE__, __LINE__,                                                        \
                     std::string(#got) + " is " + cpp_test::Show(got_) + ", want " + cpp_test::Show(want_)); \
  } while (0)

// Checks that the expression throws an error of this kind whose message contains this text.
#define THROWS(error_kind, text, ...)                                                          \
  do {                                                                                         \
    std::string message_;                                                                      \
    SAME(cpp_test::Thrown([&] { (void)(__VA_ARGS__); }, &message_), std::string(error_kind));  \
    if (message_.find(text) == std::string::npos)                                              \
      cpp_test::Fail(__FILE__, __LINE__, std::string(#__VA_ARGS__) + " says \"" + message_ + "\""); \
  } while (0)

#endif  // CPP_TEST_H_
