/* Part of tvmgo/tvmgo.hpp: DataType, the type of the elements of a tensor. */
#ifndef TVMGO_DATA_TYPE_HPP_
#define TVMGO_DATA_TYPE_HPP_

#include <dlpack/dlpack.h>
#include <tvmgo/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tvmgo {

namespace detail {

template <class>
inline constexpr bool always_false = false;

struct Name {
  int number;
  const char* text;
};

inline constexpr Name dtype_names[] = {
    {kDLInt, "int"},
    {kDLUInt, "uint"},
    {kDLFloat, "float"},
    {kDLBfloat, "bfloat"},
    {kDLComplex, "complex"},
};

/* Names that imply the number of bits. The classic generation writes e4m3_float8 and e5m2_float8. */
struct FixedName {
  int number, bits;
  const char* text;
};
inline constexpr FixedName fixed_dtype_names[] = {
    {kDLBool, 8, "bool"},
    {kDLOpaqueHandle, 64, "handle"},
    {kDLFloat8_e3m4, 8, "float8_e3m4"},
    {kDLFloat8_e4m3b11fnuz, 8, "float8_e4m3b11fnuz"},
    {kDLFloat8_e4m3fnuz, 8, "float8_e4m3fnuz"},
    {kDLFloat8_e4m3fn, 8, "float8_e4m3fn"},
    {kDLFloat8_e4m3, 8, "float8_e4m3"},
    {kDLFloat8_e5m2fnuz, 8, "float8_e5m2fnuz"},
    {kDLFloat8_e5m2, 8, "float8_e5m2"},
    {kDLFloat8_e8m0fnu, 8, "float8_e8m0fnu"},
    {kDLFloat6_e2m3fn, 6, "float6_e2m3fn"},
    {kDLFloat6_e3m2fn, 6, "float6_e3m2fn"},
    {kDLFloat4_e2m1fn, 4, "float4_e2m1fn"},
    {kDLFloat8_e4m3fn, 8, "e4m3_float8"},
    {kDLFloat8_e5m2, 8, "e5m2_float8"},
};

/* Removes the prefix `head` from text; false if text does not begin with it. */
inline bool cut(std::string_view* text, std::string_view head) {
  if (text->substr(0, head.size()) != head) return false;
  text->remove_prefix(head.size());
  return true;
}

/* Removes a decimal number from the front of text; -1 if there is none, or if it is above max. */
inline long cut_number(std::string_view* text, long max) {
  long n = -1;
  while (!text->empty() && text->front() >= '0' && text->front() <= '9' && n <= max) {
    n = (n < 0 ? 0 : n * 10) + (text->front() - '0');
    text->remove_prefix(1);
  }
  return n > max ? -1 : n;
}

}  // namespace detail

/* An element type: a plain value, which converts to and from DLDataType. */
class DataType {
 public:
  constexpr DataType(DLDataType type) noexcept : type_(type) {}
  constexpr DataType(DLDataTypeCode code, std::uint8_t bits, std::uint16_t lanes = 1) noexcept
      : type_{static_cast<std::uint8_t>(code), bits, lanes} {}

  /* The type of C++ elements: an integer type, float, double, or bool, which is {6, 8, 1} as in DLPack. */
  template <class T>
  static constexpr DataType of(std::uint16_t lanes = 1) noexcept {
    using E = std::remove_cv_t<T>;
    constexpr auto bits = static_cast<std::uint8_t>(8 * sizeof(E));
    if constexpr (std::is_same_v<E, bool>)
      return DataType(kDLBool, 8, lanes);
    else if constexpr (std::is_same_v<E, float> || std::is_same_v<E, double>)
      return DataType(kDLFloat, bits, lanes);
    else if constexpr (std::is_integral_v<E> && std::is_signed_v<E>)
      return DataType(kDLInt, bits, lanes);
    else if constexpr (std::is_integral_v<E>)
      return DataType(kDLUInt, bits, lanes);
    else
      static_assert(detail::always_false<E>,
          "tensors hold integers, float, double or bool; name any other type by DataType");
  }

  /* Parses "float32", "int8x4", "bool", "bfloat16", "float8_e4m3fn", "handle"; "" and "void" are {3, 0, 0}: no type. */
  static DataType parse(std::string_view text) {
    std::string_view rest = text;
    if (text.empty() || text == "void") return DataType(kDLOpaqueHandle, 0, 0);
    for (const auto& fixed : detail::fixed_dtype_names) {
      if (!detail::cut(&rest, fixed.text)) continue;
      if (rest.empty() || rest.front() == 'x')
        return lanes(text, rest, static_cast<DLDataTypeCode>(fixed.number), static_cast<std::uint8_t>(fixed.bits));
      rest = text;
    }
    for (const auto& name : detail::dtype_names) {
      if (!detail::cut(&rest, name.text)) continue;
      if (rest.empty() && name.number <= kDLFloat) return DataType(static_cast<DLDataTypeCode>(name.number), 32);
      long bits = detail::cut_number(&rest, 255);
      if (bits <= 0) break;
      return lanes(text, rest, static_cast<DLDataTypeCode>(name.number), static_cast<std::uint8_t>(bits));
    }
    throw Error("ValueError",
        "parse data type \"" + std::string(text) + "\": no such name: \"float32\" or \"int8x4\" would be one");
  }

  /* "float32", "int8x4"; a type without a name is "dtype(code, bits, lanes)". */
  std::string str() const {
    if (type_.code == kDLOpaqueHandle && type_.bits == 0) return "void";
    std::string many = type_.lanes == 1 ? "" : "x" + std::to_string(type_.lanes);
    if (type_.code == kDLUInt && type_.bits == 1) return "bool" + many; /* the bool of the classic generation */
    for (const auto& fixed : detail::fixed_dtype_names)
      if (fixed.number == type_.code && fixed.bits == type_.bits) return fixed.text + many;
    for (const auto& name : detail::dtype_names)
      if (name.number == type_.code) return name.text + std::to_string(type_.bits) + many;
    return "dtype(" + std::to_string(type_.code) + ", " + std::to_string(type_.bits) + ", " +
        std::to_string(type_.lanes) + ")";
  }

  constexpr int code() const noexcept { return type_.code; }
  constexpr int bits() const noexcept { return type_.bits; } /* of one lane */
  constexpr int lanes() const noexcept { return type_.lanes; }
  constexpr operator DLDataType() const noexcept { return type_; }

  friend constexpr bool operator==(DataType a, DataType b) noexcept {
    return a.type_.code == b.type_.code && a.type_.bits == b.type_.bits && a.type_.lanes == b.type_.lanes;
  }
  friend constexpr bool operator!=(DataType a, DataType b) noexcept { return !(a == b); }

 private:
  static DataType lanes(std::string_view text, std::string_view rest, DLDataTypeCode code, std::uint8_t bits) {
    if (rest.empty()) return DataType(code, bits);
    long n = detail::cut(&rest, "x") ? detail::cut_number(&rest, 65535) : -1;
    if (n > 0 && rest.empty()) return DataType(code, bits, static_cast<std::uint16_t>(n));
    throw Error("ValueError",
        "parse data type \"" + std::string(text) +
            "\": after the width comes \"x\" and 1 to 65535 lanes, or nothing");
  }
  DLDataType type_;
};

}  // namespace tvmgo

#endif  // TVMGO_DATA_TYPE_HPP_
