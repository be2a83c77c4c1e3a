// Objects: types derived from types, instances, pointers strong and weak, storage behind an object.
#include <thread>

#include "cpp_test.h"

using namespace tvm::ffi;

static int alive = 0;

class ShapelyObj : public Object {
 public:
  ShapelyObj() { alive++; }
  ShapelyObj(const ShapelyObj& other) : Object(other), sides(other.sides) { alive++; }
  ~ShapelyObj() { alive--; }
  int64_t sides = 0;
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 3;
  TVM_FFI_DECLARE_OBJECT_INFO("cpp.objects.Shapely", ShapelyObj, Object);
};
class SquareObj : public ShapelyObj {
 public:
  double edge = 1;
  static constexpr uint32_t _type_child_slots = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("cpp.objects.Square", SquareObj, ShapelyObj);
};
class TriangleObj : public ShapelyObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.objects.Triangle", TriangleObj, ShapelyObj);
};
class CubeObj : public SquareObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.objects.Cube", CubeObj, SquareObj);
};
class FarObj : public ShapelyObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.objects.OutOfSlots1", FarObj, ShapelyObj);
};
class FartherObj : public ShapelyObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.objects.OutOfSlots2", FartherObj, ShapelyObj);
};
class UnrelatedObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.objects.Unrelated", UnrelatedObj, Object);
};
class Shapely : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Shapely, ObjectRef, ShapelyObj);
};
class Square : public Shapely {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Square, Shapely, SquareObj);
};

TEST(objects, type_tree) {
  int32_t base = ShapelyObj::RuntimeTypeIndex();
  CHECK(base >= kTVMFFIDynObjectBegin);
  std::vector<int32_t> all = {base, SquareObj::RuntimeTypeIndex(), TriangleObj::RuntimeTypeIndex(),
                              CubeObj::RuntimeTypeIndex(), FarObj::RuntimeTypeIndex(),
                              FartherObj::RuntimeTypeIndex(), UnrelatedObj::RuntimeTypeIndex()};
  std::sort(all.begin(), all.end());
  CHECK(std::unique(all.begin(), all.end()) == all.end());
  SAME(TypeKeyToIndex("cpp.objects.Cube"), CubeObj::RuntimeTypeIndex());
  SAME(Object::TypeIndex2Key(base), "cpp.objects.Shapely");
  const TVMFFITypeInfo* cube = TVMFFIGetTypeInfo(CubeObj::RuntimeTypeIndex());
  SAME(cube->type_depth, 3);
  SAME(cube->type_ancestors[0]->type_index, static_cast<int>(kTVMFFIObject));
  SAME(cube->type_ancestors[1]->type_index, base);
  SAME(cube->type_ancestors[2]->type_index, SquareObj::RuntimeTypeIndex());
  ObjectRef c(make_object<CubeObj>()), far(make_object<FarObj>()), farther(make_object<FartherObj>());
  for (const ObjectRef& x : {c, far, farther}) {
    CHECK(x->IsInstance<ShapelyObj>() && x->IsInstance<Object>());
    CHECK(!x->IsInstance<UnrelatedObj>() && !x->IsInstance<TriangleObj>());
  }
  CHECK(c->IsInstance<SquareObj>() && !far->IsInstance<SquareObj>());
  SAME(c->GetTypeKey(), "cpp.objects.Cube");
  CHECK(c.as<SquareObj>() != nullptr && c.as<TriangleObj>() == nullptr);
  CHECK(c.as<Square>().has_value() && !far.as<Square>().has_value());
  THROWS("TypeError", "cpp.objects.Square", Any(far).cast<Square>());
}

TEST(objects, static_types) {
  struct {
    int32_t index;
    const char* key;
  } known[] = {{kTVMFFINone, "None"}, {kTVMFFIObject, "ffi.Object"}, {kTVMFFIStr, "ffi.String"},
               {kTVMFFIBytes, "ffi.Bytes"}, {kTVMFFIError, "ffi.Error"}, {kTVMFFIFunction, "ffi.Function"},
               {kTVMFFIShape, "ffi.Shape"}, {kTVMFFITensor, "ffi.Tensor"}, {kTVMFFIArray, "ffi.Array"},
               {kTVMFFIMap, "ffi.Map"}, {kTVMFFIModule, "ffi.Module"}, {kTVMFFIList, "ffi.List"},
               {kTVMFFIDict, "ffi.Dict"}, {kTVMFFIBigInt, "ffi.BigInt"}};
  for (const auto& k : known) {
    SAME(Object::TypeIndex2Key(k.index), k.key);
    SAME(TypeKeyToIndex(k.key), k.index);
  }
  std::string message;
  CHECK(cpp_test::Thrown([] { TypeKeyToIndex("cpp.objects.NoSuchType"); }, &message) != "");
  CHECK(message.find("cpp.objects.NoSuchType") != std::string::npos);
}

static int32_t Allocate(const std::string& key, int32_t fixed, int32_t depth, int32_t slots, int32_t overflow,
                        int32_t parent) {
  TVMFFIByteArray k{key.data(), key.size()};
  return TVMFFITypeGetOrAllocIndex(&k, fixed, depth, slots, overflow, parent);
}

TEST(objects, conflicting_types) {
  int32_t first = Allocate("cpp.objects.Made", -1, 1, 0, 0, kTVMFFIObject);
  CHECK(first >= kTVMFFIDynObjectBegin);
  SAME(Allocate("cpp.objects.Made", -1, 1, 0, 0, kTVMFFIObject), first);
  SAME(Allocate("cpp.objects.NotMade", -1, 1, 0, 0, -2), -2);
  auto refused = [](int32_t index, const char* text) {
    SAME(index, -1);
    TVMFFIObjectHandle raised = nullptr;
    TVMFFIErrorMoveFromRaised(&raised);
    CHECK(raised != nullptr);
    if (raised == nullptr) return;
    Error e = detail::ObjectUnsafe::ObjectRefFromObjectPtr<Error>(
        detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(raised)));
    CHECK(e.message().find(text) != std::string::npos);
  };
  refused(Allocate("cpp.objects.Child", -1, 2, 0, 0, first), "cpp.objects.Child");  // no slots, overflow forbidden
  refused(Allocate("cpp.objects.Thief", kTVMFFIMap, 1, 0, 0, kTVMFFIObject), "cpp.objects.Thief");
  refused(Allocate("cpp.objects.Orphan", -1, 2, 0, 0, 1 << 20), "cpp.objects.Orphan");
  TVMFFITypeMetadata metadata{};
  metadata.total_size = 24;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMetadata(first, &metadata));
  CHECK(cpp_test::Thrown([&] { TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMetadata(first, &metadata)); }) != "");
  CHECK(cpp_test::Thrown([&] { TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMetadata(1 << 20, &metadata)); }) != "");
}

TEST(objects, many_types) {
  int32_t before = 0;
  for (int i = 0; i < 500; i++) {
    int32_t index = Allocate("cpp.objects.Many" + std::to_string(i), -1, 1, 2, 1, kTVMFFIObject);
    CHECK(index > before);
    before = index;
    SAME(Allocate("cpp.objects.Many" + std::to_string(i) + ".a", -1, 2, 0, 0, index), index + 1);
  }
  SAME(TypeKeyToIndex("cpp.objects.Many499"), before);
}

TEST(objects, pointers) {
  SAME(alive, 0);
  {
    ObjectPtr<SquareObj> p = make_object<SquareObj>();
    SAME(alive, 1);
    SAME(p.use_count(), 1);
    ObjectPtr<ShapelyObj> up = p;
    SAME(p.use_count(), 2);
    ObjectPtr<ShapelyObj> moved = std::move(up);
    CHECK(up == nullptr && moved == p);
    SAME(p.use_count(), 2);
    ObjectPtr<ShapelyObj> other = make_object<TriangleObj>();
    other.swap(moved);
    CHECK(other == p && moved != p);
    moved = other;
    SAME(alive, 1);
    SAME(p.use_count(), 3);
    moved.reset();
    other = nullptr;
    CHECK(p.unique());
    Shapely ref(p);
    ref->sides = 4;
    SAME(p->sides, 4);
    Shapely alias = GetRef<Shapely>(p.get());
    CHECK(alias.same_as(ref) && ObjectPtrEqual()(alias, ref));
    SAME(ObjectPtrHash()(alias), ObjectPtrHash()(ref));
    ObjectPtr<Object> again = GetObjectPtr<Object>(p.get());
    SAME(p.use_count(), 4);
    Shapely empty;
    CHECK(!empty.defined() && alias.defined());
    CHECK(!ref.unique());
  }
  SAME(alive, 0);
  Arc<SquareObj> arc = make_arc<SquareObj>();
  Arc<ShapelyObj> arc2 = arc;
  SAME(arc.use_count(), 2);
}

TEST(objects, weak_pointers) {
  WeakObjectPtr<ShapelyObj> weak;
  CHECK(weak.expired() && weak.lock() == nullptr);
  int before = alive;
  {
    ObjectPtr<SquareObj> strong = make_object<SquareObj>();
    weak = WeakObjectPtr<SquareObj>(strong);
    WeakObjectPtr<ShapelyObj> second = weak;
    SAME(strong.use_count(), 1);
    SAME(alive, before + 1);
    CHECK(weak.lock() == strong);
  }
  SAME(alive, before);
  CHECK(weak.expired());
  CHECK(weak.lock() == nullptr);
  weak.reset();
  // An object of the library: the storage outlives the last strong reference until the weak one is dropped.
  WeakObjectPtr<Object> array;
  {
    Any a = Function::GetGlobalRequired("ffi.Array")(1, "a longer text than seven");
    array = WeakObjectPtr<Object>(GetObjectPtr<Object>(const_cast<Object*>(a.cast<ObjectRef>().get())));
    CHECK(!array.expired());
  }
  CHECK(array.expired() && array.lock() == nullptr);
  // Promotion and the last release at the same time.
  for (int i = 0; i < 200; i++) {
    ObjectPtr<ShapelyObj> strong = make_object<ShapelyObj>();
    WeakObjectPtr<ShapelyObj> w = strong;
    std::thread t([w] {
      if (ObjectPtr<ShapelyObj> p = w.lock()) p->sides++;
    });
    strong.reset();
    t.join();
  }
  SAME(alive, before);
}

class TailObj : public Object {
 public:
  explicit TailObj(size_t n) : count(n) {}
  ~TailObj() {
    for (size_t i = 0; i < count; i++) begin()[i].~String();
  }
  String* begin() { return reinterpret_cast<String*>(this + 1); }
  size_t count;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.objects.Tail", TailObj, Object);
};

TEST(objects, elements_behind_the_object) {
  for (size_t n : {0, 1, 7, 1000}) {
    ObjectPtr<TailObj> tail = make_inplace_array_object<TailObj, String>(n, n);
    for (size_t i = 0; i < n; i++) new (tail->begin() + i) String(std::string(i % 20, 'x'));
    ObjectRef ref(tail);
    Array<ObjectRef> held{ref, ref};
    SAME(tail.use_count(), 4);
    for (size_t i = 0; i < n; i++) SAME(tail->begin()[i].size(), i % 20);
  }
  struct alignas(64) Wide {
    char bytes[64];
  };
  class WideObj : public Object {
   public:
    Wide value;
  };
  CHECK(reinterpret_cast<uintptr_t>(&make_object<WideObj>()->value) % 64 == 0);
}

TEST(objects, opaque) {
  static int freed = 0;
  TVMFFIObjectHandle out;
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFIObjectCreateOpaque(&freed, kTVMFFIOpaquePyObject, [](void* p) { ++*static_cast<int*>(p); }, &out));
  CHECK(TVMFFIOpaqueObjectGetCellPtr(out)->handle == &freed);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIObjectIncRef(out));
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIObjectDecRef(out));
  SAME(freed, 0);
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIObjectDecRef(out));
  SAME(freed, 1);
  CHECK(TVMFFIObjectCreateOpaque(&freed, kTVMFFIMap, nullptr, &out) != 0);
  detail::MoveFromSafeCallRaised();
}
