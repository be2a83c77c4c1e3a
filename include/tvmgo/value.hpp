/* Part of tvmgo/tvmgo.hpp: arguments (ArgView, Args) and results (Value) of calls. */
#ifndef TVMGO_VALUE_HPP_
#define TVMGO_VALUE_HPP_

#include <dlpack/dlpack.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/data_type.hpp>
#include <tvmgo/device.hpp>
#include <tvmgo/error.hpp>
#include <tvmgo/function.hpp>
#include <tvmgo/module.hpp>
#include <tvmgo/packed.hpp>
#include <tvmgo/ref.hpp>
#include <tvmgo/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tvmgo {

class Value;

namespace detail {

/* Fails if the object has another type than that with this key, which `what` describes. */
void need_type(const Object& object, const char* key, const char* what);
Shape shape_of(const Object& object);

}  // namespace detail

/* A borrowed value: an argument inside a callback. */
class ArgView {
 public:
  ArgView(TVMValue value, int code, int index = -1) noexcept : value_(value), code_(code), index_(index) {}

  TVMValue value() const noexcept { return value_; }
  int code() const noexcept { return code_; } /* TVMArgTypeCode */
  bool is_none() const noexcept { return code_ == kTVMNullptr; }

  /* The value converted to T. An integer type accepts an int or a bool that fits; a floating-point type a float or an
   * int; bool a bool or an int; DataType also its name; void* a pointer or none; DLTensor* a tensor; Object any counted
   * object except a tensor; Array, Map and Shape an object of that type; std::optional is empty for none. A
   * std::string_view or DLTensor* is borrowed. Any other combination fails with the index of the argument. */
  template <class T>
  T as() const {
    if constexpr (std::is_same_v<T, ArgView>) {
      return *this;
    } else if constexpr (detail::is_optional<T>) {
      if (is_none()) return std::nullopt;
      return as<typename T::value_type>();
    } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
      return need(code_ == kTVMNullptr, "none"), nullptr;
    } else if constexpr (std::is_same_v<T, bool>) {
      need(code_ == kTVMArgBool || code_ == kTVMArgInt, "a bool");
      return value_.v_int64 != 0;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(as<std::underlying_type_t<T>>());
    } else if constexpr (std::is_integral_v<T>) {
      need(code_ == kTVMArgInt || code_ == kTVMArgBool, "an int");
      return integer<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      need(code_ == kTVMArgFloat || code_ == kTVMArgInt, "a float");
      return code_ == kTVMArgFloat ? static_cast<T>(value_.v_float64) : static_cast<T>(value_.v_int64);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
      return need(code_ == kTVMStr, "a text"), T(value_.v_str);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      need(code_ == kTVMBytes, "bytes");
      const auto* run = static_cast<const TVMByteArray*>(value_.v_handle);
      return Bytes(run->data, run->data + run->size);
    } else if constexpr (std::is_same_v<T, Device> || std::is_same_v<T, DLDevice>) {
      return need(code_ == kDLDevice, "a device"), T(value_.v_device);
    } else if constexpr (std::is_same_v<T, DataType> || std::is_same_v<T, DLDataType>) {
      if (code_ == kTVMStr) return DataType::parse(value_.v_str);
      return need(code_ == kTVMDataType, "a data type"), T(value_.v_type);
    } else if constexpr (std::is_same_v<T, DLTensor*> || std::is_same_v<T, const DLTensor*>) {
      need(code_ == kTVMDLTensorHandle || code_ == kTVMNDArrayHandle, "a tensor");
      return static_cast<DLTensor*>(value_.v_handle);
    } else if constexpr (std::is_same_v<T, void*>) {
      need(code_ == kTVMOpaqueHandle || code_ == kTVMNullptr, "a pointer");
      return value_.v_handle;
    } else if constexpr (std::is_same_v<T, Tensor>) {
      need(code_ != kTVMDLTensorHandle, "a counted tensor (a DLTensor* is the caller's: take it as DLTensor*)");
      need(code_ == kTVMNDArrayHandle, "a tensor");
      return retained(), Tensor::take(static_cast<TVMArrayHandle>(value_.v_handle));
    } else if constexpr (std::is_same_v<T, Module>) {
      need(code_ == kTVMModuleHandle, "a module");
      return retained(), Module::take(value_.v_handle);
    } else if constexpr (std::is_same_v<T, Function>) {
      need(code_ == kTVMPackedFuncHandle, "a function");
      return retained(), Function::take(value_.v_handle);
    } else if constexpr (std::is_same_v<T, Object>) {
      need(detail::is_counted(code_) && code_ != kTVMNDArrayHandle, "an object");
      return retained(), Object::take(value_.v_handle);
    } else if constexpr (std::is_base_of_v<Object, T>) { /* Array, Map */
      return T(as<Object>());
    } else if constexpr (std::is_same_v<T, Shape>) {
      return detail::shape_of(as<Object>());
    } else if constexpr (std::is_same_v<T, Value>) {
      return T::copy_of(*this);
    } else {
      static_assert(detail::always_false<T>, "no value is converted to this type: see the comment of ArgView::as");
    }
  }

 private:
  void need(bool fits, const char* wanted) const {
    if (fits) return;
    throw Error("TypeError", where() + wanted + " is needed, not " + detail::code_name(code_));
  }
  std::string where() const { return index_ < 0 ? "result: " : "argument " + std::to_string(index_) + ": "; }
  void retained() const { detail::retain(value_, code_); }

  template <class T>
  T integer() const {
    std::int64_t v = value_.v_int64;
    bool fits = true;
    if constexpr (std::is_unsigned_v<T>)
      fits = v >= 0 && static_cast<std::uint64_t>(v) <= std::numeric_limits<T>::max();
    else
      fits = v >= std::numeric_limits<T>::min() && v <= std::numeric_limits<T>::max();
    if (!fits)
      throw Error("ValueError", where() + std::to_string(v) + " does not fit " + std::to_string(8 * sizeof(T)) +
                                    " bits" + (std::is_unsigned_v<T> ? " without sign" : ""));
    return static_cast<T>(v);
  }

  TVMValue value_;
  int code_, index_;
};

/* The arguments of a callback, borrowed for the call. */
class Args {
 public:
  Args(const TVMValue* values, const int* codes, int size) noexcept : values_(values), codes_(codes), size_(size) {}
  int size() const noexcept { return size_; }
  /* Fails if there is no argument with this index. */
  ArgView operator[](int i) const {
    if (i < 0 || i >= size_)
      throw Error("IndexError", "argument " + std::to_string(i) + " of " + std::to_string(size_));
    return ArgView(values_[i], codes_[i], i);
  }

 private:
  const TVMValue* values_;
  const int* codes_;
  int size_;
};

/* An owned value: the result of a call or of a callback. A new or moved-from Value is none. */
class Value {
 public:
  Value() noexcept { value_.v_handle = nullptr; }
  Value(const Value& other) : Value(copy_of(ArgView(other.value(), other.code()))) {}
  Value(Value&& other) noexcept
      : value_(other.value_), code_(std::exchange(other.code_, static_cast<int>(kTVMNullptr))),
          text_(std::move(other.text_)) {}
  Value& operator=(Value other) noexcept {
    std::swap(value_, other.value_);
    std::swap(code_, other.code_);
    std::swap(text_, other.text_);
    return *this;
  }
  ~Value() { detail::release(value_, code_); }

  /* A value made of anything that can be an argument. */
  template <class T>
  static Value of(const T& x) {
    detail::Packed<1, detail::Role::kValue> packed(x);
    return copy_of(ArgView(*packed.values(), *packed.codes()));
  }
  static Value copy_of(ArgView view) {
    Value out;
    if (view.code() == kTVMStr || view.code() == kTVMBytes) {
      out.keep(view.value(), view.code());
    } else {
      if (detail::is_counted(view.code())) detail::retain(view.value(), view.code());
      out.value_ = view.value();
    }
    out.code_ = view.code();
    return out;
  }
  /* Takes ownership of a result of TVMFuncCall. */
  static Value take(TVMValue value, int code) {
    Value out;
    if (code == kTVMStr || code == kTVMBytes)
      out.keep(value, code);
    else
      out.value_ = value;
    out.code_ = code;
    return out;
  }

  /* Valid until this object is changed or destroyed. */
  TVMValue value() const noexcept {
    TVMValue v = value_;
    if (code_ == kTVMStr) v.v_str = text_->text.c_str();
    if (code_ == kTVMBytes) v.v_handle = &text_->run;
    return v;
  }
  int code() const noexcept { return code_; } /* TVMArgTypeCode */
  bool is_none() const noexcept { return code_ == kTVMNullptr; }

  /* The value converted to T, as by ArgView::as, except types that only borrow. */
  template <class T>
  T as() const {
    static_assert(!std::is_same_v<T, std::string_view> && !std::is_same_v<T, DLTensor*> &&
                      !std::is_same_v<T, const DLTensor*> && !std::is_same_v<T, ArgView>,
                  "a result is owned: take it as std::string or Tensor");
    return ArgView(value(), code_).as<T>();
  }

 private:
  struct Text { /* a string or bytes, and how C sees them */
    std::string text;
    TVMByteArray run;
  };
  void keep(TVMValue value, int code) {
    text_ = std::make_unique<Text>();
    if (code == kTVMStr) {
      text_->text = value.v_str;
    } else {
      const auto* run = static_cast<const TVMByteArray*>(value.v_handle);
      if (run->size > 0) text_->text.assign(run->data, run->size);
    }
    text_->run = {text_->text.data(), text_->text.size()};
  }

  TVMValue value_;
  int code_ = kTVMNullptr;
  std::unique_ptr<Text> text_;
};

}  // namespace tvmgo

#endif  // TVMGO_VALUE_HPP_
