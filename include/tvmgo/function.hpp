/* Part of tvmgo/tvmgo.hpp: Function. Its calls and callbacks are defined in tvmgo/call.hpp. */
#ifndef TVMGO_FUNCTION_HPP_
#define TVMGO_FUNCTION_HPP_

#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/error.hpp>
#include <tvmgo/ref.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tvmgo {

class Value;

/* A reference to a packed function, which has any number of arguments of any type, and one result. */
class Function : public detail::Ref<TVMFunctionHandle, kTVMPackedFuncHandle> {
 public:
  Function() noexcept = default;
  /* Takes ownership of a reference. */
  static Function take(TVMFunctionHandle owned) noexcept { return Function(owned); }

  /* Makes a function of a C++ callable. The callable is moved, and destroyed by the thread that releases the last
   * reference. Parameters have types that ArgView::as returns; the result has a type that a call accepts as an
   * argument. A callable with the single parameter `const tvmgo::Args&` accepts any arguments. Several threads may call
   * it at a time. An exception that it throws becomes an error with the same text: Error keeps its kind,
   * std::invalid_argument is a ValueError, std::out_of_range an IndexError, std::bad_alloc a MemoryError, any other a
   * RuntimeError. */
  template <class F>
  static Function from(F callable);

  /* Calls the function. Arguments are integers, enums, floats, bools, strings, Bytes, Device, DataType, Tensor,
   * DLTensor*, Module, Function, Object, Array, Map, Shape, Value, void*, nullptr, or std::optional of these. Fails if
   * the function fails, or if a Tensor, Module, Function or Object is empty. */
  template <class... A>
  Value operator()(const A&... args) const;
  /* The same with the result converted, as in call<double>(x); call<void> ignores it. */
  template <class R, class... A>
  R call(const A&... args) const;
  /* The same with the arguments in a vector. */
  Value apply(const std::vector<Value>& args) const;

  /* Global functions belong to the process. If there is none with this name, find_global returns std::nullopt, and
   * get_global fails. */
  static std::optional<Function> find_global(const std::string& name) {
    TVMFunctionHandle out = nullptr;
    detail::check(TVMFuncGetGlobal(detail::c_text(name, "a function's name"), &out));
    if (out == nullptr) return std::nullopt;
    return Function(out);
  }
  static Function get_global(const std::string& name) {
    if (auto f = find_global(name)) return *std::move(f);
    throw Error("NotFoundError", "get global function: there is none named \"" + name + "\"");
  }
  /* Fails if the name exists and `replace` is false. */
  static void set_global(const std::string& name, const Function& f, bool replace = false) {
    if (!f) throw Error("ValueError", "set global function \"" + name + "\": the Function is empty");
    detail::check(TVMFuncRegisterGlobal(detail::c_text(name, "a function's name"), f.handle(), replace));
  }
  /* Does nothing if there is no such function. */
  static void remove_global(const std::string& name) {
    detail::check(TVMFuncRemoveGlobal(detail::c_text(name, "a function's name")));
  }
  static std::vector<std::string> list_globals() {
    int size = 0;
    const char** names = nullptr;
    detail::check(TVMFuncListGlobalNames(&size, &names));
    return {names, names + size};
  }

 private:
  explicit Function(TVMFunctionHandle owned) noexcept : Ref(owned) {}
};

}  // namespace tvmgo

#endif  // TVMGO_FUNCTION_HPP_
