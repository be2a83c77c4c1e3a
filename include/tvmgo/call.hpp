/* Part of tvmgo/tvmgo.hpp: calls and callbacks, and the members of Device and Module that call functions. */
#ifndef TVMGO_CALL_HPP_
#define TVMGO_CALL_HPP_

#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/device.hpp>
#include <tvmgo/error.hpp>
#include <tvmgo/function.hpp>
#include <tvmgo/module.hpp>
#include <tvmgo/packed.hpp>
#include <tvmgo/ref.hpp>
#include <tvmgo/value.hpp>

#include <cstddef>
#include <exception>
#include <forward_list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvmgo {

namespace detail {

inline TVMFunctionHandle need_function(TVMFunctionHandle f) {
  if (f == nullptr)
    throw Error("ValueError", "call function: the Function is empty: it was moved from, or never set");
  return f;
}

}  // namespace detail

template <class... A>
Value Function::operator()(const A&... args) const {
  detail::need_function(handle());
  detail::Packed<sizeof...(A)> packed(args...);
  TVMValue result;
  int code = kTVMNullptr;
  result.v_handle = nullptr;
  detail::check(TVMFuncCall(handle(), packed.values(), packed.codes(), static_cast<int>(sizeof...(A)), &result, &code));
  return Value::take(result, code);
}

template <class R, class... A>
R Function::call(const A&... args) const {
  if constexpr (std::is_void_v<R>)
    (*this)(args...);
  else if constexpr (std::is_same_v<R, Value>)
    return (*this)(args...);
  else
    return (*this)(args...).template as<R>();
}

inline Value Function::apply(const std::vector<Value>& args) const {
  detail::need_function(handle());
  std::vector<TVMValue> values;
  std::vector<int> codes;
  for (const Value& x : args) {
    values.push_back(x.value());
    codes.push_back(x.code());
  }
  TVMValue result;
  int code = kTVMNullptr;
  result.v_handle = nullptr;
  detail::check(TVMFuncCall(handle(), values.data(), codes.data(), static_cast<int>(args.size()), &result, &code));
  return Value::take(result, code);
}

namespace detail {

/* The parameter types of a callable as a tuple, without references; arguments are converted to them. */
template <class F>
struct Parameters : Parameters<decltype(&F::operator())> {};
template <class R, class... A>
struct Parameters<R (*)(A...)> {
  using type = std::tuple<std::decay_t<A>...>;
};
template <class R, class... A>
struct Parameters<R (*)(A...) noexcept> : Parameters<R (*)(A...)> {};
template <class C, class R, class... A>
struct Parameters<R (C::*)(A...)> : Parameters<R (*)(A...)> {};
template <class C, class R, class... A>
struct Parameters<R (C::*)(A...) const> : Parameters<R (*)(A...)> {};
template <class C, class R, class... A>
struct Parameters<R (C::*)(A...) noexcept> : Parameters<R (*)(A...)> {};
template <class C, class R, class... A>
struct Parameters<R (C::*)(A...) const noexcept> : Parameters<R (*)(A...)> {};

template <class F, class... A, std::size_t... I>
decltype(auto) apply_args(F& f, const Args& args, std::tuple<A...>*, std::index_sequence<I...>) {
  constexpr int want = static_cast<int>(sizeof...(A));
  if (args.size() != want)
    throw Error("TypeError", std::to_string(want) + (want == 1 ? " argument is" : " arguments are") +
                                 " needed, got " + std::to_string(args.size()));
  return f(args[static_cast<int>(I)].template as<A>()...);
}

template <class F>
decltype(auto) apply(F& f, const Args& args) {
  if constexpr (std::is_invocable_v<F&, const Args&>) {
    return f(args);
  } else {
    using Tuple = typename Parameters<F>::type;
    return apply_args(f, args, static_cast<Tuple*>(nullptr), std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }
}

inline int failed(const char* kind, const char* message) noexcept {
  try {
    TVMAPISetLastError((std::string(kind) + ": " + message).c_str());
  } catch (...) {
    TVMAPISetLastError("MemoryError: out of memory while an exception was reported");
  }
  return -1;
}

/* Owns arguments that the caller passed by rvalue reference: their references belong to the callee. */
class Taken {
 public:
  Taken(TVMValue* values, int* codes, int size) {
    for (int i = 0; i < size; i++) {
      if (codes[i] != kTVMObjectRValueRefArg) continue;
      check(TVMCbArgToReturn(&values[i], &codes[i]));
      owned_.push_front(Value::take(values[i], codes[i]));
    }
  }

 private:
  std::forward_list<Value> owned_;
};

template <class F>
struct Callback {
  static int call(TVMValue* values, int* codes, int size, TVMRetValueHandle ret, void* self) noexcept {
    try {
      F& f = *static_cast<F*>(self);
      Taken taken(values, codes, size);
      Args args(values, codes, size);
      if constexpr (std::is_void_v<decltype(apply(f, args))>) {
        apply(f, args);
      } else {
        auto&& result = apply(f, args);
        Packed<1, Role::kResult> packed(result);
        check(TVMCFuncSetReturn(ret, packed.values(), packed.codes(), 1));
      }
      return 0;
    } catch (const Error& e) {
      return failed(e.kind().c_str(), e.message().c_str());
    } catch (const std::bad_alloc&) {
      return failed("MemoryError", "out of memory");
    } catch (const std::invalid_argument& e) {
      return failed("ValueError", e.what());
    } catch (const std::out_of_range& e) {
      return failed("IndexError", e.what());
    } catch (const std::exception& e) {
      return failed("RuntimeError", e.what());
    } catch (...) {
      return failed("RuntimeError", "a callback threw something that is no std::exception");
    }
  }
  static void destroy(void* self) noexcept { delete static_cast<F*>(self); }
};

}  // namespace detail

template <class F>
Function Function::from(F callable) {
  auto owned = std::make_unique<F>(std::move(callable));
  TVMFunctionHandle out = nullptr;
  detail::check(TVMFuncCreateFromCFunc(detail::Callback<F>::call, owned.get(), detail::Callback<F>::destroy, &out));
  owned.release();
  return Function(out);
}

inline Value Device::attr(int kind) const { return Function::get_global("runtime.GetDeviceAttr")(type(), id(), kind); }

inline bool Device::exists() const {
  if (!Function::find_global("runtime.GetDeviceAttr")) return false;
  try {
    return attr(0).as<std::optional<bool>>().value_or(false);
  } catch (const Error&) {
    return false;
  }
}

inline std::vector<Module> Module::imports() const {
  need();
  std::vector<Module> out;
  int n = Function::get_global("runtime.ModuleImportsSize").call<int>(*this);
  Function import_at = Function::get_global("runtime.ModuleGetImport");
  for (int i = 0; i < n; i++) out.push_back(import_at.call<Module>(*this, i));
  return out;
}

inline std::vector<std::string> Module::functions(bool imports) const {
  need();
  std::vector<std::string> out;
  Object names = Function::get_global("runtime.ModuleListFunctions").call<Object>(*this, imports);
  int n = Function::get_global("ffi.ArraySize").call<int>(names);
  Function item_at = Function::get_global("ffi.ArrayGetItem");
  for (int i = 0; i < n; i++) out.push_back(item_at.call<std::string>(names, i));
  return out;
}

inline std::string Module::kind() const {
  need();
  return Function::get_global("runtime.ModuleGetTypeKey").call<std::string>(*this);
}

inline std::string Module::source(const std::string& format) const {
  need();
  return Function::get_global("runtime.ModuleGetSource").call<std::string>(*this, format);
}

}  // namespace tvmgo

#endif  // TVMGO_CALL_HPP_
