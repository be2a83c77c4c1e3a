/* Part of tvmgo/tvmgo.hpp: arguments and results in the form that the C functions expect. */
#ifndef TVMGO_PACKED_HPP_
#define TVMGO_PACKED_HPP_

#include <dlpack/dlpack.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/data_type.hpp>
#include <tvmgo/device.hpp>
#include <tvmgo/error.hpp>
#include <tvmgo/function.hpp>
#include <tvmgo/module.hpp>
#include <tvmgo/ref.hpp>
#include <tvmgo/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tvmgo {

class ArgView;
class Value;

/* Bytes as an argument or a result. A string is a std::string. */
using Bytes = std::vector<std::uint8_t>;

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

Object shape_object(const Shape& shape);

/* What a Packed has, for errors: the arguments of a call, the result of a callback, or a value by itself. */
enum class Role { kArguments, kResult, kValue };

/* N arguments, or one other value, as arrays of values and type codes. It borrows from them, and owns converted
 * values. */
template <std::size_t N, Role R = Role::kArguments>
class Packed {
 public:
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  template <class... A>
  explicit Packed(const A&... args) {
    int i = 0;
    (void)i;
    (set(i++, args), ...);
  }
  TVMValue* values() noexcept { return values_.data(); }
  int* codes() noexcept { return codes_.data(); }

 private:
  template <class T>
  void set(int i, const T& x) {
    TVMValue& v = values_[static_cast<std::size_t>(i)];
    int& code = codes_[static_cast<std::size_t>(i)];
    v.v_int64 = 0;
    if constexpr (std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, std::nullopt_t>) {
      code = kTVMNullptr;
    } else if constexpr (is_optional<T>) {
      code = kTVMNullptr;
      if (x) set(i, *x);
    } else if constexpr (std::is_same_v<T, ArgView> || std::is_same_v<T, Value>) {
      v = x.value();
      code = x.code();
    } else if constexpr (std::is_same_v<T, Tensor>) {
      counted(i, x.handle(), kTVMNDArrayHandle);
    } else if constexpr (std::is_same_v<T, Module>) {
      counted(i, x.handle(), kTVMModuleHandle);
    } else if constexpr (std::is_same_v<T, Function>) {
      counted(i, x.handle(), kTVMPackedFuncHandle);
    } else if constexpr (std::is_base_of_v<Object, T>) {
      counted(i, x.handle(), kTVMObjectHandle);
    } else if constexpr (std::is_same_v<T, Shape>) {
      counted(i, objects_.emplace_front(shape_object(x)).handle(), kTVMObjectHandle);
    } else if constexpr (std::is_same_v<T, Device> || std::is_same_v<T, DLDevice>) {
      v.v_device = x;
      code = kDLDevice;
    } else if constexpr (std::is_same_v<T, DataType> || std::is_same_v<T, DLDataType>) {
      v.v_type = x;
      code = kTVMDataType;
    } else if constexpr (std::is_same_v<T, bool>) {
      v.v_int64 = x;
      code = kTVMArgBool;
    } else if constexpr (std::is_enum_v<T>) {
      set(i, static_cast<std::underlying_type_t<T>>(x));
    } else if constexpr (std::is_integral_v<T>) {
      if (std::is_unsigned_v<T> && static_cast<std::uint64_t>(x) > static_cast<std::uint64_t>(INT64_MAX))
        throw Error("ValueError", argument(i) + std::to_string(x) + " does not fit a 64-bit integer with sign");
      v.v_int64 = static_cast<std::int64_t>(x);
      code = kTVMArgInt;
    } else if constexpr (std::is_floating_point_v<T>) {
      v.v_float64 = static_cast<double>(x);
      code = kTVMArgFloat;
    } else if constexpr (std::is_same_v<T, DLTensor*> || std::is_same_v<T, const DLTensor*>) {
      if (x == nullptr) throw Error("ValueError", argument(i) + "the DLTensor* is NULL: nullptr stands for none");
      v.v_handle = const_cast<DLTensor*>(x);
      code = kTVMDLTensorHandle;
    } else if constexpr (std::is_same_v<T, TVMByteArray>) {
      bytes(i, x);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      bytes(i, TVMByteArray{reinterpret_cast<const char*>(x.data()), x.size()});
    } else if constexpr (std::is_same_v<T, std::string>) {
      text(i, x);
    } else if constexpr (std::is_convertible_v<const T&, const char*>) {
      v.v_str = x;
      code = kTVMStr;
      if (v.v_str == nullptr) throw Error("ValueError", argument(i) + "the text is NULL: nullptr stands for none");
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      text(i, texts_.emplace_front(std::string_view(x))); /* a view may have no NUL at its end */
    } else if constexpr (std::is_same_v<T, void*> || std::is_same_v<T, const void*>) {
      v.v_handle = const_cast<void*>(x);
      code = kTVMOpaqueHandle;
    } else {
      static_assert(always_false<T>,
          "this type cannot be an argument or a result: see Function::operator() for the types that can; "
          "a pointer has to be a void* or a DLTensor*");
    }
  }

  static std::string argument(int i) {
    if (R != Role::kArguments) return R == Role::kResult ? "result: " : "value: ";
    return "argument " + std::to_string(i) + ": ";
  }
  void counted(int i, void* handle, int code) {
    if (handle == nullptr)
      throw Error("ValueError",
          argument(i) + code_name(code) + " that is empty (moved from, or never set): nullptr stands for none");
    values_[static_cast<std::size_t>(i)].v_handle = handle;
    codes_[static_cast<std::size_t>(i)] = code;
  }
  void text(int i, const std::string& x) {
    if (x.find('\0') != x.npos)
      throw Error("ValueError", argument(i) + "the text has a NUL character inside: pass Bytes");
    values_[static_cast<std::size_t>(i)].v_str = x.c_str();
    codes_[static_cast<std::size_t>(i)] = kTVMStr;
  }
  void bytes(int i, TVMByteArray x) {
    bytes_[static_cast<std::size_t>(i)] = x;
    values_[static_cast<std::size_t>(i)].v_handle = &bytes_[static_cast<std::size_t>(i)];
    codes_[static_cast<std::size_t>(i)] = kTVMBytes;
  }

  std::array<TVMValue, N> values_;
  std::array<int, N> codes_;
  std::array<TVMByteArray, N> bytes_;
  std::forward_list<std::string> texts_;
  std::forward_list<Object> objects_;
};

}  // namespace detail

}  // namespace tvmgo

#endif  // TVMGO_PACKED_HPP_
