// Functions: typed, packed, variadic, methods; the global registry; functions that cross the language boundary.
#include <memory>

#include "cpp_test.h"

using namespace tvm::ffi;

TEST(functions, typed) {
  Function add = Function::FromTyped([](int64_t a, int64_t b) { return a + b; });
  SAME(add(3, 4).cast<int>(), 7);
  SAME(add(INT64_MAX, 0).cast<int64_t>(), INT64_MAX);
  Function mixed = Function::FromTyped(
      [](bool b, double d, String s, Bytes y, DLDataType t, DLDevice v, void* p) {
        std::ostringstream out;
        out << b << ' ' << d << ' ' << s << ' ' << y.size() << ' ' << t << ' ' << v.device_type << v.device_id
            << ' ' << (p == nullptr);
        return String(out.str());
      },
      "mixed");
  SAME(mixed(true, 2.5, "text", Bytes("abcdefghij", 10), DLDataType{kDLFloat, 16, 2}, DLDevice{kDLCUDA, 3},
             static_cast<void*>(nullptr))
           .cast<std::string>(),
       "1 2.5 text 10 float16x2 23 1");
  SAME(mixed(1, 2, "t", Bytes("", 0), "float32", DLDevice{kDLCPU, 0}, static_cast<void*>(&mixed)).cast<std::string>(),
       "1 2 t 0 float32 10 0");
  THROWS("TypeError", "#0", add("a", 4));
  THROWS("TypeError", "#1", add(1, Array<int>{}));
  THROWS("TypeError", "mixed", mixed(true));
  THROWS("TypeError", "mixed", mixed());
  bool called = false;
  Function nothing = Function::FromTyped([&] { called = true; });
  CHECK(nothing() == nullptr);
  CHECK(called);
}

TEST(functions, packed) {
  Function count = Function::FromPacked([](const AnyView* args, int32_t n, Any* result) {
    int64_t sum = 0;
    for (int32_t i = 0; i < n; i++) sum += args[i].cast<int64_t>();
    *result = sum;
  });
  SAME(count().cast<int>(), 0);
  SAME(count(1, 2, 3).cast<int>(), 6);
  SAME(count(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17).cast<int>(), 153);
  Function kinds = Function::FromPacked([](PackedArgs args, Any* result) {
    Array<int> out;
    for (int i = 0; i < args.size(); i++) out.push_back(args[i].type_index());
    *result = out;
  });
  auto k = kinds(nullptr, 1, true, 1.5, "raw", String("small"), String("not so small"), count).cast<Array<int>>();
  std::vector<int> want = {kTVMFFINone,   kTVMFFIInt,      kTVMFFIBool, kTVMFFIFloat,
                           kTVMFFIRawStr, kTVMFFISmallStr, kTVMFFIStr,  kTVMFFIFunction};
  CHECK(std::vector<int>(k.begin(), k.end()) == want);
  std::vector<AnyView> many(5000, AnyView(1));
  Any sum;
  count.CallPacked(many.data(), static_cast<int32_t>(many.size()), &sum);
  SAME(sum.cast<int>(), 5000);
}

TEST(functions, values_in_and_out) {
  Function echo = Function::FromTyped([](Any x) { return x; });
  SAME(echo(nullptr).type_index(), static_cast<int>(kTVMFFINone));
  SAME(echo(1.5).cast<double>(), 1.5);
  SAME(echo("raw text that is long").cast<String>(), String("raw text that is long"));
  SAME(echo("raw text that is long").type_index(), static_cast<int>(kTVMFFIStr));
  SAME(echo("raw").type_index(), static_cast<int>(kTVMFFISmallStr));
  Array<Any> a{1, "two", 3.0};
  Array<Any> b = echo(a).cast<Array<Any>>();
  CHECK(a.same_as(b));
  Function apply = Function::FromTyped([](Function f, int x) { return f(x); });
  SAME(apply(Function::FromTyped([](int x) { return 2 * x; }), 21).cast<int>(), 42);
  TypedFunction<int(int, int)> multiply = [](int x, int y) { return x * y; };
  SAME(multiply(6, 7), 42);
  Function untyped = multiply;
  SAME(untyped(2, 3).cast<int>(), 6);
  TypedFunction<String(String)> greet(Function::FromTyped([](String s) { return String("hello ") + s; }));
  SAME(greet("you"), String("hello you"));
  CHECK(TypedFunction<int()>(nullptr) == nullptr);
  auto optional = Function::FromTyped([](Optional<int> x) { return x.value_or(-1); });
  SAME(optional(nullptr).cast<int>(), -1);
  SAME(optional(5).cast<int>(), 5);
}

TEST(functions, captured_state_is_freed_once) {
  auto state = std::make_shared<int>(1);
  {
    Function f = Function::FromTyped([state] { return *state; });
    Function g = f;
    Array<Function> held{f, g};
    SAME(state.use_count(), 2);
    SAME(held[1]().cast<int>(), 1);
  }
  SAME(state.use_count(), 1);
  static int deleted = 0;
  int self = 41;
  auto call = [](void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) -> int {
    TVM_FFI_SAFE_CALL_BEGIN();
    TVM_FFI_CHECK(n == 1, ValueError) << "one argument";
    result->type_index = kTVMFFIInt;
    result->v_int64 = *static_cast<int*>(handle) + args[0].v_int64;
    TVM_FFI_SAFE_CALL_END();
  };
  {
    Function c = Function::FromExternC(&self, call, [](void*) { deleted++; });
    SAME(c(1).cast<int>(), 42);
    THROWS("ValueError", "one argument", c());
    SAME(deleted, 0);
  }
  SAME(deleted, 1);
  Function made_by_library = [&] {
    TVMFFIObjectHandle out;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionCreate(&self, call, nullptr, &out));
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<Function>(
        detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(out)));
  }();
  SAME(made_by_library(2).cast<int>(), 43);
  Any nested = Function::FromTyped([](Function f) { return f(1); })(made_by_library);
  SAME(nested.cast<int>(), 42);
}

TEST(functions, globals) {
  CHECK(!Function::GetGlobal("cpp.absent").has_value());
  THROWS("ValueError", "cpp.absent", Function::GetGlobalRequired("cpp.absent"));
  Function one = Function::FromTyped([] { return 1; });
  Function::SetGlobal("cpp.number", one);
  SAME((*Function::GetGlobal("cpp.number"))().cast<int>(), 1);
  THROWS("RuntimeError", "cpp.number", Function::SetGlobal("cpp.number", one));
  Function::SetGlobal("cpp.number", Function::FromTyped([] { return 2; }), true);
  SAME(Function::GetGlobalRequired(String("cpp.number"))().cast<int>(), 2);
  std::string long_name = "cpp." + std::string(300, 'n');
  Function::SetGlobal(long_name, one);
  auto names = [] {
    std::vector<String> all = Function::ListGlobalNames();
    return std::vector<std::string>(all.begin(), all.end());
  };
  auto listed = [&](const std::string& name) {
    auto all = names();
    return std::count(all.begin(), all.end(), name);
  };
  SAME(listed("cpp.number"), 1);
  SAME(listed(long_name), 1);
  SAME(listed("ffi.Map"), 1);
  Function kept = Function::GetGlobalRequired("cpp.number");
  Function::RemoveGlobal("cpp.number");
  Function::RemoveGlobal(long_name);
  SAME(listed("cpp.number") + listed(long_name), 0);
  CHECK(!Function::GetGlobal("cpp.number").has_value());
  SAME(kept().cast<int>(), 2);
  Function::SetGlobal("cpp.number", one);
  SAME((*Function::GetGlobal("cpp.number"))().cast<int>(), 1);
  Function::RemoveGlobal("cpp.number");
}

class CounterObj : public Object {
 public:
  int64_t n = 0;
  int64_t Add(int64_t x) { return n += x; }
  int64_t Get() const { return n; }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.functions.Counter", CounterObj, Object);
};
class Counter : public ObjectRef {
 public:
  Counter() { data_ = make_object<CounterObj>(); }
  int64_t Twice() const { return 2 * (*this)->n; }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Counter, ObjectRef, CounterObj);
};

TEST(functions, global_definitions) {
  reflection::GlobalDef()
      .def("cpp.def.inc", [](int x) { return x + 1; }, "adds one", reflection::Metadata{{"pure", true}})
      .def_packed("cpp.def.size", [](PackedArgs args, Any* result) { *result = args.size(); })
      .def_method("cpp.def.add", &CounterObj::Add)
      .def_method("cpp.def.get", &CounterObj::Get)
      .def_method("cpp.def.twice", &Counter::Twice);
  SAME(Function::GetGlobalRequired("cpp.def.inc")(1).cast<int>(), 2);
  SAME(Function::GetGlobalRequired("cpp.def.size")(1, 2, 3).cast<int>(), 3);
  Counter c;
  SAME(Function::GetGlobalRequired("cpp.def.add")(c, 5).cast<int>(), 5);
  SAME(Function::GetGlobalRequired("cpp.def.get")(c).cast<int>(), 5);
  SAME(Function::GetGlobalRequired("cpp.def.twice")(c).cast<int>(), 10);
  THROWS("TypeError", "cpp.functions.Counter", Function::GetGlobalRequired("cpp.def.get")(1));
  THROWS("RuntimeError", "cpp.def.inc", reflection::GlobalDef().def("cpp.def.inc", [] {}));
  String metadata = Function::GetGlobalRequired("ffi.GetGlobalFuncMetadata")("cpp.def.inc").cast<String>();
  CHECK(metadata.find("type_schema") != String::npos);
  CHECK(metadata.find("\"pure\":true") != String::npos);
}

TEST(functions, moved_arguments) {
  Function take = Function::FromTyped([](RValueRef<Array<int>> a) {
    Array<int> mine = *std::move(a);
    bool alone = mine.unique();
    mine.push_back(9);
    return Array<Any>{alone, mine};
  });
  Array<int> a{1, 2};
  Array<Any> r = take(RValueRef(std::move(a))).cast<Array<Any>>();
  CHECK(r[0].cast<bool>());
  SAME(r[1].cast<Array<int>>().size(), 3u);
  Array<int> b{1, 2};
  Array<Any> s = take(b).cast<Array<Any>>();
  CHECK(!s[0].cast<bool>());
  SAME(b.size(), 2u);
}

static String Numbered(int x, String s) { return s + std::to_string(x); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(cpp_exported, Numbered)

TEST(functions, exported_symbol) {
  Function f = Function::FromExternC(nullptr, __tvm_ffi_cpp_exported, nullptr);
  SAME(f(7, "n=").cast<String>(), String("n=7"));
  SAME(Function::InvokeExternC(nullptr, __tvm_ffi_cpp_exported, 1, "x").cast<String>(), String("x1"));
  THROWS("TypeError", "cpp_exported", f("x", 1));
}

TEST(functions, expected) {
  Function half = Function::FromTyped([](int x) -> Expected<int> {
    if (x % 2 != 0) return Unexpected(Error("ValueError", "odd", ""));
    return x / 2;
  });
  SAME(half(4).cast<int>(), 2);
  SAME(half(3).cast<Error>().message(), "odd");
  Expected<int> good = half.CallExpected<int>(10);
  Expected<int> bad = half.CallExpected<int>(11);
  CHECK(good.is_ok() && bad.is_err());
  SAME(good.value(), 5);
  SAME(bad.error().kind(), "ValueError");
  SAME(bad.value_or(-1), -1);
}
