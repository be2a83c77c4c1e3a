// Structural keys, access paths, enumerations and visits: C++ code of the headers on types of the library.
#include <tvm/ffi/enum.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/enum_def.h>

#include "cpp_test.h"

using namespace tvm::ffi;

static Function Global(const char* name) { return Function::GetGlobalRequired(name); }

TEST(structure, keys_in_maps) {
  auto key = [](int n) { return Global("ffi.StructuralKey")(Array<Any>{n, String("text"), Array<int>{n}}); };
  Map<Any, int> m;
  for (int i = 0; i < 100; i++) m.Set(key(i), i);
  SAME(m.size(), 100u);
  for (int i = 0; i < 100; i++) SAME(m.at(key(i)), i);
  SAME(m.count(key(100)), 0u);
  SAME(Global("ffi.MapGetItem")(m, key(42)).cast<int>(), 42);
}

TEST(structure, access_paths) {
  using reflection::AccessPath;
  AccessPath path = AccessPath::Root()->Attr("a_long_field")->ArrayItem(3)->MapItem(String("key"));
  SAME(Global("ffi.ReprPrint")(path).cast<String>(), String("<root>.a_long_field[3][\"key\"]"));
  auto pair = Global("ffi.GetFirstStructuralMismatch")(Array<Any>{1, Array<int>{1, 2}},
                                                       Array<Any>{1, Array<int>{1, 3}}, false, false)
                  .cast<Array<AccessPath>>();
  SAME(pair.size(), 2u);
  CHECK(pair[0]->PathEqual(AccessPath::Root()->ArrayItem(1)->ArrayItem(1)));
  CHECK(AccessPath::Root()->ArrayItem(1)->IsPrefixOf(pair[1]));
  SAME(pair[0]->ToSteps().size(), 2u);
}

class ShadeObj : public IntEnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO("cpp.Shade", ShadeObj, IntEnumObj);
};

TEST(structure, enumerations) {
  reflection::EnumDef<ShadeObj>("dark", 1).set_attr("weight", 10);
  reflection::EnumDef<ShadeObj>("light", 5);
  CHECK(reflection::EnumDef<ShadeObj>::IsDefined("light"));
  Enum light = EnumObj::_GetByIntIndex<ShadeObj>(5);
  CHECK(light.same_as(EnumObj::_GetByStrIndex<ShadeObj>("light")));
  SAME(Global("ffi.ReprPrint")(light).cast<String>(), String("cpp.Shade.light"));
  CHECK(Global("ffi.DeepCopy")(Array<Any>{light}).cast<Array<Any>>()[0].cast<Enum>().same_as(light));
  String text = Global("ffi.ToJSONGraphString")(light, nullptr).cast<String>();
  CHECK(Global("ffi.FromJSONGraphString")(text).cast<Enum>().same_as(light));
}

TEST(structure, visits) {
  Any root = Array<Any>{1, Map<String, Any>{{"k", 2}, {"l", List<Any>{3, String("text")}}}, Dict<String,
      Any>{{"m", 4}}};
  for (bool made_again : {false, true}) {
    int64_t sum = 0;
    int lists = 0;
    StructuralWalk<WalkOrder::kPostOrder>(
        root, [&](int64_t v) { sum += v; return WalkResult::Advance(); },
        [&](List<Any>) { lists++; return WalkResult::Advance(); });
    SAME(sum, 10);
    SAME(lists, 1);
    if (!made_again) root = Global("ffi.DeepCopy")(root);
  }
  auto stop = StructuralWalk<WalkOrder::kPreOrder>(root, [&](int64_t v) {
    return v == 3 ? WalkResult::Interrupt(VisitInterrupt(v)) : WalkResult::Advance();
  });
  CHECK(stop.has_value());
  if (stop) SAME((*stop)->value.cast<int>(), 3);
  // A visitor of the library called from a C++ function, and the reverse.
  Function count = Function::FromTyped([](const Any& value, const StructuralVisitor& visitor) {
    int found = 0;
    auto inner = StructuralVisit(value, [&](String, StructuralVisitorObj*) -> Optional<VisitInterrupt> {
      found++;
      return std::nullopt;
    });
    CHECK(!inner.has_value());
    if (found == 1) SAME(visitor->def_region_kind(), kTVMFFIDefRegionKindNone);
    return visitor->DefaultVisitExpected(value).value();
  });
  Array<Any> entries{Array<Any>{int64_t{-1}, count}};
  CHECK(Global("ffi.StructuralVisit")(root, entries) == nullptr);
  THROWS("ValueError", "here", Global("ffi.StructuralVisit")(root, Array<Any>{Array<Any>{
      int64_t{kTVMFFIInt}, Function::FromTyped([](int64_t, const StructuralVisitor&) -> Any { TVM_FFI_THROW(ValueError)
          << "here"; })}}));
}
