/* Every class of tvmgo.hpp, with valid and with invalid input, against the built library.
 *   hpp_test FILE DIRECTORY FUNCTION...                   a module of the CPU, and the samples of sample.h
 *   hpp_test --device NAME FILE DIRECTORY FUNCTION...     a module of another device
 *   hpp_test --model FILE PARAMS IN.npy OUT.npy           a whole model: relax_mlp
 *   hpp_test --graph FILE IN.npy OUT.npy                  the same of a graph: graph_mlp
 *   hpp_test                                              everything that needs no file */
#include <algorithm>
#include <tvmgo/device_api.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "hpp_test.h"
#include "npy.h"

int failures;

enum Plain { kPlain = 3 };
enum class Scoped : std::uint8_t { kTwo = 2 };

/* ---- values without a runtime ---- */

static void test_dtype() {
  static_assert(DataType::of<float>() == DataType(kDLFloat, 32) && DataType::of<std::int8_t>(4).lanes() == 4);
  for (const char* text : {"int8", "uint16", "float32", "float64", "bfloat16", "complex64", "bool", "handle",
      "int8x4", "boolx8",
                           "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float6_e2m3fn",
                               "float4_e2m1fnx2",
                           "void"})
    CHECK(DataType::parse(text).str() == text);
  CHECK(DataType::parse("float") == DataType::of<float>() && DataType::parse("int") == DataType::of<int>());
  CHECK(DataType::parse("e4m3_float8").str() == "float8_e4m3fn" && DataType::parse("").bits() == 0);
  CHECK(DataType(kDLUInt, 1).str() == "bool" && DataType(DLDataType{200, 8, 1}).str() == "dtype(200, 8, 1)");
  CHECK(DataType::of<bool>().code() == kDLBool && DataType::of<unsigned long long>().bits() == 64);
  for (const char* bad : {"floa", "float0", "float256", "float32x", "float32x0", "float32x65536", "float32 ", "bool8",
      "x4", "int8x4x4",
                          "float99999999999999999999999"})
    fails(__LINE__, "ValueError", bad, [&] { DataType::parse(bad); });
}

static void test_device() {
  static_assert(Device::cuda(1).id() == 1 && Device::cpu().is_host() && !Device::opencl().is_host());
  CHECK(Device::parse("cpu") == Device::cpu() && Device::parse("cl:2") == Device::opencl(2) &&
      Device::parse("llvm") == Device::cpu());
  CHECK(Device::parse("20:3") == Device::of(20, 3) && Device::of(20, 3).str() == "20:3");
  for (const char* text : {"cpu:0", "cuda:7", "vulkan:0", "metal:0", "rocm:1", "ext_dev:0", "hexagon:2147483647"})
    CHECK(Device::parse(text).str() == text);
  for (const char* bad : {"", ":", "cpu:", "cpu:-1", "cpu:1x", "gpu9", "cuda:2147483648", "0:1", "99999999999:0"})
    fails(__LINE__, "ValueError", "parse device", [&] { Device::parse(bad); });
  CHECK(Device::cpu().exists() && !Device::of(35, 0).exists() && !Device::cuda(1000).exists());
  CHECK(Device::cpu().attr(0).as<int>() == 1);
  Device::cpu().sync();
  fails(__LINE__, "DeviceUnavailableError", "", [] { Tensor::empty<float>({1}, Device::of(35, 0)); });
}

/* ---- tensors ---- */

static void test_tensor() {
  Tensor a = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(a.ndim() == 2 && a.shape()[0] == 2 && a.shape()[1] == 3 && a.size() == 6 && a.nbytes() == 24 &&
      a.is_contiguous());
  CHECK((a.strides() == Shape{3, 1}) && a.dtype() == DataType::of<float>() && a.device() == Device::cpu());
  CHECK((a.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6}) && a.data<float>()[5] == 6);
  std::int64_t sum = 0;
  for (std::int64_t extent : a.shape()) sum += extent;
  CHECK(sum == 5);

  Tensor b = a; /* a second reference to the same tensor */
  b.data<float>()[0] = 10;
  CHECK(b == a && a.data<float>()[0] == 10);
  Tensor c = std::move(b);
  CHECK(!b && c && c == a && b != c);
  b = c;
  b = std::move(c);
  b = *&b;
  CHECK(b == a && !c);
  b.reset();
  CHECK(!b);
  Tensor owned = Tensor::take(Tensor(a).detach());
  CHECK(owned == a);

  CHECK((Tensor::from({1, 2, 3}).to_vector<int>() == std::vector<int>{1, 2, 3}));
  CHECK(Tensor::from({1.0, 2.0}, {2, 1}).ndim() == 2);
  const std::int64_t plain[] = {7, 8};
  CHECK(Tensor::from(plain).to_vector<std::int64_t>()[1] == 8 && Tensor::from_pointer(plain, {1, 2}).size() == 2);
  CHECK(Tensor::from(std::array<std::uint8_t, 2>{1, 2}, Device::cpu()).nbytes() == 2);
  CHECK(Tensor::empty<float>({}).size() == 1 && Tensor::empty<float>({0, 4}).to_vector<float>().empty());
  bool bits[2] = {true, false}, back[2] = {false, true};
  Tensor flags = Tensor::from(bits);
  flags.copy_to(back, 2);
  CHECK(back[0] && !back[1] && flags.dtype().str() == "bool");
  CHECK(Tensor::empty({3}, DataType(kDLUInt, 1)).dtype().str() == "bool");
  CHECK(Tensor::empty({4}, DataType::parse("float32x4")).nbytes() == 64);

  Tensor d = Tensor::empty<float>({2, 3});
  d.copy_from(a);
  CHECK(d.to_vector<float>() == a.to_vector<float>() && a.to(Device::cpu()) != a &&
      a.to(Device::cpu()).to_vector<float>()[5] == 6);
  Stream stream(Device::cpu());
  d.copy_from(a, stream);
  stream.sync();

  Tensor flat = a.reshape({6});
  flat.data<float>()[1] = 20;
  CHECK(flat.ndim() == 1 && a.data<float>()[1] == 20);
  a.reset();
  owned.reset();
  CHECK(flat.data<float>()[1] == 20); /* the view keeps the memory */

  Tensor empty;
  fails(__LINE__, "ValueError", "empty", [&] { empty.shape(); });
  fails(__LINE__, "ValueError", "empty", [&] { empty.copy_from(flat); });
  fails(__LINE__, "ValueError", "empty", [&] { flat.copy_from(empty); });
  fails(__LINE__, "ValueError", "empty", [&] { empty.copy_from_bytes(nullptr, 0); });
  fails(__LINE__, "ValueError", "", [] { Tensor::empty<float>({-1}); });
  fails(__LINE__, "ValueError", "", [] { Tensor::empty<float>({1ll << 40, 1ll << 40}); });
  fails(__LINE__, "TypeError", "float32, not int32", [&] { flat.to_vector<int>(); });
  fails(__LINE__, "TypeError", "float32, not float64", [&] { flat.data<double>(); });
  fails(__LINE__, "ValueError", "6 elements, not 5", [&] { flat.copy_from(std::vector<float>(5).data(), 5); });
  fails(__LINE__, "ValueError", "4 elements, not 2", [&] { Tensor::from({1, 2}, {2, 2}); });
  fails(__LINE__, "ValueError", "", [&] { flat.copy_to_bytes(back, 2); });
  fails(__LINE__, "ValueError", "7 elements, the tensor 6", [&] { flat.reshape({7}); });
  fails(__LINE__, "ValueError", "", [&] { flat.reshape({-2, -3}); });
  fails(__LINE__, "ValueError", "", [&] { d.copy_from(Tensor::empty<float>({5})); });
}

static void test_views() {
  auto memory = std::make_shared<std::vector<float>>(8);
  for (std::size_t i = 0; i < 8; i++) (*memory)[i] = static_cast<float>(i);
  std::weak_ptr<std::vector<float>> alive = memory;
  Tensor lent = Tensor::view(memory->data(), {2, 4}, memory);
  memory.reset();
  CHECK(!alive.expired() && lent.data<float>()[7] == 7 && lent.is_contiguous());

  std::int64_t shape[] = {2, 2}, strides[] = {4, 2};
  DLTensor t = *lent.handle();
  t.shape = shape;
  t.strides = strides;
  t.byte_offset = sizeof(float);
  Tensor every2nd = Tensor::view(t, std::make_shared<Tensor>(lent));
  lent.reset();
  CHECK(!every2nd.is_contiguous() && (every2nd.strides() == Shape{4, 2}) && every2nd.data<float>()[0] == 1);
  fails(__LINE__, "ValueError", "contiguous", [&] { every2nd.to_vector<float>(); });
  fails(__LINE__, "ValueError", "contiguous", [&] { every2nd.reshape({4}); });
  CHECK(!alive.expired());
  every2nd.reset();
  CHECK(alive.expired());

  t.data = nullptr;
  fails(__LINE__, "ValueError", "", [&] { Tensor::view(t); });
  t.ndim = -1;
  fails(__LINE__, "ValueError", "-1 dimensions", [&] { Tensor::view(t); });
  t.ndim = 1;
  t.shape = nullptr;
  fails(__LINE__, "ValueError", "no shape", [&] { Tensor::view(t); });
}

static int deleted;

static void test_dlpack() {
  Tensor a = Tensor::from({1, 2, 3});
  DLManagedTensor* m = a.to_dlpack();
  DLManagedTensorVersioned* v = a.to_dlpack_versioned();
  CHECK(m->dl_tensor.data == a.handle()->data && v->dl_tensor.shape[0] == 3 &&
      v->version.major == DLPACK_MAJOR_VERSION);
  a.reset();
  Tensor b = Tensor::from_dlpack(m), c = Tensor::from_dlpack(v);
  b.data<int>()[0] = 5;
  CHECK(c.data<int>()[0] == 5);
  b.reset();
  CHECK(c.to_vector<int>()[2] == 3);
  v = c.to_dlpack_versioned();
  c.reset();
  v->deleter(v);

  int element = 9;
  std::int64_t one = 1;
  DLManagedTensorVersioned own = {};
  own.version = {DLPACK_MAJOR_VERSION + 1, 0};
  own.deleter = [](DLManagedTensorVersioned*) { deleted++; };
  own.dl_tensor.data = &element;
  own.dl_tensor.device = Device::cpu();
  own.dl_tensor.ndim = 1;
  own.dl_tensor.dtype = DataType::of<int>();
  own.dl_tensor.shape = &one;
  fails(__LINE__, "ValueError", "version 2.0", [&] { Tensor::from_dlpack(&own); });
  own.version.major = DLPACK_MAJOR_VERSION;
  own.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  fails(__LINE__, "NotSupportedError", "padded", [&] { Tensor::from_dlpack(&own); });
  own.flags = 0;
  own.dl_tensor.ndim = -1;
  fails(__LINE__, "ValueError", "", [&] { Tensor::from_dlpack(&own); });
  CHECK(deleted == 0); /* the lender still owns a rejected one */
  own.dl_tensor.ndim = 1;
  CHECK(Tensor::from_dlpack(&own).data<int>()[0] == 9);
  CHECK(deleted == 1);
  own.deleter = nullptr;
  CHECK(Tensor::from_dlpack(&own).size() == 1);
  fails(__LINE__, "ValueError", "NULL", [] { Tensor::from_dlpack(static_cast<DLManagedTensor*>(nullptr)); });
  fails(__LINE__, "ValueError", "NULL", [] { Tensor::from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)); });
}

/* ---- functions ---- */

static int twice(int x) { return 2 * x; }

struct Counted { /* a callable that counts its instances */
  static std::atomic<int> alive;
  Counted() { alive++; }
  Counted(const Counted&) { alive++; }
  Counted(Counted&&) noexcept { alive++; }
  ~Counted() { alive--; }
  int operator()(int x) const noexcept { return x + 1; }
};
std::atomic<int> Counted::alive{0};

static void test_arguments() {
  Function same = Function::from([](const Args& args) { return Value::copy_of(args[0]); });
  CHECK(same(3).as<int>() == 3 && same(-1).as<std::int64_t>() == -1 && same(3).as<double>() == 3.0);
  CHECK(same(INT64_MIN).as<std::int64_t>() == INT64_MIN && same(INT64_MAX).as<std::uint64_t>() == INT64_MAX);
  CHECK(same('a').as<char>() == 'a' && same(kPlain).as<Plain>() == kPlain &&
      same(Scoped::kTwo).as<Scoped>() == Scoped::kTwo);
  CHECK(same(2.5).as<double>() == 2.5 && same(2.5f).as<float>() == 2.5f);
  CHECK(same(true).as<bool>() && same(true).code() == kTVMArgBool && same(true).as<int>() == 1 && !same(0).as<bool>());
  CHECK(same("text").as<std::string>() == "text" && same(std::string(100, 'x')).as<std::string>().size() == 100);
  CHECK(same(std::string_view("abc").substr(1)).as<std::string>() == "bc" && same("").as<std::string>().empty());
  CHECK((same(Bytes{1, 0, 2}).as<Bytes>() == Bytes{1, 0, 2}) && same(Bytes{}).as<Bytes>().empty());
  CHECK(same(TVMByteArray{"a\0b", 3}).as<Bytes>().size() == 3);
  CHECK(same(Device::cuda(1)).as<Device>() == Device::cuda(1) &&
      same(DLDevice(Device::cpu())).as<DLDevice>().device_type == kDLCPU);
  CHECK(same(DataType::parse("int8x4")).as<DataType>() == DataType(kDLInt, 8, 4) &&
      same("bool").as<DataType>().bits() == 8);
  CHECK(same(DLDataType(DataType::of<float>())).as<DataType>().str() == "float32" &&
      same(DataType::of<bool>()).as<DataType>().str() == "bool");
  CHECK(same(nullptr).is_none() && same(std::optional<int>()).is_none() && same(std::nullopt).as<void*>() == nullptr);
  CHECK(same(std::optional<int>(4)).as<std::optional<int>>() == 4 && !same(nullptr).as<std::optional<std::string>>());
  int here = 0;
  CHECK(same(static_cast<void*>(&here)).as<void*>() == &here && same.call<Value>(1).as<int>() == 1);
  Tensor t = Tensor::from({1.f});
  CHECK(same(t).as<Tensor>() == t && same(same).as<Function>() == same && same(same.call<Value>(t)).as<Tensor>() == t);
  CHECK(same.call<std::nullptr_t>(nullptr) == nullptr);
  same.call<void>(1);
  Value v = same("kept"), w = v, moved = std::move(v);
  CHECK(v.is_none() && w.as<std::string>() == "kept" && moved.as<std::string>() == "kept");
  v = w;
  v = *&v;
  CHECK(v.as<std::string>() == "kept" && Value::of(t).as<Tensor>() == t && Value().is_none());
  Value held = same(t), second = held;
  CHECK(second.as<Tensor>() == t);

  Object object = Function::get_global("runtime.ShapeTuple").call<Object>(2, 3);
  CHECK(object.type_key() == "runtime.ShapeTuple" && same(object).as<Object>() == object);
  CHECK(Function::get_global("runtime.GetShapeTupleElem").call<int>(object, 1) == 3 && same(same).as<Object>());

  Function count = Function::from([](const Args& args) { return args.size(); });
  CHECK(count().as<int>() == 0 && count(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "x", t).as<int>() == 12);

  fails(__LINE__, "ValueError", "argument 1: a tensor that is empty", [&] { same(1, Tensor()); });
  fails(__LINE__, "ValueError", "argument 0: a module that is empty", [&] { same(Module()); });
  fails(__LINE__, "ValueError", "argument 0: a function that is empty", [&] { same(Function()); });
  fails(__LINE__, "ValueError", "argument 0: an object that is empty", [&] { same(Object()); });
  fails(__LINE__, "ValueError", "argument 0: the text is NULL", [&] { same(static_cast<const char*>(nullptr)); });
  fails(__LINE__, "ValueError", "argument 0: the DLTensor* is NULL", [&] { same(static_cast<DLTensor*>(nullptr)); });
  fails(__LINE__, "ValueError", "argument 0: the text has a NUL", [&] { same(std::string("a\0b", 3)); });
  fails(__LINE__, "ValueError", "does not fit", [&] { same(UINT64_MAX); });
  fails(__LINE__, "ValueError", "the Function is empty", [] { Function()(1); });
  fails(__LINE__, "TypeError", "result: an int is needed, not a text", [&] { same("x").as<int>(); });
  fails(__LINE__, "TypeError", "result: a text is needed, not an int", [&] { same(1).as<std::string>(); });
  fails(__LINE__, "TypeError", "result: an int is needed, not a float", [&] { same(1.5).as<int>(); });
  fails(__LINE__, "TypeError", "not none", [&] { same(nullptr).as<int>(); });
  fails(__LINE__, "TypeError", "a tensor is needed", [&] { same(1).as<Tensor>(); });
  fails(__LINE__, "TypeError", "a module is needed, not a function", [&] { same(same).as<Module>(); });
  fails(__LINE__, "TypeError", "an object is needed, not a tensor", [&] { same(t).as<Object>(); });
  fails(__LINE__, "TypeError", "bytes is needed", [&] { same("x").as<Bytes>(); });
  fails(__LINE__, "ValueError", "300 does not fit 8 bits", [&] { same(300).as<std::int8_t>(); });
  fails(__LINE__, "ValueError", "-1 does not fit 32 bits without sign", [&] { same(-1).as<unsigned>(); });
  fails(__LINE__, "ValueError", "parse data type", [&] { same("nonsense").as<DataType>(); });
}

static void test_callbacks() {
  CHECK(Function::from(twice)(4).as<int>() == 8 && Function::from(&twice)(4).as<int>() == 8);
  Function join = Function::from([](const std::string& a, std::string_view b, std::optional<int> n) {
    return a + std::string(b) + (n ? std::to_string(*n) : "-");
  });
  CHECK(join("a", "b", nullptr).as<std::string>() == "ab-" && join("a", "b", 3).as<std::string>() == "ab3");
  int calls = 0;
  Function nothing = Function::from([&calls]() mutable { calls++; });
  CHECK(nothing().is_none() && calls == 1);
  auto unique = std::make_unique<int>(7); /* callables need not be copyable */
  CHECK(Function::from([p = std::move(unique)](int x) { return *p + x; })(1).as<int>() == 8);
  {
    Function f = Function::from(Counted());
    Function g = f;
    f.reset();
    CHECK(Counted::alive == 1 && g(1).as<int>() == 2);
  }
  CHECK(Counted::alive == 0);

  Tensor t = Tensor::from({1.f, 2.f});
  Function first = Function::from([](const DLTensor* x) { return static_cast<const float*>(x->data)[0]; });
  CHECK(first(t).as<float>() == 1 && first(static_cast<DLTensor*>(t.handle())).as<float>() == 1);
  Function keep = Function::from([](Tensor x) { return x; });
  CHECK(keep(t).as<Tensor>() == t);
  fails(__LINE__, "TypeError", "DLTensor* is the caller's", [&] { keep(static_cast<const DLTensor*>(t.handle())); });
  Function apply = Function::from([](Function f, int x) { return f(x); });
  CHECK(apply(Function::from(twice), 5).as<int>() == 10);
  CHECK(Function::from([] { return "literal"; })().as<std::string>() == "literal");
  CHECK(Function::from([] { return DataType::of<float>(); })().as<DataType>().bits() == 32);
  CHECK(Function::from([] { return Bytes{1, 2}; })().as<Bytes>().size() == 2);
  CHECK(Function::from([](bool flip) { return flip ? Value::of("yes") : Value(); })(true).as<std::string>() == "yes");

  /* a moved object: its slot is empty afterwards */
  Object shape = Function::get_global("runtime.ShapeTuple").call<Object>(1);
  void* slot = shape.detach();
  TVMValue args[1], result;
  int codes[1] = {kTVMObjectRValueRefArg}, code;
  args[0].v_handle = &slot;
  Function key = Function::from([](const Object& x) { return x.type_key(); });
  CHECK(TVMFuncCall(key.handle(), args, codes, 1, &result, &code) == 0 && slot == nullptr);
  CHECK(Value::take(result, code).as<std::string>() == "runtime.ShapeTuple");

  fails(__LINE__, "TypeError", "3 arguments are needed, got 1", [&] { join("a"); });
  fails(__LINE__, "TypeError", "1 argument is needed, got 0", [&] { keep(); });
  fails(__LINE__, "TypeError", "argument 1: a text is needed, not an int", [&] { join("a", 1, 2); });
  fails(__LINE__, "IndexError", "argument 2 of 1",
      [] { Function::from([](const Args& a) { return a[2].code(); })(0); });
  fails(__LINE__, "ValueError", "result: a tensor that is empty", [] { Function::from([] { return Tensor(); })(); });
  fails(__LINE__, "ValueError", "result: the text has a NUL",
      [] { Function::from([] { return std::string(2, '\0'); })(); });
}

static void test_exceptions() {
  auto raise = [](auto exception) { return Function::from([exception] { throw exception; }); };
  fails(__LINE__, "KeyError", "none: such: thing", [&] { raise(Error("KeyError", "none: such: thing"))(); });
  fails(__LINE__, "ValueError", "bad", [&] { raise(std::invalid_argument("bad"))(); });
  fails(__LINE__, "IndexError", "far", [&] { raise(std::out_of_range("far"))(); });
  fails(__LINE__, "RuntimeError", "disk: full", [&] { raise(std::runtime_error("disk: full"))(); });
  fails(__LINE__, "MemoryError", "", [&] { raise(std::bad_alloc())(); });
  fails(__LINE__, "RuntimeError", "no std::exception", [&] { raise(42)(); });
  Function outer = Function::from([&](Function f) { f(); }); /* through two language boundaries */
  fails(__LINE__, "KeyError", "deep", [&] { outer(raise(Error("KeyError", "deep"))); });

  TVMValue result;
  int code; /* a C caller gets a return code and a text */
  CHECK(TVMFuncCall(raise(std::invalid_argument("bad")).handle(), nullptr, nullptr, 0, &result, &code) == -1);
  SAME_TEXT(TVMGetLastError(), "ValueError: bad");
  TVMAPISetLastError("no kind in here");
  CHECK(Error::last().message() == "no kind in here");
  CHECK(Error::last().kind() == "RuntimeError");
  static_assert(std::is_nothrow_copy_constructible_v<Error> && std::is_base_of_v<std::runtime_error, Error>);
}

static void test_globals() {
  Function::set_global("hpp.twice", Function::from(twice));
  CHECK(Function::get_global("hpp.twice")(2).as<int>() == 4 && Function::find_global("hpp.twice"));
  fails(__LINE__, "RuntimeError", "hpp.twice", [] { Function::set_global("hpp.twice", Function::from(twice)); });
  Function::set_global("hpp.twice", Function::from(Counted()), true);
  CHECK(Function::get_global("hpp.twice")(2).as<int>() == 3);
  int found = 0;
  for (const std::string& name : Function::list_globals()) found += name == "hpp.twice";
  CHECK(found == 1);
  Function::remove_global("hpp.twice");
  Function::remove_global("hpp.twice");
  CHECK(!Function::find_global("hpp.twice") && Counted::alive == 0);
  fails(__LINE__, "NotFoundError", "\"hpp.twice\"", [] { Function::get_global("hpp.twice"); });
  fails(__LINE__, "ValueError", "empty", [] { Function::set_global("hpp.none", Function()); });
  fails(__LINE__, "ValueError", "NUL", [] { Function::find_global(std::string("a\0b", 3)); });
}

static void test_streams() {
  Stream a(Device::cpu()), b(Device::cpu());
  a.wait_for(b);
  {
    Stream::Scope outer(a);
    Stream::Scope inner(b);
    a.sync();
  }
  Stream c = std::move(a);
  c.sync();
  c = std::move(b);
  CHECK(c.device() == Device::cpu());
  fails(__LINE__, "DeviceUnavailableError", "", [] { Stream none(Device::of(35, 0)); });
}

/* A device that has streams, and memory that the host must not touch through data(). */
namespace other {

constexpr int kType = 30;
static int streams, synced, blocks, waits;

static int set_device(const TVMGODeviceAPI*, std::int32_t) { return 0; }
static int get_attr(const TVMGODeviceAPI*, std::int32_t id, std::int32_t kind, TVMFFIAny* out) {
  *out = TVMFFIAny();
  if (kind != kTVMGODeviceAttrExist) return 0;
  out->type_index = kTVMFFIInt;
  out->v_int64 = id == 0;
  return 0;
}
static int alloc(const TVMGODeviceAPI*, DLDevice, std::size_t nbytes, std::size_t alignment, DLDataType, void** out) {
  *out = std::aligned_alloc(alignment, (nbytes + alignment) / alignment * alignment);
  blocks++;
  return 0;
}
static int release(const TVMGODeviceAPI*, DLDevice, void* p) {
  std::free(p);
  blocks--;
  return 0;
}
static int copy(const TVMGODeviceAPI*, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle) {
  std::size_t bytes = from->dtype.bits / 8u * from->dtype.lanes;
  for (int i = 0; i < from->ndim; i++) bytes *= static_cast<std::size_t>(from->shape[i]);
  std::memcpy(static_cast<char*>(to->data) + to->byte_offset, static_cast<char*>(from->data) + from->byte_offset,
      bytes);
  return 0;
}
static int sync(const TVMGODeviceAPI*, DLDevice, TVMFFIStreamHandle) { return synced++, 0; }
static int create_stream(const TVMGODeviceAPI*, DLDevice, TVMFFIStreamHandle* out) {
  *out = new int(streams++);
  return 0;
}
static int free_stream(const TVMGODeviceAPI*, DLDevice, TVMFFIStreamHandle stream) {
  delete static_cast<int*>(stream);
  return streams--, 0;
}
static int set_stream(const TVMGODeviceAPI*, DLDevice, TVMFFIStreamHandle) { return 0; }
static int order(const TVMGODeviceAPI*, DLDevice, TVMFFIStreamHandle, TVMFFIStreamHandle) { return waits++, 0; }

static TVMGODeviceAPI table;

}  // namespace other

static void test_other_device() {
  other::table.struct_size = sizeof other::table;
  other::table.set_device = other::set_device;
  other::table.get_attr = other::get_attr;
  other::table.alloc_data_space = other::alloc;
  other::table.free_data_space = other::release;
  other::table.copy_data_from_to = other::copy;
  other::table.stream_sync = other::sync;
  other::table.create_stream = other::create_stream;
  other::table.free_stream = other::free_stream;
  other::table.set_stream = other::set_stream;
  other::table.sync_stream_from_to = other::order;
  TVMGODeviceSpec spec{};
  spec.struct_size = sizeof spec;
  spec.device_type = other::kType;
  spec.name = "other";
  spec.api = &other::table;
  CHECK(TVMGODeviceAPIRegister(&spec) == 0);

  Device device = Device::of(other::kType, 0);
  CHECK(device.exists() && !Device::of(other::kType, 1).exists() && device.attr(kTVMGODeviceAttrWarpSize).is_none());
  {
    Tensor there = Tensor::from({1.f, 2.f, 3.f}, device);
    CHECK(there.device() == device && (there.to_vector<float>() == std::vector<float>{1, 2, 3}));
    CHECK(there.to(Device::cpu()).data<float>()[2] == 3 && there.to(device).to_vector<float>()[1] == 2 &&
        other::blocks > 0);
    fails(__LINE__, "ValueError", "copy it to the host", [&] { there.data<float>(); });
    int before = other::synced;
    there.copy_from(Tensor::from({4.f, 5.f, 6.f}));
    CHECK(other::synced > before && there.reshape({3, 1}).to_vector<float>()[0] == 4);
  }
  CHECK(other::blocks == 0);

  auto current = [] { return TVMFFIEnvGetStream(other::kType, 0); };
  {
    Stream a(device), b(device), host(Device::cpu());
    CHECK(a.handle() != nullptr && a.handle() != b.handle() && other::streams == 2);
    {
      Stream::Scope outer(a);
      CHECK(current() == a.handle());
      {
        Stream::Scope unrelated(host);
        Stream::Scope inner(b);
        CHECK(current() == b.handle());
        std::thread([&] { CHECK(current() == nullptr); }).join(); /* another thread has its own */
      }
      CHECK(current() == a.handle());
    }
    CHECK(current() == nullptr);
    a.wait_for(b);
    CHECK(other::waits == 1);
    fails(__LINE__, "ValueError", "cannot wait", [&] { a.wait_for(host); });
    Tensor t = Tensor::empty<float>({2}, device);
    t.copy_from(Tensor::from({1.f, 2.f}), a);
    a.sync();
    Stream moved = std::move(a);
    CHECK(a.handle() == nullptr && moved.handle() != nullptr);
    b = std::move(moved);
  }
  CHECK(other::streams == 0);
}

/* ---- modules ---- */

struct Sample {
  npy in[2], want, out;
  int inputs = 0;

  Sample(const std::string& dir, const std::string& name) {
    for (; inputs < 2; inputs++) {
      std::string path = dir + "/" + name + "_in" + std::to_string(inputs) + ".npy";
      FILE* f = std::fopen(path.c_str(), "rb");
      if (f == nullptr) break;
      std::fclose(f);
      if (!npy_read(path.c_str(), &in[inputs])) std::exit(2);
    }
    if (!npy_read((dir + "/" + name + "_out.npy").c_str(), &want) || !npy_alloc(&out, &want) || inputs == 0) std::exit(
        2);
  }
  ~Sample() {
    for (int i = 0; i < inputs; i++) std::free(in[i].data);
    std::free(want.data);
    std::free(out.data);
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
};

static Tensor tensor_of(const npy& a) { return Tensor::from_pointer(a.data, Shape(a.shape, a.shape + a.ndim)); }

static void run(const Function& f, const Sample& s) {
  Tensor out = tensor_of(s.want);
  std::memset(out.data<float>(), 0xff, out.nbytes());
  if (s.inputs == 1)
    f(tensor_of(s.in[0]), out);
  else
    f(tensor_of(s.in[0]), tensor_of(s.in[1]), out);
  npy got = s.want;
  got.data = out.data<float>();
  if (!(npy_error(&got, &s.want) < 1e-4)) FAIL("wrong result");
  DLTensor lent = *out.handle(); /* the same through a bare DLTensor* */
  std::memset(out.data<float>(), 0xff, out.nbytes());
  if (s.inputs == 1)
    f(tensor_of(s.in[0]), &lent);
  else
    f(tensor_of(s.in[0]), tensor_of(s.in[1]), &lent);
  if (!(npy_error(&got, &s.want) < 1e-4)) FAIL("wrong result through a DLTensor*");
}

static void test_module(const std::string& file, const std::string& dir, const std::string& name) {
  Sample s(dir, name);
  std::optional<Module> module = Module::load(file);
  CHECK(!module->kind().empty() && module->imports().empty());
  Function f = module->get(name);
  CHECK(module->find(name, true) && !module->find("absent") && module->find(name)->handle() != nullptr);
  fails(__LINE__, "NotFoundError", "\"absent\"", [&] { module->get("absent"); });
  fails(__LINE__, "ValueError", "NUL", [&] { module->get(std::string("a\0b", 3)); });

  std::vector<std::string> names = module->functions();
  CHECK(std::find(names.begin(), names.end(), name) != names.end() && std::is_sorted(names.begin(), names.end()));

  Module parent = Module::load(file, "so"), copy = *module;
  CHECK(copy == *module);
  parent.import_module(copy);
  CHECK(parent.imports().size() == 1);
  CHECK(parent.functions(true) == names); /* each name once */
  fails(__LINE__, "ValueError", "", [&] { copy.import_module(parent); }); /* a cycle */
  Function same = Function::from([](Module m) { return m; });
  CHECK(same(copy).as<Module>().kind() == copy.kind());

  module.reset(); /* the function keeps it */
  copy.reset();
  run(f, s);
  Tensor wrong = Tensor::empty<double>({1});
  auto refuses = [&](auto... args) { /* the module sets the kind of the error */
    try {
      f(args...);
      FAIL("%d wrong arguments were accepted", static_cast<int>(sizeof...(args)));
    } catch (const Error& e) {
      if (e.message().find(name) == e.message().npos) FAIL("%s has no \"%s\"", e.what(), name.c_str());
    }
  };
  refuses();
  refuses(1);
  s.inputs == 1 ? refuses(wrong, wrong) : refuses(wrong, wrong, wrong);
  run(f, s);

  std::vector<std::thread> threads; /* one function, many threads; each also loads for itself */
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; k++) {
        Function shared = f, own = Module::load(file).get(name);
        run(k % 2 ? shared : own, s);
        try {
          own(nullptr);
        } catch (const Error&) {
        }
      }
    });
  for (std::thread& t : threads) t.join();
}

/* A function of a module for another device: on the default stream, on a new stream, and with invalid arguments. */
static void test_on_device(Device device, const std::string& file, const std::string& dir, const std::string& name) {
  Sample s(dir, name);
  CHECK(device.exists() && !device.is_host() && !device.attr(kTVMGODeviceAttrDeviceName).as<std::string>().empty());
  Function f = Module::load(file).get(name); /* which keeps the module */
  auto check = [&](const Tensor& out) {
    npy got = s.want;
    std::vector<float> values = out.to_vector<float>();
    got.data = values.data();
    if (!(npy_error(&got, &s.want) < 1e-4)) FAIL("%s is wrong on %s", name.c_str(), device.str().c_str());
  };
  Tensor in0 = tensor_of(s.in[0]).to(device), in1 = s.inputs > 1 ? tensor_of(s.in[1]).to(device) : Tensor();
  auto call = [&](const Tensor& first, const Tensor& out) { s.inputs == 1 ? f(first, out) : f(first, in1, out); };
  Tensor out = Tensor::empty<float>(Shape(s.want.shape, s.want.shape + s.want.ndim), device);
  call(in0, out);
  check(out);
  std::memset(s.out.data, 0xff, out.nbytes());
  out.copy_from(s.out.data, static_cast<std::size_t>(s.out.count));
  {
    Stream stream(device);
    Stream::Scope current(stream);
    call(in0, out);
    stream.sync();
  }
  check(out);
  fails(__LINE__, "ValueError", "copy it to the host", [&] { out.data<float>(); });
  try {
    call(tensor_of(s.in[0]), out);
    FAIL("a tensor of the host was accepted");
  } catch (const Error& e) {
    bool told = false; /* by TVM's generated code, or by ours */
    for (const char* said : {"device_type", "expected cpu:0, the device of argument 0"}) told = told ||
        e.message().find(said) != e.message().npos;
    if (!told) FAIL("%s", e.what());
  }
  fails(__LINE__, "DeviceUnavailableError", "there is no device",
      [&] { Tensor::empty<float>({1}, Device::of(device.type(), 63)); });
}

static void test_bad_modules() {
  fails(__LINE__, "NotFoundError", "absent.so", [] { Module::load("/absent.so"); });
  fails(__LINE__, "NotFoundError", "", [] { Module::load("/bin/sh", "nonsense"); });
  fails(__LINE__, "ValueError", "NUL", [] { Module::load(std::string("a\0b", 3)); });
  fails(__LINE__, "ValueError", "empty", [] { Module().get("x"); });
  fails(__LINE__, "ValueError", "empty", [] { Module().kind(); });
  fails(__LINE__, "ValueError", "empty", [] { Module().imports(); });
}

/* Callbacks from many short-lived threads, some of which end with an error. */
static void test_threads() {
  std::atomic<int> sum{0};
  Function add = Function::from([&sum](int x) {
    if (x < 0) throw Error("ValueError", "negative " + std::to_string(x));
    return sum += x;
  });
  std::vector<std::thread> threads;
  for (int i = 1; i <= 16; i++)
    threads.emplace_back([&add, i] {
      for (int k = 0; k < 200; k++) {
        add(1);
        std::string want = "negative -" + std::to_string(i);
        fails(__LINE__, "ValueError", want.c_str(), [&] { add(-i); });
        Function::from([add](int x) { return add(x); })(0);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(sum == 16 * 200);
}

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    if (argc >= 6 && std::string(argv[1]) == "--device") {
      for (int i = 5; i < argc; i++) test_on_device(Device::parse(argv[2]), argv[3], argv[4], argv[i]);
      return report();
    }
    if (argc == 6 && std::string(argv[1]) == "--model") {
      test_model(argv[2], argv[3], argv[4], argv[5]);
      return report();
    }
    if (argc == 5 && std::string(argv[1]) == "--graph") {
      test_graph(argv[2], argv[3], argv[4]);
      return report();
    }
    if (argc >= 4) {
      for (int i = 3; i < argc; i++) test_module(argv[1], argv[2], argv[i]);
      return report();
    }
    test_dtype();
    test_device();
    test_tensor();
    test_views();
    test_dlpack();
    test_arguments();
    test_callbacks();
    test_exceptions();
    test_globals();
    test_streams();
    test_other_device();
    test_bad_modules();
    test_threads();
    test_containers();
  } catch (const std::exception& e) {
    FAIL("an exception was not expected: %s", e.what());
  }
  return report();
}
