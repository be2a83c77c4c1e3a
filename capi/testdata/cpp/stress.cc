// Threads that share functions, containers, types, errors and the registry of one library; for the
// sanitizers. Takes the number of rounds.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdlib>
#include <mutex>
#include <thread>

#include "cpp_test.h"

using namespace tvm::ffi;

namespace cpp_test {
std::atomic<int> failures{0};
}

class NodeObj : public Object {
 public:
  int64_t value = 0;
  Optional<ObjectRef> next;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.stress.Node", NodeObj, Object);
};

static Function Global(const char* name) { return Function::GetGlobalRequired(name); }

static void Values(int seed) {
  Map<Any, Any> m = Global("ffi.Map")(seed, "first", "key", seed).cast<Map<Any, Any>>();
  for (int i = 0; i < 60; i++) m.Set(String("a key on the heap " + std::to_string(i)), Array<int>{i, seed});
  SAME(m.size(), 62u);
  SAME(Global("ffi.MapGetItem")(m, "key").cast<int>(), seed);
  Map<Any, Any> copy = m;
  copy.erase("key");
  Dict<Any, Any> d;
  for (int i = 0; i < 40; i++) Global("ffi.DictSetItem")(d, i, String(std::string(i, 'v')));
  for (int i = 0; i < 20; i++) d.erase(i);
  SAME(Global("ffi.DictSize")(d).cast<int>(), 20);
  SAME(copy.size(), 61u);
  TVMFFIAny text;
  std::string bytes(seed % 40, 'b');
  TVMFFIByteArray array{bytes.data(), bytes.size()};
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIStringFromByteArray(&array, &text));
  SAME(detail::AnyUnsafe::MoveTVMFFIAnyToAny(&text).cast<std::string>(), bytes);
  SAME(DLDataTypeToString(StringToDLDataType("float16x4")), String("float16x4"));
}

static void Errors(int seed) {
  Function f = cpp_test::ThroughC(Function::FromTyped([](int x) { TVM_FFI_THROW(ValueError) << "number " << x; }));
  try {
    f(seed);
    CHECK(false);
  } catch (const Error& e) {
    SAME(e.message(), "number " + std::to_string(seed));
    CHECK(!e.backtrace().empty());
  }
  CHECK(cpp_test::Thrown([] { Global("ffi.ArrayGetItem")(Array<int>{}, 1); }) == "IndexError");
}

static void Registry(int seed) {
  std::string name = "cpp.stress." + std::to_string(seed);
  Function::SetGlobal(name, Function::FromTyped([seed] { return seed; }), true);
  SAME(Global(name.c_str())().cast<int>(), seed);
  CHECK(!Function::ListGlobalNames().empty());
  Function::RemoveGlobal(name);
  TVMFFIByteArray key{name.data(), name.size()};
  int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  SAME(TypeKeyToIndex(name), index);
  SAME(std::string(TVMFFIGetTypeInfo(index)->type_key.data), name);
}

static void Streams(int seed) {
  TVMFFIStreamHandle mine = reinterpret_cast<void*>(static_cast<intptr_t>(seed + 1)), old = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetStream(kDLCUDA, 0, mine, &old));
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == mine);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetStream(kDLCUDA, 0, old, nullptr));
  static void* once = nullptr;
  static std::atomic<int> made{0};
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIHandleInitOnce(&once, [](void** out) {
    made++;
    *out = &made;
    return 0;
  }));
  SAME(made.load(), 1);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  Function shared = cpp_test::ThroughC(Function::FromTyped([](ObjectRef x, int n) {
    Array<ObjectRef> held;
    for (int i = 0; i < n; i++) held.push_back(x);
    return held;
  }));
  ObjectPtr<NodeObj> node = make_object<NodeObj>();
  ObjectRef root(node);
  WeakObjectPtr<NodeObj> weak = node;
  Map<String, Any> table = Global("ffi.Map")("one", 1, "root", root).cast<Map<String, Any>>();
  for (int wave = 0; wave < 2; wave++) {  // threads start and end
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < rounds; i++) {
          int seed = (wave * 4 + t) * rounds + i;
          Values(seed);
          Errors(seed);
          Registry(seed);
          Streams(seed);
          SAME(shared(root, 3).cast<Array<ObjectRef>>().size(), 3u);
          CHECK(table.at("root").cast<ObjectRef>().same_as(root));
          CHECK(weak.lock() != nullptr);
        }
      });
    }
    for (std::thread& t : threads) t.join();
  }
  table = Map<String, Any>();
  root = ObjectRef();
  CHECK(node.unique() || node.use_count() == 1);
  node.reset();
  CHECK(weak.expired());
  if (cpp_test::failures == 0) std::cout << "ok" << std::endl;
  return cpp_test::failures != 0;
}
