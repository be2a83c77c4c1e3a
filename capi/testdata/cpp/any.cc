// Any and AnyView: every kind of value is stored and read back; casts that fail name both types.
#include <tvm/ffi/big_int.h>

#include "cpp_test.h"

using namespace tvm::ffi;

TEST(any, plain_values) {
  Any none;
  CHECK(none == nullptr);
  SAME(none.type_index(), static_cast<int>(kTVMFFINone));
  SAME(none.GetTypeKey(), "None");
  Any i = 42, b = true, d = 2.5, p = static_cast<void*>(&i);
  SAME(i.type_index(), static_cast<int>(kTVMFFIInt));
  SAME(i.GetTypeKey() + b.GetTypeKey() + d.GetTypeKey() + p.GetTypeKey(), "intboolfloatvoid*");
  SAME(i.cast<int8_t>() + i.cast<uint64_t>(), 84u);
  SAME(i.cast<double>(), 42.0);
  SAME(b.cast<int>(), 1);
  SAME(b.cast<double>(), 1.0);
  CHECK(i.cast<bool>());
  SAME(d.cast<float>(), 2.5f);
  CHECK(p.cast<void*>() == &i);
  Any type = DLDataType{kDLBfloat, 16, 1};
  SAME(type.cast<DLDataType>(), (DLDataType{kDLBfloat, 16, 1}));
  Any device = DLDevice{kDLVulkan, 5};
  SAME(device.cast<DLDevice>().device_id, 5);
  SAME(type.GetTypeKey() + " " + device.GetTypeKey(), "DataType Device");
  enum class Colour : int { kRed = 3 };
  Any colour = Colour::kRed;
  CHECK(colour.cast<Colour>() == Colour::kRed);
  SAME(colour.cast<int>(), 3);
  SAME(Any(nullptr).cast<void*>(), static_cast<void*>(nullptr));
}

TEST(any, strict_and_converting) {
  Any i = 3;
  CHECK(!i.as<double>().has_value());
  CHECK(i.as<int>().has_value());
  CHECK(!i.as<String>().has_value());
  SAME(*i.try_cast<double>(), 3.0);
  CHECK(!i.try_cast<String>().has_value());
  Any s = "text of some length";
  SAME(s.type_index(), static_cast<int>(kTVMFFIStr));
  SAME(*s.as<String>(), String("text of some length"));
  CHECK(!s.try_cast<int>().has_value());
  CHECK(s.as<Any>().has_value());
  SAME(Any("float32x4").cast<DLDataType>(), (DLDataType{kDLFloat, 32, 4}));
  CHECK(Any(nullptr).cast<Optional<int>>() == std::nullopt);
  SAME(*Any(7).cast<Optional<int>>(), 7);
}

template <typename T>
void Refuses(const std::vector<Any>& values, const char* wanted) {
  for (const Any& value : values) {
    std::string message;
    SAME(cpp_test::Thrown([&] { value.cast<T>(); }, &message), "TypeError");
    CHECK(message.find(value.GetTypeKey()) != std::string::npos || !value.as<ObjectRef>().has_value());
    CHECK(message.find(wanted) != std::string::npos);
    CHECK(!value.try_cast<T>().has_value());
  }
}

TEST(any, wrong_casts) {
  Any none, number = 1.5, text = "ab", longer = "a longer text", list = Array<int>{1},
            function = Function::FromTyped([] {}), map = Map<String, int>{}, shape = Shape{1, 2};
  Any type = DLDataType{kDLInt, 8, 1}, device = DLDevice{kDLCPU, 0}, bytes = Bytes("xy", 2);
  Refuses<int>({none, number, text, longer, list, function, map, shape, type, device, bytes}, "int");
  Refuses<double>({none, text, longer, list, function, type, device, bytes}, "float");
  Refuses<bool>({none, text, longer, list, function, type, device, bytes}, "bool");
  Refuses<String>({none, number, list, function, map, type, device}, "str");
  Refuses<Bytes>({none, number, list, function, map, type, device}, "bytes");
  Refuses<Function>({number, text, list, map, shape}, "ffi.Function");
  Refuses<Array<int>>({number, text, function, map}, "Array<int>");
  Refuses<Map<String, int>>({number, text, function, list}, "Map<str, int>");
  Refuses<DLDevice>({none, number, list, function}, "Device");
  Refuses<Tensor>({number, text, function, list}, "ffi.Tensor");
  THROWS("TypeError", "[index 1: ffi.SmallStr]", Any(Array<Any>{1, "b"}).cast<Array<int>>());
  THROWS("TypeError", "Map[some key is int", Any(Map<Any, Any>{{1, 2}}).cast<Map<String, int>>());
  THROWS("ValueError", "no such type", Any("no such type").cast<DLDataType>());
}

TEST(any, counts_references) {
  Array<int> a{1, 2, 3};
  SAME(a.use_count(), 1u);
  {
    Any x = a;
    Any y = x;
    SAME(a.use_count(), 3u);
    Any z = std::move(y);
    SAME(a.use_count(), 3u);
    CHECK(y == nullptr);
    x = 1;
    SAME(a.use_count(), 2u);
    AnyView view = z;
    SAME(a.use_count(), 2u);
    Any owned = view;
    SAME(a.use_count(), 3u);
    Array<int> back = std::move(z).cast<Array<int>>();
    CHECK(back.same_as(a));
    SAME(a.use_count(), 3u);
    owned.swap(x);
    CHECK(x.same_as(a));
    x.reset();
  }
  SAME(a.use_count(), 1u);
}

TEST(any, owned_copies_of_views) {
  char buffer[32] = "changes after the copy";
  const char* raw = buffer;
  AnyView view = raw;
  SAME(view.type_index(), static_cast<int>(kTVMFFIRawStr));
  Any owned = view;
  buffer[0] = 'X';
  SAME(owned.cast<std::string>(), "changes after the copy");
  TVMFFIByteArray bytes{buffer, 4};
  Any copied = AnyView(&bytes);
  SAME(copied.type_index(), static_cast<int>(kTVMFFISmallBytes));
  SAME(copied.cast<Bytes>().size(), 4u);
  TVMFFIAny in = AnyView(raw).CopyToTVMFFIAny(), out;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIAnyViewToOwnedAny(&in, &out));
  SAME(out.type_index, static_cast<int>(kTVMFFIStr));
  Any moved = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&out);
  SAME(moved.cast<std::string>().size(), 22u);
  Array<int> a{1};
  in = AnyView(a).CopyToTVMFFIAny();
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIAnyViewToOwnedAny(&in, &out));
  SAME(a.use_count(), 2u);
  moved = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&out);
  moved.reset();
  SAME(a.use_count(), 1u);
}

TEST(any, hash_and_equality) {
  AnyHash hash;
  AnyEqual equal;
  String small("sevenup");
  Any big = detail::AnyUnsafe::MoveAnyToTVMFFIAny(String(std::string("sevenup"))).type_index == kTVMFFIStr
                ? Any(String(std::string("sevenup")))
                : Any(small);
  CHECK(equal(small, big));
  SAME(hash(small), hash(big));
  CHECK(!equal(1, true) && !equal(1, 1.0) && equal(1, 1) && equal(nullptr, nullptr));
  CHECK(!equal(String("a"), Bytes("a", 1)));
  Array<int> a{1}, b{1};
  CHECK(equal(a, a) && !equal(a, b));
  SAME(hash(a), hash(Any(a)));
  CHECK(equal(String(std::string(100, 'x')), String(std::string(100, 'x'))));
  CHECK(!equal(String(std::string(100, 'x')), String(std::string(99, 'x'))));
  CHECK(equal(DLDataType{kDLInt, 8, 1}, DLDataType{kDLInt, 8, 1}));
  Map<Any, int> keys;
  std::vector<Any> all = {1, true, 1.0, String("1"), Bytes("1", 1), a, b, nullptr, DLDevice{kDLCPU, 1}, BigInt(1)
      << 70};
  for (size_t i = 0; i < all.size(); i++) keys.Set(all[i], static_cast<int>(i));
  SAME(keys.size(), all.size());
  for (size_t i = 0; i < all.size(); i++) SAME(keys.at(all[i]), static_cast<int>(i));
}
