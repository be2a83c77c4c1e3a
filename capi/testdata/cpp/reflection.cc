// Reflection: fields, methods, defaults, attributes and creation of types defined in C++.
#include <tvm/ffi/container/dict.h>

#include "cpp_test.h"

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class PointObj : public Object {
 public:
  int64_t x = 0;
  double weight = 0;
  String label;
  Array<int> tags;
  Any extra;
  PointObj() = default;
  PointObj(int64_t x, String label) : x(x), label(std::move(label)) {}
  int64_t Scaled(int64_t by) const { return x * by; }
  void Move(int64_t by) { x += by; }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("cpp.reflection.Point", PointObj, Object);
};
class Point : public ObjectRef {
 public:
  Point(int64_t x, String label) { data_ = make_object<PointObj>(x, std::move(label)); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Point, ObjectRef, PointObj);
};
class Point3Obj : public PointObj {
 public:
  int64_t z = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.reflection.Point3", Point3Obj, PointObj);
};
class NoDefaultObj : public Object {
 public:
  explicit NoDefaultObj(int) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.reflection.NoDefault", NoDefaultObj, Object);
};

// Object is the second base, so that the fields of the first base precede it.
struct Polymorphic {
  virtual ~Polymorphic() = default;
  int64_t before = 3;
};
class BehindObj : public Polymorphic, public Object {
 public:
  int64_t after = 4;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.reflection.Behind", BehindObj, Object);
};

static void Define() {
  static bool done = false;
  if (done) return;
  done = true;
  refl::ObjectDef<PointObj>("a point")
      .def(refl::init<int64_t, String>(), "makes one")
      .def_rw("x", &PointObj::x, "where", refl::AttachFieldFlag::SEqHashIgnore())
      .def_ro("weight", &PointObj::weight, refl::default_value(2.5), refl::repr(false))
      .def_rw("label", &PointObj::label, refl::DefaultValue(String("a default of some length")))
      .def_rw("tags", &PointObj::tags, refl::DefaultFactory(Function::FromTyped([] { return Array<int>{1, 2}; })))
      .def_rw("extra", &PointObj::extra, refl::default_value(nullptr), refl::kw_only(true),
          refl::Metadata{{"unit", "mm"}})
      .def("scaled", &PointObj::Scaled, "x times by")
      .def("move", &PointObj::Move)
      .def("describe", [](const Point& p, String suffix) { return p->label + suffix; })
      .def_static("origin", [] { return Point(0, "origin"); })
      .def_type_attr("cpp.priority", 7)
      .def_type_attr("cpp.name_of", [](const PointObj* p) { return p->label; });
  refl::ObjectDef<Point3Obj>(refl::init(false)).def_rw("z", &Point3Obj::z, refl::default_value(9));
  refl::ObjectDef<NoDefaultObj>();
  refl::ObjectDef<BehindObj>(refl::init(false)).def_ro("before", &BehindObj::before).def_ro("after", &BehindObj::after);
}

TEST(reflection, type_info) {
  Define();
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(PointObj::RuntimeTypeIndex());
  SAME(info->num_fields, 5);
  SAME(std::string(info->metadata->doc.data, info->metadata->doc.size), "a point");
  SAME(info->metadata->total_size, sizeof(PointObj));
  CHECK(info->metadata->creator != nullptr);
  const TVMFFIFieldInfo* x = refl::GetFieldInfo("cpp.reflection.Point", "x");
  SAME(std::string(x->doc.data, x->doc.size), "where");
  Point p(1, "");
  SAME(x->offset, reinterpret_cast<const char*>(&p->x) - reinterpret_cast<const char*>(p.get()));
  SAME(x->size + x->alignment, 16);
  SAME(x->field_static_type_index, static_cast<int>(kTVMFFIInt));
  CHECK((x->flags & kTVMFFIFieldFlagBitMaskWritable) != 0);
  CHECK((x->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0);
  CHECK(std::string(x->metadata.data, x->metadata.size).find("type_schema") != std::string::npos);
  const TVMFFIFieldInfo* weight = refl::GetFieldInfo("cpp.reflection.Point", "weight");
  CHECK((weight->flags & kTVMFFIFieldFlagBitMaskWritable) == 0);
  CHECK((weight->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0);
  const TVMFFIFieldInfo* extra = refl::GetFieldInfo("cpp.reflection.Point", "extra");
  CHECK(std::string(extra->metadata.data, extra->metadata.size).find("\"unit\":\"mm\"") != std::string::npos);
  CHECK((extra->flags & kTVMFFIFieldFlagBitMaskKwOnly) != 0);
  const TVMFFIMethodInfo* origin = refl::GetMethodInfo("cpp.reflection.Point", "origin");
  CHECK((origin->flags & kTVMFFIFieldFlagBitMaskIsStaticMethod) != 0);
  THROWS("RuntimeError", "nothing", refl::GetFieldInfo("cpp.reflection.Point", "nothing"));
  THROWS("RuntimeError", "nothing", refl::GetMethodInfo("cpp.reflection.Point", "nothing"));
  SAME(TVMFFIGetTypeInfo(Point3Obj::RuntimeTypeIndex())->num_fields, 1);
  std::string names;
  refl::ForEachFieldInfo(TVMFFIGetTypeInfo(Point3Obj::RuntimeTypeIndex()), [&](const TVMFFIFieldInfo* f) {
    names += std::string(f->name.data, f->name.size) + " ";
  });
  SAME(names, "x weight label tags extra z ");
}

TEST(reflection, fields) {
  Define();
  Point p(3, "here");
  refl::FieldGetter get_x("cpp.reflection.Point", "x"), get_label("cpp.reflection.Point", "label");
  refl::FieldSetter set_x("cpp.reflection.Point", "x"), set_label("cpp.reflection.Point", "label"),
      set_tags("cpp.reflection.Point", "tags"), set_extra("cpp.reflection.Point", "extra");
  SAME(get_x(p).cast<int>(), 3);
  SAME(get_label(p).cast<String>(), String("here"));
  set_x(p, 10);
  set_label(p, "somewhere else entirely");
  SAME(p->x, 10);
  SAME(p->label, String("somewhere else entirely"));
  Array<int> tags{5};
  set_tags(p, tags);
  CHECK(p->tags.same_as(tags));
  set_extra(p, tags);
  SAME(tags.use_count(), 3);
  set_extra(p, nullptr);
  set_tags(p, Array<int>());
  SAME(tags.use_count(), 1);
  THROWS("TypeError", "int", set_x(p, "text"));
  THROWS("TypeError", "Array<int>", set_tags(p, Array<Any>{"a"}));
  SAME(p->x, 10);
  refl::SetFieldToDefault(refl::GetFieldInfo("cpp.reflection.Point", "label"), &p->label);
  refl::SetFieldToDefault(refl::GetFieldInfo("cpp.reflection.Point", "tags"), &p->tags);
  SAME(p->label, String("a default of some length"));
  SAME(p->tags.size(), 2u);
}

TEST(reflection, methods) {
  Define();
  Point p = refl::GetMethod("cpp.reflection.Point", "__ffi_init__")(4, "made").cast<Point>();
  SAME(p->x, 4);
  Function scaled = cpp_test::ThroughC(refl::GetMethod("cpp.reflection.Point", "scaled"));
  SAME(scaled(p, 5).cast<int>(), 20);
  refl::GetMethod("cpp.reflection.Point", "move")(p, 1);
  SAME(p->x, 5);
  SAME(refl::GetMethod("cpp.reflection.Point", "describe")(p, "!").cast<String>(), String("made!"));
  SAME(refl::GetMethod("cpp.reflection.Point", "origin")().cast<Point>()->label, String("origin"));
  Point deeper(make_object<Point3Obj>());
  deeper->x = 2;
  SAME(scaled(deeper, 3).cast<int>(), 6);
  THROWS("TypeError", "cpp.reflection.Point", scaled(Shape{1}, 3));
  THROWS("TypeError", "#1", scaled(p, "x"));
}

TEST(reflection, creation) {
  Define();
  refl::ObjectCreator create("cpp.reflection.Point");
  Point p = create(Map<String, Any>{{"x", 1}}).cast<Point>();
  SAME(p->x, 1);
  SAME(p->weight, 2.5);
  SAME(p->label, String("a default of some length"));
  SAME(p->tags.size(), 2u);
  CHECK(p->extra == nullptr);
  THROWS("TypeError", "Required field `x`", create(Map<String, Any>{}));
  THROWS("TypeError", "nonsense", create(Map<String, Any>{{"x", 1}, {"nonsense", 2}}));
  THROWS("TypeError", "", create(Map<String, Any>{{"x", "text"}}));
  Any deep = refl::ObjectCreator("cpp.reflection.Point3")(Map<String, Any>{{"x", 1}, {"weight", 3}});
  SAME(static_cast<const Point3Obj*>(deep.cast<Point>().get())->z, 9);
  SAME(deep.cast<Point>()->weight, 3.0);
  THROWS("RuntimeError", "cpp.reflection.NoDefault", refl::ObjectCreator("cpp.reflection.NoDefault"));
}

TEST(reflection, attributes) {
  Define();
  int32_t point = PointObj::RuntimeTypeIndex();
  refl::TypeAttrColumn priority("cpp.priority"), name_of("cpp.name_of"), copy("__ffi_shallow_copy__");
  SAME(priority[point].cast<int>(), 7);
  CHECK(priority[Point3Obj::RuntimeTypeIndex()] == nullptr);
  CHECK(priority[kTVMFFIMap] == nullptr && priority[1 << 20] == nullptr);
  Point p(1, "attribute");
  SAME(name_of[point].cast<Function>()(p).cast<String>(), String("attribute"));
  Point twin = copy[point].cast<Function>()(p).cast<Point>();
  CHECK(!twin.same_as(p));
  SAME(twin->label, p->label);
  THROWS("RuntimeError", "cpp.no_such_column", refl::TypeAttrColumn("cpp.no_such_column"));
  refl::EnsureTypeAttrColumn("cpp.empty_column");
  CHECK(refl::TypeAttrColumn("cpp.empty_column")[point] == nullptr);
  refl::TypeAttrDef<PointObj>().def("cpp.later", String("a value added afterwards"));
  SAME(refl::TypeAttrColumn("cpp.later")[point].cast<String>(), String("a value added afterwards"));
  CHECK(cpp_test::Thrown([] { refl::TypeAttrDef<PointObj>().def("cpp.later", 1); }) != "");
  CHECK(cpp_test::Thrown([] { refl::ObjectDef<PointObj>().def_rw("x", &PointObj::x); }) != "");
}

TEST(reflection, fields_in_front_of_the_object) {
  Define();
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(BehindObj::RuntimeTypeIndex());
  SAME(info->num_fields, 2);
  CHECK(info->fields[0].offset < 0 && info->fields[1].offset > 0);
  ObjectRef behind(make_object<BehindObj>());
  SAME(refl::FieldGetter("cpp.reflection.Behind", "before")(behind.get()).cast<int64_t>(), 3);
  SAME(refl::FieldGetter("cpp.reflection.Behind", "after")(behind.get()).cast<int64_t>(), 4);
  String shown = Function::GetGlobalRequired("ffi.ReprPrint")(behind).cast<String>();
  SAME(shown, String("cpp.reflection.Behind(before=3, after=4)"));
}

// Headers look these up once and cache the result, so they exist before any type fills them.
TEST(reflection, attribute_columns_exist) {
  for (const char* name : {"__ffi_new__", "__ffi_init__", "__ffi_convert__", "__ffi_shallow_copy__",
                           "__ffi_type_final__", "__ffi_repr__", "__ffi_hash__", "__ffi_eq__", "__ffi_compare__",
                           "__ffi_enum__", "__any_hash__", "__any_equal__", "__s_equal__", "__s_hash__", "__s_visit__",
                           "__s_mutate__", "__s_maybe_inplace_mutate__", "__data_to_json__", "__data_from_json__"}) {
    TVMFFIByteArray text{name, strlen(name)};
    if (TVMFFIGetTypeAttrColumn(&text) == nullptr) SAME(name, std::string("a column"));
  }
}

TEST(reflection, types_without_subtypes) {
  refl::TypeAttrColumn final_types("__ffi_type_final__");
  for (int32_t type : {kTVMFFIModule, kTVMFFIVisitInterrupt, kTVMFFIBigInt}) CHECK(final_types[type].cast<bool>());
}

// A key type with its own hash and equality, in maps of either side.
class NameObj : public Object {
 public:
  String text;
  explicit NameObj(String text) : text(std::move(text)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.reflection.Name", NameObj, Object);
};

TEST(reflection, keys_that_hash_themselves) {
  refl::TypeAttrDef<NameObj>()
      .def("__any_hash__", [](const Any& x) { return static_cast<int64_t>(x.cast<const NameObj*>()->text.size()); })
      .def("__any_equal__", [](const Any& a, const Any& b) {
        return a.cast<const NameObj*>()->text == b.cast<const NameObj*>()->text;
      });
  auto name = [](const char* s) { return ObjectRef(make_object<NameObj>(s)); };
  for (int n : {2, 50}) {
    Map<Any, int> m;
    for (int i = 0; i < n; i++) m.Set(name(std::to_string(i).c_str()), i);
    SAME(m.at(name("1")), 1);
    SAME(Function::GetGlobalRequired("ffi.MapGetItem")(m, name("1")).cast<int>(), 1);
    SAME(Function::GetGlobalRequired("ffi.MapCount")(m, name("99")).cast<int>(), 0);
    Any theirs = Function::GetGlobalRequired("ffi.Map")(name("a"), 1, name("a"), 2, name("b"), 3);
    SAME((theirs.cast<Map<Any, int>>().size()), 2u);
    SAME((theirs.cast<Map<Any, int>>().at(name("a"))), 2);
  }
}

class SuitObj : public EnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("cpp.reflection.Suit", SuitObj, EnumObj);
};

TEST(reflection, enums) {
  refl::EnumDef<SuitObj>("hearts").set_attr("colour", String("red"));
  refl::EnumDef<SuitObj>("spades").set_attr("colour", String("black"));
  Enum spades = EnumObj::_GetByStrIndex<SuitObj>("spades");
  SAME(spades->_int_index, 1);
  CHECK(EnumObj::_GetByIntIndex<SuitObj>(1).same_as(spades));
  CHECK(refl::EnumDef<SuitObj>::IsDefined("hearts"));
  CHECK(cpp_test::Thrown([] { refl::EnumDef<SuitObj>("hearts"); }) == "ValueError");
  CHECK(cpp_test::Thrown([] { EnumObj::_GetByStrIndex<SuitObj>("clubs"); }) == "ValueError");
}
