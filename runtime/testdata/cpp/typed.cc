// Typed functions as producers write them on tvm-ffi's C++ headers: each takes and gives one of the
// values that such functions know.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ffi = tvm::ffi;

namespace {

int64_t add(int64_t a, int64_t b) { return a + b; }
int32_t narrow(int32_t a) { return a; }
double scale(double x, float by) { return x * by; }
bool invert(bool b) { return !b; }
ffi::String greet(const ffi::String& name) { return "hello, " + std::string(name); }
std::string twice(std::string text) { return text + text; }
ffi::Bytes reversed(const ffi::Bytes& b) {
  std::string s(b.data(), b.size());
  return ffi::Bytes(std::string(s.rbegin(), s.rend()));
}
void nothing() {}

void add_one(ffi::TensorView x, ffi::TensorView y) {
  if (x.ndim() != 1 || x.dtype() != (DLDataType{kDLFloat, 32, 1}))
    TVM_FFI_THROW(ValueError) << "x must be a vector of float32";
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); i++) to[i] = from[i] + 1;
}

ffi::Tensor same(ffi::Tensor x) { return x; }

// Memory from the environment, as kernels that allocate their results take it.
ffi::Tensor doubled(ffi::TensorView x) {
  ffi::Tensor y = ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device());
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.numel(); i++) to[i] = 2 * from[i];
  return y;
}

ffi::Shape shape_of(ffi::TensorView x) { return ffi::Shape(x.shape()); }
DLDataType dtype_of(ffi::TensorView x) { return x.dtype(); }
DLDevice device_of(ffi::TensorView x) { return x.device(); }

ffi::Optional<int64_t> half(ffi::Optional<int64_t> x) {
  if (!x.has_value() || *x % 2 != 0) return std::nullopt;
  return *x / 2;
}

ffi::Array<int64_t> squares(ffi::Array<int64_t> values) {
  ffi::Array<int64_t> out;
  for (int64_t v : values) out.push_back(v * v);
  return out;
}

ffi::Map<ffi::String, int64_t> lengths(ffi::Map<ffi::String, ffi::Array<ffi::Any>> lists) {
  ffi::Map<ffi::String, int64_t> out;
  for (const auto& kv : lists) out.Set(kv.first, static_cast<int64_t>(kv.second.size()));
  return out;
}

ffi::Tuple<ffi::String, int64_t, double> turned(ffi::Tuple<double, int64_t, ffi::String> t) {
  return ffi::Tuple<ffi::String, int64_t, double>(t.get<2>(), t.get<1>(), t.get<0>());
}

ffi::Variant<int64_t, ffi::String> other(ffi::Variant<int64_t, ffi::String> v) {
  if (auto i = v.as<int64_t>()) return ffi::String(std::to_string(*i));
  return static_cast<int64_t>(v.get<ffi::String>().size());
}

ffi::Any any(ffi::Any v) { return v; }
int32_t type_index(ffi::AnyView v) { return v.type_index(); }

int64_t apply(ffi::Function f, int64_t x) { return f(x, "from C++").cast<int64_t>(); }
int64_t apply_typed(ffi::TypedFunction<int64_t(int64_t)> f, int64_t x) { return f(x); }
ffi::Function adder(int64_t by) {
  return ffi::Function::FromTyped([by](int64_t x) { return x + by; });
}

// The error of f comes back as a value.
ffi::Any caught(ffi::Function f) {
  try {
    return f();
  } catch (const ffi::Error& e) {
    return ffi::String("caught " + e.kind() + ": " + e.message());
  }
}

void throw_kind(ffi::String kind, ffi::String message) {
  throw ffi::Error(kind, message, TVMFFIBacktrace(__FILE__, __LINE__, __func__, 0));
}
int64_t throw_value(int64_t x) {
  if (x < 0) TVM_FFI_THROW(ValueError) << "x is " << x << ": it must not be negative";
  return x;
}
void throw_check(int64_t x) { TVM_FFI_ICHECK_EQ(x, 1) << "only one will do"; }
void throw_standard() { throw std::out_of_range("a standard exception"); }

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, add);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(add, R"(Adds two integers.

Parameters
----------
a, b : int
    "What" to add: naïve.)");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(narrow, narrow);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, scale);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(invert, invert);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(greet, greet);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(twice, twice);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(reversed, reversed);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(nothing, nothing);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(same, same);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(doubled, doubled);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(shape_of, shape_of);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(dtype_of, dtype_of);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(device_of, device_of);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(half, half);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(squares, squares);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(lengths, lengths);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(turned, turned);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(other, other);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(any, any);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(type_index, type_index);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(apply, apply);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(apply_typed, apply_typed);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(adder, adder);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(caught, caught);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_kind, throw_kind);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_value, throw_value);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(throw_value, "Gives what it takes, unless that is negative.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_check, throw_check);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_standard, throw_standard);
