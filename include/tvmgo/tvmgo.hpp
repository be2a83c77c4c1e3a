/* C++17 over the classic C ABI: load a module, call its functions, hold arrays. Header only; link with -ltvmgo.
 *
 *   auto module = tvmgo::Module::load("add.so");
 *   auto a = tvmgo::Tensor::from(std::vector<float>{1, 2, 3}), c = tvmgo::Tensor::empty<float>({3});
 *   module.get("add")(a, a, c);
 *   std::vector<float> sum = c.to_vector<float>();
 *
 * Conventions, unless a comment says otherwise
 *   - What fails throws tvmgo::Error. No exception crosses the boundary to C: one that leaves a callback becomes an
 *     error there, and is an Error again in a C++ caller.
 *   - Tensor, Module, Function and Object are counted references: a copy is a second reference to the same thing, a
 *     moved-from one is empty. They may be used by many threads; a single variable follows the rules of a shared_ptr.
 *   - Arguments are borrowed for the call. Pointers and Spans that a method returns live as long as its object.
 *   - Shapes and strides count elements. No macro is defined but the guard. */
#ifndef TVMGO_TVMGO_HPP_
#define TVMGO_TVMGO_HPP_

#include <dlpack/dlpack.h>
#include <tvm/runtime/c_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <forward_list>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvmgo {

class Object;
class Module;
class Function;
class Tensor;
class Value;
class ArgView;

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* A failure: what() is "Kind: message". Kinds are Python's (ValueError, TypeError, RuntimeError, IndexError,
 * MemoryError …) and NotFoundError, NotSupportedError, CorruptModuleError, DeviceUnavailableError, InternalError. */
class Error : public std::runtime_error {
 public:
  Error(const std::string& kind, const std::string& message) : Error(kind, message, "") {}

  const std::string& kind() const noexcept { return parts_->kind; }
  const std::string& message() const noexcept { return parts_->message; }
  /* Where the runtime raised it, innermost frame first; "" if it is unknown. */
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

/* ---- Runs of elements and bytes ---------------------------------------------------------------------------------- */

/* A borrowed run of elements; std::span for C++17. */
template <class T>
class Span {
 public:
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  constexpr T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_;
  std::size_t size_;
};

/* Bytes as an argument or a result; text is a std::string. */
using Bytes = std::vector<std::uint8_t>;
using Shape = std::vector<std::int64_t>;

namespace detail {

inline void check(int rc) {
  if (rc != 0) throw Error::last();
}

/* A name as C reads it: one with a NUL inside would be cut short. */
inline const char* c_text(const std::string& text, const char* what) {
  if (text.find('\0') != text.npos) throw Error("ValueError", std::string(what) + " has a NUL character inside");
  return text.c_str();
}

template <class>
inline constexpr bool always_false = false;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

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

/* Adds a reference to what a value of this code holds; plain values need none. */
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

/* A counted reference; Handle is its type in C, Code its type code. */
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
  /* The handle that C functions take; borrowed, NULL when empty. */
  Handle handle() const noexcept { return handle_; }
  /* Releases the reference to the caller, who frees it with the C function; afterwards this object is empty. */
  Handle detach() noexcept { return std::exchange(handle_, nullptr); }
  void reset() noexcept { release(value(std::exchange(handle_, nullptr)), Code); }

  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.handle_ == b.handle_; } /* the same thing */
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

/* ---- Element types and devices ----------------------------------------------------------------------------------- */

namespace detail {

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

/* Names that fix the width, which is the second number; e4m3_float8 and e5m2_float8 are what the classic generation
 * wrote. */
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

/* The first name of a number is the one that is written. */
inline constexpr Name device_names[] = {
    {kDLCPU, "cpu"},           {kDLCUDA, "cuda"},         {kDLCUDAHost, "cuda_host"},       {kDLOpenCL, "opencl"},
    {kDLVulkan, "vulkan"},     {kDLMetal, "metal"},       {kDLVPI, "vpi"},                  {kDLROCM, "rocm"},
    {kDLROCMHost, "rocm_host"}, {kDLExtDev, "ext_dev"},   {kDLCUDAManaged, "cuda_managed"}, {kDLOneAPI, "oneapi"},
    {kDLWebGPU, "webgpu"},     {kDLHexagon, "hexagon"},   {kDLMAIA, "maia"},                {kDLTrn, "trn"},
    {kDLAOCL, "aocl"},         {kOpenGL, "opengl"},       {kDLMicroDev, "microdev"},        {kDLCPU, "llvm"},
    {kDLCPU, "c"},             {kDLCUDA, "nvptx"},        {kDLOpenCL, "cl"},                {kDLMetal, "mps"},
    {kDLWebGPU, "wgpu"},
};

/* Takes `head` off the front of text. */
inline bool cut(std::string_view* text, std::string_view head) {
  if (text->substr(0, head.size()) != head) return false;
  text->remove_prefix(head.size());
  return true;
}

/* Takes digits off the front; -1 when there are none, or the number is above max. */
inline long cut_number(std::string_view* text, long max) {
  long n = -1;
  while (!text->empty() && text->front() >= '0' && text->front() <= '9' && n <= max) {
    n = (n < 0 ? 0 : n * 10) + (text->front() - '0');
    text->remove_prefix(1);
  }
  return n > max ? -1 : n;
}

}  // namespace detail

/* An element type. A plain value, and a DLDataType wherever one is wanted. */
class DataType {
 public:
  constexpr DataType(DLDataType type) noexcept : type_(type) {}
  constexpr DataType(DLDataTypeCode code, std::uint8_t bits, std::uint16_t lanes = 1) noexcept
      : type_{static_cast<std::uint8_t>(code), bits, lanes} {}

  /* The type of C++ elements: integers, float, double, and bool as DLPack has it, {6, 8, 1}. */
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
      static_assert(detail::always_false<E>, "tensors hold integers, float, double or bool; name any other type "
          "by DataType");
  }

  /* Reads "float32", "int8x4", "bool", "bfloat16", "float8_e4m3fn", "handle"; "" and "void" are no type, {3, 0, 0}. */
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
    throw Error("ValueError", "parse data type \"" + std::string(text) + "\": no such name: \"float32\" or \"int8x4\" "
        "would be one");
  }

  /* "float32", "int8x4"; what has no name is shown as "dtype(code, bits, lanes)". */
  std::string str() const {
    if (type_.code == kDLOpaqueHandle && type_.bits == 0) return "void";
    std::string many = type_.lanes == 1 ? "" : "x" + std::to_string(type_.lanes);
    if (type_.code == kDLUInt && type_.bits == 1) return "bool" + many; /* as the classic generation has it */
    for (const auto& fixed : detail::fixed_dtype_names)
      if (fixed.number == type_.code && fixed.bits == type_.bits) return fixed.text + many;
    for (const auto& name : detail::dtype_names)
      if (name.number == type_.code) return name.text + std::to_string(type_.bits) + many;
    return "dtype(" + std::to_string(type_.code) + ", " + std::to_string(type_.bits) + ", " + std::to_string(
        type_.lanes) + ")";
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
    throw Error("ValueError", "parse data type \"" + std::string(text) + "\": after the width comes \"x\" and 1 to "
        "65535 lanes, or nothing");
  }
  DLDataType type_;
};

/* A device: a type and an index. A plain value, usable as a DLDevice. The device need not exist; exists() checks. */
class Device {
 public:
  constexpr Device(DLDevice device) noexcept : device_(device) {}
  static constexpr Device cpu() noexcept { return of(kDLCPU, 0); }
  static constexpr Device cuda(int id = 0) noexcept { return of(kDLCUDA, id); }
  static constexpr Device opencl(int id = 0) noexcept { return of(kDLOpenCL, id); }
  static constexpr Device vulkan(int id = 0) noexcept { return of(kDLVulkan, id); }
  static constexpr Device metal(int id = 0) noexcept { return of(kDLMetal, id); }
  static constexpr Device rocm(int id = 0) noexcept { return of(kDLROCM, id); }
  /* Any type, also one that a program registered (tvmgo/device_api.h). */
  static constexpr Device of(int type, int id) noexcept { return DLDevice{static_cast<DLDeviceType>(type), id}; }

  /* Reads "cpu", "cuda:1", "cl:0", or a type's number, "20:0". */
  static Device parse(std::string_view text) {
    auto fail = [&](const std::string& why) -> Error {
      return Error("ValueError", "parse device \"" + std::string(text) + "\": " + why);
    };
    std::size_t colon = text.find(':');
    std::string_view name = text.substr(0, colon), index;
    long id = 0;
    if (colon != text.npos) {
      index = text.substr(colon + 1);
      id = detail::cut_number(&index, std::numeric_limits<std::int32_t>::max());
      if (id < 0 || !index.empty()) throw fail("after the colon comes an index, as in \"cuda:1\"");
    }
    for (const auto& known : detail::device_names)
      if (name == known.text) return of(known.number, static_cast<int>(id));
    std::string_view rest = name;
    long type = detail::cut_number(&rest, std::numeric_limits<std::int32_t>::max());
    if (type > 0 && rest.empty()) return of(static_cast<int>(type), static_cast<int>(id));
    throw fail("no such type of device: \"cpu\", \"cuda:1\", \"opencl:0\" would be right");
  }

  /* "cuda:1"; a type without a name is shown by its number. */
  std::string str() const {
    for (const auto& known : detail::device_names)
      if (known.number == static_cast<int>(device_.device_type)) return known.text + (
          ":" + std::to_string(device_.device_id));
    return std::to_string(static_cast<int>(device_.device_type)) + ":" + std::to_string(device_.device_id);
  }

  constexpr int type() const noexcept { return device_.device_type; }
  constexpr int id() const noexcept { return device_.device_id; }
  constexpr operator DLDevice() const noexcept { return device_; }

  /* Whether elements can be read through a pointer, by this thread and now. */
  constexpr bool is_host() const noexcept {
    return device_.device_type == kDLCPU || device_.device_type == kDLCUDAHost || device_.device_type == kDLROCMHost;
  }
  bool exists() const;
  /* An attribute by its number (TVMGODeviceAttr); none where the device does not know. Fails on a type without a
   * runtime. */
  Value attr(int kind) const;
  /* Waits for the work on the default stream. Fails with the error of that work. */
  void sync() const { detail::check(TVMSynchronize(type(), id(), nullptr)); }

  friend constexpr bool operator==(Device a, Device b) noexcept { return a.type() == b.type() && a.id() == b.id(); }
  friend constexpr bool operator!=(Device a, Device b) noexcept { return !(a == b); }

 private:
  DLDevice device_;
};

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

/* A queue of a device's work, freed with this object once its work is done. On devices with one queue its handle is
 * NULL. */
class Stream {
 public:
  explicit Stream(Device device) : device_(device) {
    detail::check(TVMStreamCreate(device.type(), device.id(), &handle_));
  }
  Stream(Stream&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (handle_ != nullptr) TVMStreamFree(device_.type(), device_.id(), handle_);
  }

  Device device() const noexcept { return device_; }
  TVMStreamHandle handle() const noexcept { return handle_; }

  /* Waits until the queued work is done. Fails with the error of that work. */
  void sync() const { detail::check(TVMSynchronize(device_.type(), device_.id(), handle_)); }
  /* Makes this stream wait for the work that is queued on `other`, of the same device, now. Does not block. */
  void wait_for(const Stream& other) const {
    if (device_ != other.device_)
      throw Error("ValueError",
          "a stream of " + device_.str() + " cannot wait for one of " + other.device_.str() + ": sync that one");
    detail::check(TVMStreamStreamSynchronize(device_.type(), device_.id(), other.handle_, handle_));
  }

  /* Makes a stream the calling thread's current one for as long as the Scope lives; then the scope around it counts
   * again, or the default stream. The stream must outlive it. Ends on the thread that it began on. */
  class Scope {
   public:
    explicit Scope(const Stream& stream) : device_(stream.device_), handle_(stream.handle_), outer_(innermost()) {
      detail::check(TVMSetStream(device_.type(), device_.id(), handle_));
      innermost() = this;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      innermost() = outer_;
      const Scope* s = outer_;
      while (s != nullptr && s->device_ != device_) s = s->outer_;
      TVMSetStream(device_.type(), device_.id(), s == nullptr ? nullptr : s->handle_);
    }

   private:
    static const Scope*& innermost() noexcept {
      static thread_local const Scope* top = nullptr;
      return top;
    }
    Device device_;
    TVMStreamHandle handle_;
    const Scope* outer_;
  };

 private:
  Device device_;
  TVMStreamHandle handle_ = nullptr;
};

/* ---- Objects and tensors ----------------------------------------------------------------------------------------- */

/* An object of a type that has no class here, such as an array or a map of the runtime. */
class Object : public detail::Ref<TVMObjectHandle, kTVMObjectHandle> {
 public:
  Object() noexcept = default;
  /* Takes a reference over. */
  static Object take(TVMObjectHandle owned) noexcept { return Object(owned); }

  /* The key of its type, as in "runtime.ShapeTuple". */
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

/* An n-dimensional array on a device. */
class Tensor : public detail::Ref<TVMArrayHandle, kTVMNDArrayHandle> {
 public:
  Tensor() noexcept = default;
  /* Takes a reference over, as from TVMArrayAlloc. */
  static Tensor take(TVMArrayHandle owned) noexcept { return Tensor(owned); }

  /* A new array, row-major, uninitialised. Fails on a negative extent, a device that is not there, or when memory is
   * out. */
  static Tensor empty(const Shape& shape, DataType dtype, Device device = Device::cpu()) {
    TVMArrayHandle out = nullptr;
    detail::check(TVMArrayAlloc(shape.data(), rank(shape), dtype.code(), dtype.bits(), dtype.lanes(), device.type(),
        device.id(), &out));
    return Tensor(out);
  }
  template <class T>
  static Tensor empty(const Shape& shape, Device device = Device::cpu()) {
    return empty(shape, DataType::of<T>(), device);
  }

  /* A copy of elements in a vector, array, span or initializer list: one dimension, or `shape`, which must have as
   * many. */
  template <class C, class T = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const C&>()))>>>
  static Tensor from(const C& elements, Device device = Device::cpu()) {
    return from_pointer<T>(std::data(elements), {static_cast<std::int64_t>(std::size(elements))}, device);
  }
  template <class C, class T = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const C&>()))>>>
  static Tensor from(const C& elements, const Shape& shape, Device device = Device::cpu()) {
    Tensor t = empty<T>(shape, device);
    t.copy_from(std::data(elements), std::size(elements));
    return t;
  }
  template <class T>
  static Tensor from(std::initializer_list<T> elements, Device device = Device::cpu()) {
    return from_pointer<T>(elements.begin(), {static_cast<std::int64_t>(elements.size())}, device);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> elements, const Shape& shape, Device device = Device::cpu()) {
    Tensor t = empty<T>(shape, device);
    t.copy_from(elements.begin(), elements.size());
    return t;
  }
  /* A copy of the elements at `elements`, row-major, in host memory; shape determines their number. */
  template <class T>
  static Tensor from_pointer(const T* elements, const Shape& shape, Device device = Device::cpu()) {
    Tensor t = empty<T>(shape, device);
    t.copy_from(elements, t.size());
    return t;
  }

  /* A view of memory that another owns. `owner` is anything that keeps the memory, held until the last reference is
   * gone; with none, the memory must live that long by itself. Shape and strides are copied. */
  static Tensor view(const DLTensor& memory, std::shared_ptr<const void> owner = nullptr) {
    if (memory.ndim < 0 || (memory.ndim > 0 && memory.shape == nullptr))
      throw Error("ValueError", "view of a DLTensor: it has " + std::to_string(memory.ndim) + " dimensions and " +
                                    (memory.shape == nullptr ? "no shape" : "a shape"));
    auto lent = std::make_unique<Lent>();
    auto n = static_cast<std::size_t>(memory.ndim);
    lent->owner = std::move(owner);
    lent->dims.assign(memory.shape, memory.shape + n);
    if (memory.strides != nullptr) lent->dims.insert(lent->dims.end(), memory.strides, memory.strides + n);
    lent->managed.dl_tensor = memory;
    lent->managed.dl_tensor.shape = lent->dims.data();
    lent->managed.dl_tensor.strides = memory.strides == nullptr ? nullptr : lent->dims.data() + n;
    lent->managed.manager_ctx = lent.get();
    lent->managed.deleter = [](DLManagedTensor* m) { delete static_cast<Lent*>(m->manager_ctx); };
    Tensor t = from_dlpack(&lent->managed);
    lent.release();
    return t;
  }
  /* The same for elements in row-major order. */
  template <class T>
  static Tensor view(T* elements, const Shape& shape, std::shared_ptr<const void> owner = nullptr,
      Device device = Device::cpu()) {
    DLTensor memory{};
    memory.data = const_cast<std::remove_cv_t<T>*>(elements);
    memory.device = device;
    memory.ndim = rank(shape);
    memory.dtype = DataType::of<T>();
    memory.shape = const_cast<std::int64_t*>(shape.data());
    return view(memory, std::move(owner));
  }

  /* Takes over a borrowed array. On failure the structure still belongs to the caller. */
  static Tensor from_dlpack(DLManagedTensor* lent) {
    TVMArrayHandle out = nullptr;
    detail::check(TVMArrayFromDLPack(lent, &out));
    return Tensor(out);
  }
  /* The same for the current generation. Fails on another major version and on padded sub-byte elements. The classic
   * ABI has no word for READ_ONLY: a program that takes such an array must not write to it. */
  static Tensor from_dlpack(DLManagedTensorVersioned* lent) {
    if (lent == nullptr) throw Error("ValueError", "take DLPack tensor: the managed tensor is NULL");
    if (lent->version.major != DLPACK_MAJOR_VERSION)
      throw Error("ValueError", "take DLPack tensor: version " + std::to_string(lent->version.major) + "." +
                                    std::to_string(lent->version.minor) + " is not readable here, " +
                                    std::to_string(DLPACK_MAJOR_VERSION) + ".x is: convert it");
    if ((lent->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0)
      throw Error("NotSupportedError", "take DLPack tensor: its sub-byte elements are padded to bytes, packed ones are "
          "expected: pack them");
    auto legacy = std::make_unique<DLManagedTensor>();
    legacy->dl_tensor = lent->dl_tensor;
    legacy->manager_ctx = lent;
    legacy->deleter = [](DLManagedTensor* m) {
      auto* owner = static_cast<DLManagedTensorVersioned*>(m->manager_ctx);
      delete m;
      if (owner->deleter != nullptr) owner->deleter(owner);
    };
    Tensor t = from_dlpack(legacy.get());
    legacy.release();
    return t;
  }
  /* Lends the array: it lives until the borrower calls the deleter, once. */
  DLManagedTensor* to_dlpack() const {
    DLManagedTensor* out = nullptr;
    detail::check(TVMArrayToDLPack(handle(), &out));
    return out;
  }
  DLManagedTensorVersioned* to_dlpack_versioned() const {
    auto out = std::make_unique<DLManagedTensorVersioned>();
    DLManagedTensor* legacy = to_dlpack();
    out->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    out->manager_ctx = legacy;
    out->flags = 0;
    out->dl_tensor = legacy->dl_tensor;
    out->deleter = [](DLManagedTensorVersioned* m) {
      TVMDLManagedTensorCallDeleter(static_cast<DLManagedTensor*>(m->manager_ctx));
      delete m;
    };
    return out.release();
  }

  /* The same memory in another shape of as many elements. Fails when the elements have gaps. */
  Tensor reshape(const Shape& shape) const {
    DLTensor memory = get();
    if (!is_contiguous()) throw Error("ValueError", "reshape a tensor: its elements are not contiguous: copy it first");
    memory.ndim = rank(shape);
    memory.shape = const_cast<std::int64_t*>(shape.data());
    memory.strides = nullptr;
    Tensor t = view(memory, std::make_shared<const Tensor>(*this));
    if (t.size() != size())
      throw Error("ValueError",
          "reshape a tensor: the shape has " + std::to_string(t.size()) + " elements, the tensor " + std::to_string(
              size()));
    return t;
  }

  int ndim() const { return get().ndim; }
  Span<const std::int64_t> shape() const { return {get().shape, static_cast<std::size_t>(get().ndim)}; }
  /* Also of arrays that are shown without: those are row-major. */
  std::vector<std::int64_t> strides() const {
    const DLTensor& t = get();
    auto n = static_cast<std::size_t>(t.ndim);
    if (t.strides != nullptr) return {t.strides, t.strides + n};
    std::vector<std::int64_t> out(n);
    std::int64_t step = 1;
    for (std::size_t i = n; i-- > 0; step *= t.shape[i]) out[i] = step;
    return out;
  }
  DataType dtype() const { return get().dtype; }
  Device device() const { return get().device; }
  std::size_t size() const { /* elements */
    std::size_t n = 1;
    for (std::int64_t extent : shape()) n *= static_cast<std::size_t>(extent);
    return n;
  }
  std::size_t nbytes() const {
    DataType t = dtype();
    return (size() * static_cast<std::size_t>(t.bits()) * static_cast<std::size_t>(t.lanes()) + 7) / 8;
  }
  bool is_contiguous() const {
    const DLTensor& t = get();
    std::int64_t step = 1;
    for (int i = t.ndim; i-- > 0; step *= t.shape[i])
      if (t.strides != nullptr && t.shape[i] > 1 && t.strides[i] != step && size() > 0) return false;
    return true;
  }

  /* The first element, where the host can reach it: fails on elements of another type and on a device's memory. */
  template <class T>
  T* data() const {
    need_type<T>();
    const DLTensor& t = get();
    if (!device().is_host()) throw Error("ValueError", "the tensor is on " + device().str() + ": copy it to the host "
        "with to_vector, copy_to or to");
    return reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset);
  }

  /* Copies host elements in, all of them, and waits until it is done. Fails when types or counts differ, or elements
   * have gaps. */
  template <class T>
  void copy_from(const T* elements, std::size_t count) const {
    need_count<T>(count);
    copy_from_bytes(elements, nbytes());
  }
  /* Copies the elements out, and waits until it is done. */
  template <class T>
  void copy_to(T* elements, std::size_t count) const {
    need_count<T>(count);
    copy_to_bytes(elements, nbytes());
  }
  void copy_from_bytes(const void* bytes, std::size_t count) const {
    get();
    detail::check(TVMArrayCopyFromBytes(handle(), const_cast<void*>(bytes), count));
  }
  void copy_to_bytes(void* bytes, std::size_t count) const {
    get();
    detail::check(TVMArrayCopyToBytes(handle(), bytes, count));
  }
  template <class T>
  std::vector<T> to_vector() const {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements to copy to: use copy_to");
    std::vector<T> out(need_type<T>());
    copy_to(out.data(), out.size());
    return out;
  }

  /* Copies another array of the same size in, and waits until it is done. */
  void copy_from(const Tensor& from) const {
    queue_copy(from, nullptr);
    if (!from.device().is_host()) from.device().sync();
    if (!device().is_host()) device().sync();
  }
  /* Queues the copy; both arrays must stay until the stream is done. */
  void copy_from(const Tensor& from, const Stream& stream) const { queue_copy(from, stream.handle()); }
  /* A copy on a device. */
  Tensor to(Device target) const {
    Span<const std::int64_t> extents = shape();
    Tensor out = empty(Shape(extents.begin(), extents.end()), dtype(), target);
    out.copy_from(*this);
    return out;
  }

 private:
  struct Lent { /* what view lends to the runtime */
    DLManagedTensor managed{};
    std::vector<std::int64_t> dims;
    std::shared_ptr<const void> owner;
  };

  explicit Tensor(TVMArrayHandle owned) noexcept : Ref(owned) {}

  static int rank(const Shape& shape) {
    if (shape.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Error("ValueError", "a tensor cannot have " + std::to_string(shape.size()) + " dimensions");
    return static_cast<int>(shape.size());
  }
  const DLTensor& get() const {
    if (handle() == nullptr) throw Error("ValueError", "the Tensor is empty: it was moved from, or never set");
    return *handle();
  }
  void queue_copy(const Tensor& from, TVMStreamHandle stream) const {
    get();
    from.get();
    detail::check(TVMArrayCopyFromTo(from.handle(), handle(), stream));
  }
  /* Fails when elements aren't T; their count. */
  template <class T>
  std::size_t need_type() const {
    DataType want = DataType::of<T>();
    bool classic_bool = std::is_same_v<std::remove_cv_t<T>, bool> && dtype() == DataType(kDLUInt, 1);
    if (dtype() != want && !classic_bool) throw Error("TypeError",
        "the tensor holds " + dtype().str() + ", not " + want.str());
    return size();
  }
  template <class T>
  void need_count(std::size_t count) const {
    std::size_t have = need_type<T>();
    if (count != have)
      throw Error("ValueError", "the tensor has " + std::to_string(have) + " elements, not " + std::to_string(count));
  }
};

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* A counted packed function: any number of arguments of any kind, one result. */
class Function : public detail::Ref<TVMFunctionHandle, kTVMPackedFuncHandle> {
 public:
  Function() noexcept = default;
  /* Takes a reference over. */
  static Function take(TVMFunctionHandle owned) noexcept { return Function(owned); }

  /* Makes a function of a C++ callable, which is moved in and destroyed with the last reference, on that thread. Its
   * parameters may be of any type that Value::as and ArgView::as give, its result of any that a call takes; or it is
   * called with a `const tvmgo::Args&`, whatever the arguments are. It may be entered by several threads at a time. An
   * exception that leaves it becomes an error of the same text: Error keeps its kind, std::invalid_argument is a
   * ValueError, std::out_of_range an IndexError, std::bad_alloc a MemoryError, any other a RuntimeError. */
  template <class F>
  static Function from(F callable);

  /* Calls with integers, enums, floats, bools, texts, Bytes, Device, DataType, Tensor, DLTensor*, Module, Function,
   * Object, Value, void*, nullptr, or std::optional of these. Fails as the function fails, and on an empty Tensor,
   * Module, Function or Object. */
  template <class... A>
  Value operator()(const A&... args) const;
  /* The same with the result converted: call<double>(x); call<void> drops it. */
  template <class R, class... A>
  R call(const A&... args) const;

  /* Global functions, which the whole process shares. If there is no such function, find returns an empty one, and get
   * fails. */
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
  /* Fails when the name is taken and `replace` is false. */
  static void set_global(const std::string& name, const Function& f, bool replace = false) {
    if (!f) throw Error("ValueError", "set global function \"" + name + "\": the Function is empty");
    detail::check(TVMFuncRegisterGlobal(detail::c_text(name, "a function's name"), f.handle(), replace));
  }
  /* An unknown name is no error. */
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

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* A loaded module. Its functions keep it alive. */
class Module : public detail::Ref<TVMModuleHandle, kTVMModuleHandle> {
 public:
  Module() noexcept = default;
  /* Takes a reference over. */
  static Module take(TVMModuleHandle owned) noexcept { return Module(owned); }

  /* Loads a file; the format is the suffix after the last '.' unless it is given. Fails when there is no such file, no
   * loader for it, or the file is damaged. */
  static Module load(const std::string& path, const std::string& format = "") {
    TVMModuleHandle out = nullptr;
    detail::check(TVMModLoadFromFile(detail::c_text(path, "a file's name"), detail::c_text(format, "a format"), &out));
    return Module(out);
  }

  /* Looks a function up, with `imports` also in the imported modules, depth first. If there is none, find returns an
   * empty one, and get fails. */
  std::optional<Function> find(const std::string& name, bool imports = false) const {
    TVMFunctionHandle out = nullptr;
    detail::check(TVMModGetFunction(need(), detail::c_text(name, "a function's name"), imports, &out));
    if (out == nullptr) return std::nullopt;
    return Function::take(out);
  }
  Function get(const std::string& name, bool imports = false) const {
    if (auto f = find(name, imports)) return *std::move(f);
    throw Error("NotFoundError", "get function of module: there is none named \"" + name + "\": `tvmgo inspect` lists "
        "what a file has");
  }

  /* Appends `other` to the imports. Not while another thread calls into this module. Fails when `other` leads back
   * here. */
  void import_module(const Module& other) const { detail::check(TVMModImport(need(), other.need())); }
  std::vector<Module> imports() const;
  /* The names of its functions, sorted; with `imports` also those of the imported modules. Empty for kinds that cannot
   * list them. */
  std::vector<std::string> functions(bool imports = false) const;
  /* "library", "cuda", … */
  std::string kind() const;
  /* Fails on kinds that keep no source. */
  std::string source(const std::string& format = "") const;

 private:
  explicit Module(TVMModuleHandle owned) noexcept : Ref(owned) {}
  TVMModuleHandle need() const {
    if (handle() == nullptr) throw Error("ValueError", "the Module is empty: it was moved from, or never set");
    return handle();
  }
};

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* A value that another holds: an argument inside a callback. */
class ArgView {
 public:
  ArgView(TVMValue value, int code, int index = -1) noexcept : value_(value), code_(code), index_(index) {}

  TVMValue value() const noexcept { return value_; }
  int code() const noexcept { return code_; } /* TVMArgTypeCode */
  bool is_none() const noexcept { return code_ == kTVMNullptr; }

  /* The value as T. Integers come from ints and bools and must fit; floats from floats and ints; bools from bools and
   * ints; a DataType also from its name; T* only as void* or DLTensor*; Object from any counted thing but a tensor;
   * std::optional is empty for none. std::string_view and DLTensor* are borrowed. Fails on any other pair, with the
   * argument's index. */
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
    } else if constexpr (std::is_same_v<T, Value>) {
      return T::copy_of(*this);
    } else {
      static_assert(detail::always_false<T>, "no value is converted to this type: the comment above says to which");
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
      throw Error("ValueError", where() + std::to_string(v) + " does not fit " + std::to_string(
          8 * sizeof(T)) + " bits" +
                                    (std::is_unsigned_v<T> ? " without sign" : ""));
    return static_cast<T>(v);
  }

  TVMValue value_;
  int code_, index_;
};

/* The arguments of a callback; borrowed for the call. */
class Args {
 public:
  Args(const TVMValue* values, const int* codes, int size) noexcept : values_(values), codes_(codes), size_(size) {}
  int size() const noexcept { return size_; }
  /* Fails on an index that is not there. */
  ArgView operator[](int i) const {
    if (i < 0 || i >= size_) throw Error("IndexError", "argument " + std::to_string(i) + " of " + std::to_string(
        size_));
    return ArgView(values_[i], codes_[i], i);
  }

 private:
  const TVMValue* values_;
  const int* codes_;
  int size_;
};

namespace detail {

/* Lays N arguments, or one result, out as C takes them. Borrows from them, and owns what has to be converted. */
template <std::size_t N, bool IsResult = false>
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
    } else if constexpr (std::is_same_v<T, Object>) {
      counted(i, x.handle(), kTVMObjectHandle);
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
      text(i, texts_.emplace_front(std::string_view(x))); /* it may lack the NUL at the end */
    } else if constexpr (std::is_same_v<T, void*> || std::is_same_v<T, const void*>) {
      v.v_handle = const_cast<void*>(x);
      code = kTVMOpaqueHandle;
    } else {
      static_assert(always_false<T>, "no argument or result is made of this type: Function::operator() says of which; "
                                     "a pointer has to be a void* or a DLTensor*");
    }
  }

  static std::string argument(int i) { return IsResult ? "result: " : "argument " + std::to_string(i) + ": "; }
  void counted(int i, void* handle, int code) {
    if (handle == nullptr)
      throw Error("ValueError", argument(i) + code_name(code) + " that is empty (moved from, or never set): nullptr "
          "stands for none");
    values_[static_cast<std::size_t>(i)].v_handle = handle;
    codes_[static_cast<std::size_t>(i)] = code;
  }
  void text(int i, const std::string& x) {
    if (x.find('\0') != x.npos) throw Error("ValueError", argument(i) + "the text has a NUL character inside: "
        "pass Bytes");
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
};

}  // namespace detail

/* An owned value: a call's result, or what a callback returns. None when new or moved from. */
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

  /* A value of anything that can be an argument. */
  template <class T>
  static Value of(const T& x) {
    detail::Packed<1, true> packed(x);
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
  /* Takes over what TVMFuncCall gave. */
  static Value take(TVMValue value, int code) {
    Value out;
    if (code == kTVMStr || code == kTVMBytes)
      out.keep(value, code);
    else
      out.value_ = value;
    out.code_ = code;
    return out;
  }

  /* Good as long as this object is not touched. */
  TVMValue value() const noexcept {
    TVMValue v = value_;
    if (code_ == kTVMStr) v.v_str = text_->text.c_str();
    if (code_ == kTVMBytes) v.v_handle = &text_->run;
    return v;
  }
  int code() const noexcept { return code_; } /* TVMArgTypeCode */
  bool is_none() const noexcept { return code_ == kTVMNullptr; }

  /* The value as T, see ArgView::as; but nothing that would only be borrowed. */
  template <class T>
  T as() const {
    static_assert(!std::is_same_v<T, std::string_view> && !std::is_same_v<T, DLTensor*> && !std::is_same_v<T,
        const DLTensor*> &&
                      !std::is_same_v<T, ArgView>,
                  "a result is owned: take it as std::string or Tensor");
    return ArgView(value(), code_).as<T>();
  }

 private:
  struct Text { /* of a text or bytes */
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

/* ---- What needs all of the above --------------------------------------------------------------------------------- */

template <class... A>
Value Function::operator()(const A&... args) const {
  if (handle() == nullptr) throw Error("ValueError", "call function: the Function is empty: it was moved from, or "
      "never set");
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

namespace detail {

/* The parameters of a callable, as a tuple of what their arguments are converted to. */
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
    throw Error("TypeError",
        std::to_string(want) + (want == 1 ? " argument is" : " arguments are") + " needed, got " + std::to_string(
            args.size()));
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

/* Arguments that came as references to be taken from are this call's own. */
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
        Packed<1, true> packed(result);
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

#endif  // TVMGO_TVMGO_HPP_
