/* Part of tvmgo/tvmgo.hpp: reference counts, and Object, for types without a class of their own. */
#ifndef TVMGO_REF_HPP_
#define TVMGO_REF_HPP_

#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/error.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace tvmgo {

namespace detail {

inline const char* code_name(int code) noexcept {
  switch (code) {
    case kTVMArgInt: return "an int";
    case kTVMArgFloat: return "a float";
    case kTVMOpaqueHandle: return "a pointer";
    case kTVMNullptr: return "none";
    case kTVMDataType: return "a data type";
    case kDLDevice: return "a device";
    case kTVMDLTensorHandle: return "a DLTensor*";
    case kTVMObjectHandle: return "an object";
    case kTVMModuleHandle: return "a module";
    case kTVMPackedFuncHandle: return "a function";
    case kTVMStr: return "a text";
    case kTVMBytes: return "bytes";
    case kTVMNDArrayHandle: return "a tensor";
    case kTVMArgBool: return "a bool";
    default: return "a value of an unknown code";
  }
}

/* Adds a reference to the object in a value with this type code; plain values have none. */
inline void retain(TVMValue value, int code) { check(TVMCbArgToReturn(&value, &code)); }

inline void release(TVMValue value, int code) noexcept {
  switch (code) {
    case kTVMObjectHandle: TVMObjectFree(value.v_handle); break;
    case kTVMModuleHandle: TVMModFree(value.v_handle); break;
    case kTVMPackedFuncHandle: TVMFuncFree(value.v_handle); break;
    case kTVMNDArrayHandle: TVMArrayFree(static_cast<TVMArrayHandle>(value.v_handle)); break;
    default: break;
  }
}

inline bool is_counted(int code) noexcept {
  return code == kTVMObjectHandle || code == kTVMModuleHandle || code == kTVMPackedFuncHandle ||
      code == kTVMNDArrayHandle;
}

/* A counted reference. Handle is its C type, Code its type code. */
template <class Handle, int Code>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(const Ref& other) : handle_(other.handle_) {
    if (handle_ != nullptr) retain(value(handle_), Code);
  }
  Ref(Ref&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Ref() { release(value(handle_), Code); }

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /* The handle for C functions: borrowed, NULL if this object is empty. */
  Handle handle() const noexcept { return handle_; }
  /* Gives the reference to the caller, who frees it with the C function. This object becomes empty. */
  Handle detach() noexcept { return std::exchange(handle_, nullptr); }
  void reset() noexcept { release(value(std::exchange(handle_, nullptr)), Code); }

  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.handle_ == b.handle_; } /* the same object */
  friend bool operator!=(const Ref& a, const Ref& b) noexcept { return a.handle_ != b.handle_; }

 protected:
  explicit Ref(Handle owned) noexcept : handle_(owned) {}

 private:
  static TVMValue value(Handle h) noexcept {
    TVMValue v;
    v.v_handle = h;
    return v;
  }
  Handle handle_ = nullptr;
};

}  // namespace detail

/* An object of a type without a class here, such as an array or a map of the runtime. */
class Object : public detail::Ref<TVMObjectHandle, kTVMObjectHandle> {
 public:
  Object() noexcept = default;
  /* Takes ownership of a reference. */
  static Object take(TVMObjectHandle owned) noexcept { return Object(owned); }

  /* The key of its type, such as "runtime.ShapeTuple". */
  std::string type_key() const {
    unsigned index = 0;
    char* key = nullptr;
    detail::check(TVMObjectGetTypeIndex(handle(), &index));
    detail::check(TVMObjectTypeIndex2Key(index, &key));
    std::unique_ptr<char, void (*)(void*)> owned(key, std::free);
    return key;
  }

 private:
  explicit Object(TVMObjectHandle owned) noexcept : Ref(owned) {}
};

}  // namespace tvmgo

#endif  // TVMGO_REF_HPP_
