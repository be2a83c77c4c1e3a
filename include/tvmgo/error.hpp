/* Part of tvmgo/tvmgo.hpp: Error, the exception of all classes. */
#ifndef TVMGO_ERROR_HPP_
#define TVMGO_ERROR_HPP_

#include <tvm/runtime/c_runtime_api.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tvmgo {

/* An error; what() is "Kind: message". The kinds are those of Python (ValueError, TypeError, RuntimeError, IndexError,
 * MemoryError, …) and NotFoundError, NotSupportedError, CorruptModuleError, UntrustedError, DeviceUnavailableError,
 * InternalError. */
class Error : public std::runtime_error {
 public:
  Error(const std::string& kind, const std::string& message) : Error(kind, message, "") {}

  const std::string& kind() const noexcept { return parts_->kind; }
  const std::string& message() const noexcept { return parts_->message; }
  /* The stack where the runtime raised the error, innermost frame first; "" if it is unknown. */
  const std::string& backtrace() const noexcept { return parts_->backtrace; }

  /* The calling thread's last error. */
  static Error last() {
    const char* text = TVMGetLastError();
    if (text == nullptr) return Error("PythonError", "a Python exception is held by this thread");
    const char* trace = TVMGetLastBacktrace();
    std::string_view all = text;
    std::size_t colon = all.find(": ");
    bool has_kind = colon != all.npos && colon > 0 && all.substr(0, colon).find_first_of(" \t\n\"'(") == all.npos;
    return Error(std::string(has_kind ? all.substr(0, colon) : "RuntimeError"),
                 std::string(has_kind ? all.substr(colon + 2) : all), trace == nullptr ? "" : trace);
  }

 private:
  struct Parts {
    std::string kind, message, backtrace;
  };
  std::shared_ptr<const Parts> parts_; /* shared, so that copying an Error cannot throw */

  Error(const std::string& kind, const std::string& message, const std::string& backtrace)
      : std::runtime_error(kind + ": " + message),
          parts_(std::make_shared<const Parts>(Parts{kind, message, backtrace})) {}
};

namespace detail {

inline void check(int rc) {
  if (rc != 0) throw Error::last();
}

/* A name as a C string. Fails if it contains a NUL character, where C would cut it short. */
inline const char* c_text(const std::string& text, const char* what) {
  if (text.find('\0') != text.npos) throw Error("ValueError", std::string(what) + " has a NUL character inside");
  return text.c_str();
}

}  // namespace detail

}  // namespace tvmgo

#endif  // TVMGO_ERROR_HPP_
