/* Part of tvmgo/tvmgo.hpp: Tensor, an array on a device. */
#ifndef TVMGO_TENSOR_HPP_
#define TVMGO_TENSOR_HPP_

#include <dlpack/dlpack.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/data_type.hpp>
#include <tvmgo/device.hpp>
#include <tvmgo/error.hpp>
#include <tvmgo/ref.hpp>
#include <tvmgo/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvmgo {

/* Borrowed contiguous elements; a std::span for C++17. */
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

using Shape = std::vector<std::int64_t>;

/* An n-dimensional array on a device. */
class Tensor : public detail::Ref<TVMArrayHandle, kTVMNDArrayHandle> {
 public:
  Tensor() noexcept = default;
  /* Takes ownership of a reference, such as the result of TVMArrayAlloc. */
  static Tensor take(TVMArrayHandle owned) noexcept { return Tensor(owned); }

  /* A new array, row-major, uninitialised. Fails if an extent is negative, if the device does not exist, or if it is
   * out of memory. */
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

  /* A copy of the elements of a vector, array, span or initializer list. It has one dimension, or `shape`, which must
   * have the same number of elements. */
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
  /* A copy of row-major elements in host memory; `shape` determines their number. */
  template <class T>
  static Tensor from_pointer(const T* elements, const Shape& shape, Device device = Device::cpu()) {
    Tensor t = empty<T>(shape, device);
    t.copy_from(elements, t.size());
    return t;
  }

  /* A view of memory that it does not own. `owner`, which may be any object, is kept until the last reference to the
   * view is released. Without an owner, the caller must keep the memory valid that long. Shape and strides are
   * copied. */
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
  /* A view of elements in row-major order. */
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

  /* Takes ownership of a managed tensor. If this fails, the caller still owns it. */
  static Tensor from_dlpack(DLManagedTensor* lent) {
    TVMArrayHandle out = nullptr;
    detail::check(TVMArrayFromDLPack(lent, &out));
    return Tensor(out);
  }
  /* The same for the versioned structure. Fails if its major version differs, or if its sub-byte elements are padded.
   * The classic ABI cannot express READ_ONLY: a program that imports such an array must not write to it. */
  static Tensor from_dlpack(DLManagedTensorVersioned* lent) {
    if (lent == nullptr) throw Error("ValueError", "take DLPack tensor: the managed tensor is NULL");
    if (lent->version.major != DLPACK_MAJOR_VERSION)
      throw Error("ValueError", "take DLPack tensor: version " + std::to_string(lent->version.major) + "." +
                                    std::to_string(lent->version.minor) + " is not readable here, " +
                                    std::to_string(DLPACK_MAJOR_VERSION) + ".x is: convert it");
    if ((lent->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0)
      throw Error("NotSupportedError",
          "take DLPack tensor: its sub-byte elements are padded to bytes, packed ones are expected: pack them");
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
  /* Exports the array as a managed tensor with a reference of its own. The consumer calls the deleter once. */
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

  /* The same memory with another shape. Fails if the number of elements differs, or if they are not contiguous. */
  Tensor reshape(const Shape& shape) const {
    DLTensor memory = get();
    if (!is_contiguous()) throw Error("ValueError", "reshape a tensor: its elements are not contiguous: copy it first");
    memory.ndim = rank(shape);
    memory.shape = const_cast<std::int64_t*>(shape.data());
    memory.strides = nullptr;
    Tensor t = view(memory, std::make_shared<const Tensor>(*this));
    if (t.size() != size())
      throw Error("ValueError", "reshape a tensor: the shape has " + std::to_string(t.size()) +
                                    " elements, the tensor " + std::to_string(size()));
    return t;
  }

  int ndim() const { return get().ndim; }
  Span<const std::int64_t> shape() const { return {get().shape, static_cast<std::size_t>(get().ndim)}; }
  /* The strides, computed from the shape if the array has none because it is row-major. */
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
  std::size_t size() const { /* the number of elements */
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

  /* The address of the first element. Fails if elements have another type, or if the host cannot access the memory. */
  template <class T>
  T* data() const {
    need_type<T>();
    const DLTensor& t = get();
    if (!device().is_host())
      throw Error("ValueError",
          "the tensor is on " + device().str() + ": copy it to the host with to_vector, copy_to or to");
    return reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset);
  }

  /* Copies all elements from host memory and waits for the copy. Fails if the types or the numbers of elements differ,
   * or if the tensor is not contiguous. */
  template <class T>
  void copy_from(const T* elements, std::size_t count) const {
    need_count<T>(count);
    copy_from_bytes(elements, nbytes());
  }
  /* Copies all elements to host memory and waits for the copy. Fails like copy_from. */
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

  /* Copies the elements of a tensor of the same size into this one and waits for the copy. */
  void copy_from(const Tensor& from) const {
    queue_copy(from, nullptr);
    if (!from.device().is_host()) from.device().sync();
    if (!device().is_host()) device().sync();
  }
  /* Queues the copy; both tensors must exist until the stream has executed it. */
  void copy_from(const Tensor& from, const Stream& stream) const { queue_copy(from, stream.handle()); }
  /* A copy on the device `target`. */
  Tensor to(Device target) const {
    Span<const std::int64_t> extents = shape();
    Tensor out = empty(Shape(extents.begin(), extents.end()), dtype(), target);
    out.copy_from(*this);
    return out;
  }

 private:
  struct Lent { /* the memory that view lends to the runtime */
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
  /* Returns the number of elements; fails if their type is not T. */
  template <class T>
  std::size_t need_type() const {
    DataType want = DataType::of<T>();
    bool classic_bool = std::is_same_v<std::remove_cv_t<T>, bool> && dtype() == DataType(kDLUInt, 1);
    if (dtype() != want && !classic_bool)
      throw Error("TypeError", "the tensor holds " + dtype().str() + ", not " + want.str());
    return size();
  }
  template <class T>
  void need_count(std::size_t count) const {
    std::size_t have = need_type<T>();
    if (count != have)
      throw Error("ValueError", "the tensor has " + std::to_string(have) + " elements, not " + std::to_string(count));
  }
};

}  // namespace tvmgo

#endif  // TVMGO_TENSOR_HPP_
