// A library that registers global functions and a reflected class as it is loaded, and finds them
// again when it is called.
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

namespace ffi = tvm::ffi;

namespace {

class CounterObj : public ffi::Object {
 public:
  int64_t count;
  ffi::String name;

  CounterObj(int64_t count, ffi::String name) : count(count), name(name) {}
  int64_t Add(int64_t by) { return count += by; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tvmgo.test.Counter", CounterObj, ffi::Object);
};

class Counter : public ffi::ObjectRef {
 public:
  Counter(int64_t count, ffi::String name) {
    data_ = ffi::make_object<CounterObj>(count, name);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Counter, ffi::ObjectRef, CounterObj);
};

int64_t six_times(int64_t x) {
  return 2 * ffi::Function::GetGlobalRequired("tvmgo.test.triple")(x).cast<int64_t>();
}
Counter new_counter(int64_t n) { return Counter(n, "made by a kernel"); }
int64_t count_of(Counter c) { return c->count; }
ffi::String name_of(Counter c) { return c->name; }

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<CounterObj>()
      .def(refl::init<int64_t, ffi::String>())
      .def_rw("count", &CounterObj::count, "how many")
      .def_ro("name", &CounterObj::name)
      .def("add", &CounterObj::Add, "adds to the count");
  refl::GlobalDef()
      .def("tvmgo.test.triple", [](int64_t x) { return 3 * x; }, "three times as much")
      .def("tvmgo.test.counter", [](int64_t n, ffi::String name) { return Counter(n, name); })
      .def_method("tvmgo.test.counter_add", &CounterObj::Add);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(six_times, six_times);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(new_counter, new_counter);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(count_of, count_of);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(name_of, name_of);
