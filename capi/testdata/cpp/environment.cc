// The environment of calls: streams, allocators, one-time initialisation, dtypes, devices, big integers.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/dtype.h>

#include <thread>

#include "cpp_test.h"

using namespace tvm::ffi;

TEST(environment, streams) {
  int a, b;
  TVMFFIStreamHandle old = &a;
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == nullptr);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetStream(kDLCUDA, 0, &a, &old));
  CHECK(old == nullptr);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetStream(kDLCUDA, 7, &b, nullptr));
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == &a && TVMFFIEnvGetStream(kDLCUDA, 7) == &b);
  CHECK(TVMFFIEnvGetStream(kDLROCM, 0) == nullptr && TVMFFIEnvGetStream(kDLCUDA, 3) == nullptr);
  std::thread([] { CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == nullptr); }).join();
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetStream(kDLCUDA, 0, nullptr, &old));
  CHECK(old == &a);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetStream(kDLCUDA, 7, nullptr, &old));
  SAME(TVMFFIEnvCheckSignals(), 0);
}

static int allocated = 0;

static int Allocate(DLTensor* proto, DLManagedTensorVersioned** out, void* ctx,
                    void (*set_error)(void*, const char*, const char*)) {
  if (proto->ndim > 4) {
    set_error(ctx, "MemoryError", "too many dimensions");
    return -1;
  }
  allocated++;
  auto* m = new DLManagedTensorVersioned();
  m->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  m->dl_tensor = *proto;
  m->dl_tensor.shape = new int64_t[proto->ndim + 1];
  std::copy(proto->shape, proto->shape + proto->ndim, m->dl_tensor.shape);
  m->dl_tensor.strides = nullptr;
  m->dl_tensor.byte_offset = 0;
  m->dl_tensor.data = std::malloc(GetDataSize(m->dl_tensor) + 1);
  m->deleter = [](DLManagedTensorVersioned* self) {
    allocated--;
    std::free(self->dl_tensor.data);
    delete[] self->dl_tensor.shape;
    delete self;
  };
  *out = m;
  return 0;
}

TEST(environment, tensor_allocator) {
  auto make = [](ShapeView shape) {
    return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, shape, DLDataType{kDLFloat, 16, 1}, DLDevice{kDLCPU, 0});
  };
  DLPackManagedTensorAllocator before = TVMFFIEnvGetDLPackManagedTensorAllocator(), old;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetDLPackManagedTensorAllocator(Allocate, 0, &old));
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == Allocate);
  {
    Tensor t = make({2, 5});
    SAME(allocated, 1);
    SAME(t.stride(0), 5);
    SAME(t.numel(), 10);
  }
  SAME(allocated, 0);
  THROWS("MemoryError", "too many dimensions", make({1, 1, 1, 1, 1}));
  std::thread([before] { CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == before); }).join();
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetDLPackManagedTensorAllocator(old, 0, nullptr));
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == before);
  if (before == nullptr) SAME(make({2, 3}).stride(0), 3);  // from the device's own data space
}

TEST(environment, symbols) {
  CHECK(TVMFFIEnvRegisterCAPI("NoSuchFunction", &allocated) != 0);
  SAME(detail::MoveFromSafeCallRaised().kind(), "ValueError");
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  SAME(version.major, TVM_FFI_VERSION_MAJOR);
  SAME(version.minor, TVM_FFI_VERSION_MINOR);
}

TEST(environment, init_once) {
  static void* handle = nullptr;
  static std::atomic<int> ran{0}, undone{0};
  void* failed = nullptr;
  CHECK(TVMFFIHandleInitOnce(&failed, [](void**) {
          TVMFFIErrorSetRaisedFromCStr("ValueError", "not now");
          return -1;
        }) != 0);
  SAME(detail::MoveFromSafeCallRaised().message(), "not now");
  CHECK(failed == nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([] {
      SAME(TVMFFIHandleInitOnce(&handle, [](void** out) {
             ran++;
             *out = &ran;
             return 0;
           }), 0);
      CHECK(handle == &ran);
    });
  }
  for (std::thread& t : threads) t.join();
  SAME(ran.load(), 1);
  for (int i = 0; i < 2; i++) {
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIHandleDeinitOnce(&handle, [](void*) {
      undone++;
      return 0;
    }));
  }
  SAME(undone.load(), 1);
  CHECK(handle == nullptr);
}

TEST(environment, custom_allocator) {
  static std::atomic<int> taken{0};
  CHECK(TVMFFIGetCustomAllocator() != nullptr);
  TVMFFICustomAllocator* before = TVMFFIGetCustomAllocator();
  static TVMFFICustomAllocator mine = *before;
  static TVMFFICustomAllocator original = *before;
  mine.allocate = [](size_t size, size_t align, int32_t index, void*) -> void* {
    taken++;
    return original.allocate(size, align, index, original.context);
  };
  TVM_FFI_CHECK_SAFE_CALL(TVMFFISetCustomAllocator(&mine));
  CHECK(TVMFFIGetCustomAllocator() == &mine);
  {
    ObjectPtr<ArrayObj> by_cpp = make_object<ArrayObj>();
    Any by_library = Function::GetGlobalRequired("ffi.Array")(1, 2, 3);
    SAME(by_library.cast<Array<int>>().size(), 3u);
  }
  TVM_FFI_CHECK_SAFE_CALL(TVMFFISetCustomAllocator(nullptr));
  CHECK(TVMFFIGetCustomAllocator() != &mine);
}

TEST(dtypes, text) {
  for (const char* text :
       {"int8", "int64", "uint1", "uint16", "float16", "float32", "float64", "bfloat16", "bool", "int32x4",
        "float16xvscalex4", "float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e8m0fnu", "float6_e2m3fn",
        "float6_e3m2fn", "float4_e2m1fn", "float4_e2m1fnx2", "handle", ""}) {
    String printed = DLDataTypeToString(StringToDLDataType(text));
    SAME(printed, String(std::string(text) == "handle" ? printed : String(text)));
  }
  SAME(StringToDLDataType("int32x4"), (DLDataType{kDLInt, 32, 4}));
  SAME(StringToDLDataType("float"), (DLDataType{kDLFloat, 32, 1}));
  SAME(StringToDLDataType("bool"), (DLDataType{kDLBool, 8, 1}));
  for (const char* bad : {"int32x", "nonsense", "float32x0", "int32x4junk", "x4"})
    THROWS("ValueError", "", StringToDLDataType(bad));
  SAME(cpp_test::Show(DLDataType{kDLInt, 8, 1}), "int8");
  CHECK((DLDataType{kDLInt, 8, 1}) != (DLDataType{kDLInt, 8, 2}));
  SAME(dtype_trait<float>::value, (DLDataType{kDLFloat, 32, 1}));
  SAME(Any(DLDataType{kDLInt, 8, 1}).GetTypeKey(), "DataType");
}

TEST(devices, values) {
  Function f =
      cpp_test::ThroughC(Function::FromTyped([](DLDevice d) { return DLDevice{d.device_type, d.device_id + 1}; }));
  DLDevice d = f(DLDevice{kDLOpenCL, 2}).cast<DLDevice>();
  CHECK(d.device_type == kDLOpenCL && d.device_id == 3);
  THROWS("TypeError", "Device", f(1.5));
  SAME(f("cuda:1").cast<DLDevice>().device_id, 2);
}

TEST(big_integers, arithmetic) {
  BigInt small(5), big = BigInt(1) << 100;
  SAME(Any(small).type_index(), static_cast<int>(kTVMFFIInt));
  SAME(Any(big).GetTypeKey(), "ffi.BigInt");
  SAME(cpp_test::Show(big), "1267650600228229401496703205376");
  SAME(big / (BigInt(1) << 98), BigInt(4));
  SAME((big + 1) % 2, BigInt(1));
  SAME(cpp_test::Show(-big * big), "-1606938044258990275541962092341162602522202993782792835301376");
  THROWS("OverflowError", "int64", static_cast<int64_t>(big));
  Function twice = cpp_test::ThroughC(Function::FromTyped([](BigInt x) { return x + x; }));
  SAME(twice(big).cast<BigInt>(), BigInt(1) << 101);
  SAME(twice(21).cast<int>(), 42);
  THROWS("TypeError", "", twice("x"));
  std::vector<int64_t> words = {-1, -1, 0, 0};  // 2^128 - 1 with a redundant word
  TVMFFIByteArray content{reinterpret_cast<const char*>(words.data()), words.size() * 8};
  TVMFFIAny raw;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIBigIntFromByteArray(&content, &raw));
  SAME(TVMFFIBigIntGetContentByteArray(&raw).size, 24u);
  Any made = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&raw);
  SAME(made.cast<BigInt>(), (BigInt(1) << 128) - 1);
  CHECK(AnyEqual()(made, (BigInt(1) << 128) - 1));
  SAME(AnyHash()(made), AnyHash()(Any((BigInt(1) << 128) - 1)));
  content.size = 7;
  CHECK(TVMFFIBigIntFromByteArray(&content, &raw) != 0);
  SAME(detail::MoveFromSafeCallRaised().kind(), "ValueError");
}
