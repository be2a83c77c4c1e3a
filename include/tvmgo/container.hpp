/* Part of tvmgo/tvmgo.hpp: Array and Map, the containers of the runtime, and shapes as values. */
#ifndef TVMGO_CONTAINER_HPP_
#define TVMGO_CONTAINER_HPP_

#include <tvmgo/call.hpp>
#include <tvmgo/error.hpp>
#include <tvmgo/function.hpp>
#include <tvmgo/ref.hpp>
#include <tvmgo/value.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tvmgo {

/* An immutable sequence of values; models return tuples as arrays. A loop over it has Values. */
class Array : public Object {
 public:
  Array() : Array(of()) {}
  /* Fails if the object is none. */
  explicit Array(Object array) : Object(std::move(array)) { detail::need_type(*this, "Array", "an array"); }
  /* An array of these elements, which can be anything that a call accepts. */
  template <class... A>
  static Array of(const A&... elements) {
    return Array(Function::get_global("ffi.Array").call<Object>(elements...));
  }
  /* An array of the elements of a container. */
  template <class C>
  static Array from(const C& elements) {
    std::vector<Value> values;
    for (const auto& x : elements) values.push_back(Value::of(x));
    return Array(Function::get_global("ffi.Array").apply(values).template as<Object>());
  }

  std::size_t size() const { return Function::get_global("ffi.ArraySize").call<std::size_t>(as_object()); }
  bool empty() const { return size() == 0; }
  /* Fails if there is no element with this index. */
  Value operator[](std::size_t i) const { return Function::get_global("ffi.ArrayGetItem")(as_object(), i); }
  /* All elements as values of type T. Fails if one has another type. */
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> out;
    for (const Value& x : *this) out.push_back(x.as<T>());
    return out;
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using pointer = const Value*;
    using reference = Value;
    Iterator(const Array* array, std::size_t at) : array_(array), at_(at) {}
    Value operator*() const { return (*array_)[at_]; }
    Iterator& operator++() {
      at_++;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept { return a.at_ == b.at_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) noexcept { return a.at_ != b.at_; }

   private:
    const Array* array_;
    std::size_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  const Object& as_object() const noexcept { return *this; }
};

/* An immutable map. A loop over it has pairs of a key and a value, in the order of insertion. */
class Map : public Object {
 public:
  Map() : Map(of()) {}
  /* Fails if the object is none. */
  explicit Map(Object map) : Object(std::move(map)) { detail::need_type(*this, "Map", "a map"); }
  /* A map of these keys and values, which alternate. */
  template <class... A>
  static Map of(const A&... keys_and_values) {
    static_assert(sizeof...(A) % 2 == 0, "keys and values alternate: the last key has no value");
    return Map(Function::get_global("ffi.Map").call<Object>(keys_and_values...));
  }
  /* A map of the pairs of a container, such as a std::map. */
  template <class C>
  static Map from(const C& pairs) {
    std::vector<Value> values;
    for (const auto& [key, value] : pairs) {
      values.push_back(Value::of(key));
      values.push_back(Value::of(value));
    }
    return Map(Function::get_global("ffi.Map").apply(values).template as<Object>());
  }

  std::size_t size() const { return Function::get_global("ffi.MapSize").call<std::size_t>(as_object()); }
  bool empty() const { return size() == 0; }
  template <class K>
  bool contains(const K& key) const {
    return Function::get_global("ffi.MapCount").call<int>(as_object(), key) != 0;
  }
  template <class K>
  std::optional<Value> find(const K& key) const {
    if (!contains(key)) return std::nullopt;
    return (*this)[key];
  }
  /* Fails if there is no such key. */
  template <class K>
  Value operator[](const K& key) const {
    return Function::get_global("ffi.MapGetItem")(as_object(), key);
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::pair<Value, Value>;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = value_type;
    Iterator(Array items, std::size_t at) : items_(std::move(items)), at_(at) {}
    value_type operator*() const { return {items_[at_], items_[at_ + 1]}; }
    Iterator& operator++() {
      at_ += 2;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept { return a.at_ == b.at_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) noexcept { return a.at_ != b.at_; }

   private:
    Array items_; /* key, value, key, value, … */
    std::size_t at_;
  };
  Iterator begin() const { return {items(), 0}; }
  Iterator end() const { return {Array(), 2 * size()}; }

 private:
  const Object& as_object() const noexcept { return *this; }
  Array items() const { return Array(Function::get_global("runtime.MapItems").call<Object>(as_object())); }
};

namespace detail {

inline void need_type(const Object& object, const char* key, const char* what) {
  if (!object) throw Error("ValueError", std::string(what) + " is needed: the Object is empty");
  std::string have = object.type_key();
  if (have != key) throw Error("TypeError", std::string(what) + " is needed, not an object of type " + have);
}

inline Shape shape_of(const Object& object) {
  need_type(object, "runtime.ShapeTuple", "a shape");
  Shape out;
  int n = Function::get_global("runtime.GetShapeTupleSize").call<int>(object);
  Function extent_at = Function::get_global("runtime.GetShapeTupleElem");
  for (int i = 0; i < n; i++) out.push_back(extent_at.call<std::int64_t>(object, i));
  return out;
}

inline Object shape_object(const Shape& shape) {
  std::vector<Value> extents;
  for (std::int64_t n : shape) extents.push_back(Value::of(n));
  return Function::get_global("runtime.ShapeTuple").apply(extents).as<Object>();
}

}  // namespace detail

}  // namespace tvmgo

#endif  // TVMGO_CONTAINER_HPP_
