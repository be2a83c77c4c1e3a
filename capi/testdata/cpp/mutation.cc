// Structural maps and mutations, and the location of their errors: C++ code of the headers on types of the library.
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/visit_error_context.h>

#include "cpp_test.h"

using namespace tvm::ffi;

static Function Global(const char* name) { return Function::GetGlobalRequired(name); }

// Containers of C++, or the same made by the library.
static Any Tree(bool of_library) {
  Any tree = Array<Any>{1, Map<String, Any>{{"k", 2}, {"l", List<Any>{3, String("a text of some length")}}},
                        Dict<String, Any>{{"m", 4}}, String("another text of some length"),
                            Bytes("bytes of some length"), nullptr};
  return of_library ? Any(Global("ffi.DeepCopy")(tree)) : tree;
}

static String Text(const Any& v) { return Global("ffi.ReprPrint")(v).cast<String>(); }

static const char* const kTreeOfMore =
    R"((2, {"k": 3, "l": [4, "a text of some length"]}, {"m": 5}, "another text of some length", )"
      R"(b"bytes of some length", None))";

TEST(mutation, maps) {
  auto more = [](int64_t v) { return v + 1; };
  for (bool of_library : {false, true}) {
    Any root = Tree(of_library);
    String before = Text(root);
    Any mapped = StructuralMap<WalkOrder::kPostOrder>(root, more);
    SAME(Text(mapped), String(kTreeOfMore));
    CHECK(!mapped.same_as(root));
    SAME(Text(root), before);
    CHECK(StructuralMap<WalkOrder::kPreOrder>(root, [](double v) { return v; }).same_as(root));
    // A root that is moved in, and parts of it without other references, are changed in place.
    const Object* at = root.as<Object>();
    Any dict = root.cast<Array<Any>>()[2];
    mapped = StructuralMap<WalkOrder::kPreOrder>(std::move(root), more);
    SAME(Text(mapped), String(kTreeOfMore));
    CHECK(mapped.as<Object>() == at);
    SAME(Text(dict), String(R"({"m": 4})"));
    CHECK(!mapped.cast<Array<Any>>()[2].same_as(dict));
  }
  // The result is the same object, whatever changed inside it.
  Any root = Tree(true);
  int in_place = 0, unchanged = 0;
  Any mutated = StructuralMutate(
      std::move(root), [&](int64_t v, StructuralMutatorObj*) { return v + 1; },
      [&](AnyView v, StructuralMutatorObj* m, InplaceMode mode) -> Expected<Any> {
        Expected<UnchangedOr<Any>> result = m->DefaultMutateExpected(v, mode);
        if (result.is_err()) return Unexpected(std::move(result).error());
        UnchangedOr<Any> answer = std::move(result).value();
        in_place += mode == InplaceMode::kAllow;
        unchanged += answer.IsUnchanged();
        CHECK(mode == InplaceMode::kDisallow || answer.UnchangedOrSameAs(Any(v)));
        return std::move(answer).ValueOrUnchanged(v);
      });
  SAME(Text(mutated), String(kTreeOfMore));
  SAME(in_place, 7);  // containers, texts and bytes
  SAME(unchanged, 7);
}

// A C++ mutator checks the reference count of a part for other owners, so the library must not add a reference.
TEST(mutation, parts_are_held_by_their_owners_alone) {
  Array<Any> root{Map<String, Any>{{"k", List<Any>{2}}}}, shared = root;
  int alone = 0;
  Any mutated = StructuralMutate(
      root, [&](int64_t v, StructuralMutatorObj*) { return v + 1; },
      [&](AnyView v, StructuralMutatorObj* m, InplaceMode mode) -> Expected<Any> {
        if (const Object* part = v.as<Object>()) alone += part->unique();
        Expected<UnchangedOr<Any>> result = m->DefaultMutateExpected(v, mode);
        if (result.is_err()) return Unexpected(std::move(result).error());
        return std::move(result).value().ValueOrUnchanged(v);
      });
  SAME(alone, 2);
  SAME(Text(shared), String(R"(({"k": [2]},))"));
  SAME(Text(mutated), String(R"(({"k": [3]},))"));
}

class BoxObj : public Object {
 public:
  Any inside;
  BoxObj() = default;
  explicit BoxObj(Any inside) : inside(std::move(inside)) {}
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.mutation.Box", BoxObj, Object);
};
class Box : public ObjectRef {
 public:
  explicit Box(Any inside) : ObjectRef(make_object<BoxObj>(std::move(inside))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Box, ObjectRef, BoxObj);
};

class CountedObj : public BoxObj {  // a type with hooks
 public:
  using BoxObj::BoxObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.mutation.Counted", CountedObj, Object);
};
class Counted : public ObjectRef {
 public:
  explicit Counted(Any inside) : ObjectRef(make_object<CountedObj>(std::move(inside))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Counted, ObjectRef, CountedObj);
};

static int copied, reused;

static Expected<UnchangedOr<Any>> MutateCounted(StructuralMutatorObj* m, AnyView value) noexcept {
  const CountedObj* self = value.cast<const CountedObj*>();
  copied++;
  TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(UnchangedOr<Any>, inside, m->MutateExpected(self->inside));
  if (inside.UnchangedOrSameAs(self->inside)) return Unchanged();
  return Any(Counted(std::move(inside).ValueUnchecked()));
}

static Expected<UnchangedOr<Any>> ReuseCounted(StructuralMutatorObj* m, AnyView value) noexcept {
  CountedObj* self = const_cast<CountedObj*>(value.cast<const CountedObj*>());
  reused++;
  TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(UnchangedOr<Any>, inside, m->MutateExpected(self->inside, InplaceMode::kAllow));
  self->inside = std::move(inside).ValueOrUnchanged(std::move(self->inside));
  return Unchanged();
}

static void RegisterBoxes() {
  static bool done = [] {
    namespace refl = reflection;
    refl::ObjectDef<BoxObj>().def_rw("inside", &BoxObj::inside);
    refl::TypeAttrDef<CountedObj>()
        .attr(type_attr::kStructuralMutate, FStructuralMutate::FromNative<&MutateCounted>())
        .attr(type_attr::kStructuralMaybeInplaceMutate, FStructuralMutate::FromNative<&ReuseCounted>());
    return true;
  }();
  (void)done;
}

static Array<Any> Entry(int64_t type, Function f, Any mode = nullptr) {
  Array<Any> entry{type, std::move(f)};
  if (mode != nullptr) entry.push_back(mode);
  return Array<Any>{entry};
}

TEST(mutation, mutators_of_either_side) {
  RegisterBoxes();
  Function more = Function::FromTyped([](int64_t v) { return v + 1; });
  Any root = Array<Any>{Box(1), Counted(List<Any>{2})};
  Any mapped = Global("ffi.StructuralMap")(root, Entry(kTVMFFIInt, more), Array<Any>{}, 1);
  SAME(mapped.cast<Array<Any>>()[0].cast<Box>()->inside.cast<int>(), 2);
  SAME(mapped.cast<Array<Any>>()[1].cast<Counted>()->inside.cast<List<Any>>()[0].cast<int>(), 3);
  SAME(root.cast<Array<Any>>()[0].cast<Box>()->inside.cast<int>(), 1);
  SAME(copied, 1);
  // Moved in: the hook that reuses its object runs, and the List in it is kept.
  root = Any(nullptr);
  const Object* list = mapped.cast<Array<Any>>()[1].cast<Counted>()->inside.as<Object>();
  mapped = Global("ffi.StructuralMap")(RValueRef<Array<Any>>(std::exchange(mapped, Any()).cast<Array<Any>>()),
      Entry(kTVMFFIInt, more), Array<Any>{}, 0);
  SAME(copied + 10 * reused, 11);
  CHECK(mapped.cast<Array<Any>>()[1].cast<Counted>()->inside.as<Object>() == list);
  SAME(mapped.cast<Array<Any>>()[1].cast<Counted>()->inside.cast<List<Any>>()[0].cast<int>(), 4);
  // The library's mutator in a function of C++, and a mutator of C++ in the library's functions.
  Function own = Function::FromTyped([](const Any& value, const StructuralMutator& m, int64_t mode) -> Any {
    SAME(mode, 0);
    Any by_cpp = StructuralMutate(value, [&](int64_t v, StructuralMutatorObj* inner) -> Any {
      StructuralMutator ref = GetRef<StructuralMutator>(inner);
      SAME(Global("ffi.StructuralMutatorDefRegionKind")(ref).cast<int>(), kTVMFFIDefRegionKindNone);
      SAME(Global("ffi.StructuralMutatorMutate")(ref, String("kept")).cast<String>(), String("kept"));
      return v * 100;
    });
    return m->DefaultMutateExpected(by_cpp).value().ValueOrUnchanged(by_cpp);
  });
  Any kept = mapped;
  mapped = Global("ffi.StructuralMutate")(kept, Entry(kTVMFFIArray, own, true));
  SAME(mapped.cast<Array<Any>>()[0].cast<Box>()->inside.cast<int>(), 300);
  Function use = Function::FromTyped([](const Any& value, const StructuralMutator& m) -> Any {
    CHECK(m->VarRemapGetExpected(value).value() == nullptr);
    m->VarRemapSetExpected(value, 5).value();
    SAME(m->VarRemapGetExpected(value).value().cast<int>(), 5);
    THROWS("TypeError", "", m->VarRemapGetExpected(5).value());
    return m->WithDefRegionKind(kTVMFFIDefRegionKindSimple,
        [&] { return Any(static_cast<int>(m->def_region_kind())); });
  });
  mapped = Global("ffi.StructuralMutate")(kept, Entry(BoxObj::RuntimeTypeIndex(), use, false));
  SAME(mapped.cast<Array<Any>>()[0].cast<int>(), kTVMFFIDefRegionKindSimple);
}

TEST(mutation, where_it_failed) {
  RegisterBoxes();
  Box leaf(13), middle{Any(leaf)}, root(Array<Any>{1, middle, middle});
  auto stop = [](int64_t v) {
    if (v == 13) TVM_FFI_THROW(ValueError) << "thirteen";
  };
  struct {
    const char* name;
    Any last;  // of an entry
    std::vector<Any> rest;
    bool answers;
  } cases[] = {{"ffi.StructuralMap", nullptr, {Array<Any>{}, 1}, true},
               {"ffi.StructuralMutate", false, {}, true},
               {"ffi.StructuralWalk", nullptr, {Array<Any>{}, 0}, false},
               {"ffi.StructuralVisit", nullptr, {}, false}};
  auto check = [&](const Error& e) {
    auto context = VisitErrorContext::TryGetFromError(e);
    CHECK(context.has_value());
    if (!context) return;
    List<ObjectRef> way = context.value()->reverse_visit_pattern;
    SAME(way.size(), 4u);
    CHECK(way[0].same_as(leaf) && way[1].same_as(middle) && way[3].same_as(root));
    auto find = [&](bool prefix) {
      return Text(Global("ffi.VisitErrorContext.FindAccessPaths")(root, context.value(), prefix));
    };
    SAME(find(false), String("()"));  // an Array is passed through, but it is not part of a pattern
    SAME(find(true), String("(<root>.inside[1].inside, <root>.inside[2].inside)"));
    way.erase(way.begin() + 2);
    SAME(find(false), String("(<root>.inside[1].inside, <root>.inside[2].inside)"));
  };
  for (const auto& c : cases) {
    Function f = Function::FromPacked([&](PackedArgs args, Any* result) {
      stop(args[0].cast<int64_t>());
      if (c.answers) *result = args[0];
    });
    std::vector<Any> args{root, Entry(kTVMFFIInt, f, c.last)};
    args.insert(args.end(), c.rest.begin(), c.rest.end());
    std::vector<AnyView> views(args.begin(), args.end());
    Any result;
    try {
      Global(c.name).CallPacked(views.data(), static_cast<int32_t>(views.size()), &result);
      SAME(c.name, std::string("an error"));
    } catch (const Error& e) {
      SAME(e.kind(), std::string("ValueError"));
      check(e);
    }
  }
  // As C++ names them, with the library's objects below.
  auto mapped = StructuralMapExpected<WalkOrder::kPostOrder>(root, [&](int64_t v) { stop(v); return v; });
  CHECK(mapped.is_err());
  check(mapped.error());
  // The library adds to the context that C++ began, and keeps the earlier entries.
  Function thrower = Function::FromTyped([&](int64_t v) -> Any {
    if (v == 13) TVM_FFI_VISIT_THROW(ValueError, middle) << "thrown";
    return v;
  });
  auto thrown = Global("ffi.StructuralMap").CallExpected<Any>(leaf, Entry(kTVMFFIInt, thrower), Array<Any>{}, 0);
  CHECK(thrown.is_err());
  List<ObjectRef> way = VisitErrorContext::TryGetFromError(thrown.error()).value()->reverse_visit_pattern;
  SAME(way.size(), 2u);
  CHECK(way[0].same_as(middle) && way[1].same_as(leaf));
  Function carrying = Function::FromTyped([&](int64_t) -> Any {
    throw Error("ValueError", "carrying", "", std::nullopt, ObjectRef(middle));
  });
  auto carried = Global("ffi.StructuralMap").CallExpected<Any>(leaf, Entry(kTVMFFIInt, carrying), Array<Any>{}, 0);
  auto context = VisitErrorContext::TryGetFromError(carried.error());
  CHECK(context.has_value() && context.value()->prev_error_context.value().same_as(middle));
}
