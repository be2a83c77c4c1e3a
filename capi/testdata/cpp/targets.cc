// Targets: objects of the library, read by the reflection of the headers and by a class that has their layout.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/accessor.h>

#include "cpp_test.h"

using namespace tvm::ffi;

static Function Global(const char* name) { return Function::GetGlobalRequired(name); }

static bool StructuralEqual(ObjectRef a, ObjectRef b) {
  return Global("ffi.StructuralEqual")(a, b, false, false).cast<bool>();
}
static int64_t StructuralHash(ObjectRef a) { return Global("ffi.StructuralHash")(a, false, false).cast<int64_t>(); }

// The classes as in the headers of TVM.
class KindObj : public Object {
 public:
  String name;
  int default_device_type;
  Array<String> default_keys;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("target.TargetKind", KindObj, Object);
};
class Kind : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Kind, ObjectRef, KindObj);
};
class TargetObj : public Object {
 public:
  Kind kind;
  Optional<ObjectRef> host;
  String tag;
  Array<String> keys;
  Map<String, Any> attrs;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("target.Target", TargetObj, Object);
};
class Target : public ObjectRef {
 public:
  explicit Target(Any config) : ObjectRef(Global("target.Target")(config).cast<ObjectRef>()) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Target, ObjectRef, TargetObj);
};

TEST(targets, by_layout) {
  Target host(String("llvm -mcpu=core2"));
  Target t(Map<String, Any>{{"kind", "cuda"},
                            {"arch", "sm_90"},
                            {"libs", Array<String>{"cudnn"}},
                            {"host", host},
                            {"max_num_threads", 512}});
  SAME(t->kind->name, String("cuda"));
  SAME(t->kind->default_device_type, 2);
  SAME(t->kind->default_keys.size(), 2u);
  CHECK(t->kind.same_as(Target(String("cuda -arch=sm_80"))->kind));
  SAME(t->tag, String(""));
  SAME(t->keys.size(), 2u);
  SAME(t->keys[1], String("gpu"));
  SAME(t->attrs["arch"].cast<String>(), String("sm_90"));
  SAME(t->attrs["libs"].cast<Array<String>>()[0], String("cudnn"));
  SAME(t->attrs["max_num_threads"].cast<int>(), 512);
  SAME(t->attrs.count("host"), 0u);
  SAME(t->host.value().as<TargetObj>()->kind->name, String("llvm"));
  CHECK(!host->host.has_value());
}

TEST(targets, by_reflection) {
  Target t(String("nvidia/nvidia-h100"));
  SAME(reflection::FieldGetter("target.Target", "tag")(t).cast<String>(), t->tag);
  CHECK(reflection::FieldGetter("target.Target", "kind")(t).cast<ObjectRef>().same_as(t->kind));
  SAME(reflection::FieldGetter("target.Target", "keys")(t).cast<Array<String>>().size(), 2u);
  Map<String, Any> attrs = reflection::FieldGetter("target.Target", "attrs")(t).cast<Map<String, Any>>();
  CHECK(attrs.same_as(t->attrs) && attrs.count("arch") == 1);
  CHECK(reflection::FieldGetter("target.Target", "host")(t) == nullptr);
  SAME(reflection::FieldGetter("target.TargetKind", "name")(t->kind).cast<String>(), String("cuda"));
  SAME(reflection::FieldGetter("target.TargetKind", "default_device_type")(t->kind).cast<int>(), 2);
  SAME(reflection::FieldGetter("target.TargetKind", "default_keys")(t->kind).cast<Array<String>>().size(), 2u);
}

TEST(targets, by_structure) {
  Target a(String("cuda -arch=sm_90")), b(Map<String, Any>{{"id", "cuda"}, {"arch", "sm_90"}}),
      c(String("cuda -arch=sm_80"));
  CHECK(!a.same_as(b));
  CHECK(StructuralEqual(a, b));
  CHECK(!StructuralEqual(a, c));
  SAME(StructuralHash(a), StructuralHash(b));
  CHECK(StructuralHash(a) != StructuralHash(c));
  SAME(Global("ffi.ReprPrint")(a).cast<String>(), Global("target.TargetAsJSON")(a).cast<String>());
  SAME(Global("ffi.ReprPrint")(a->kind).cast<String>(), String("cuda"));
  String text = Global("ffi.ToJSONGraphString")(a, nullptr).cast<String>();
  Target again = Global("ffi.FromJSONGraphString")(text).cast<Target>();
  CHECK(again->kind.same_as(a->kind));
  CHECK(StructuralEqual(a, again));
  SAME(Global("target.TargetAsJSON")(again).cast<String>(), Global("target.TargetAsJSON")(a).cast<String>());
}

TEST(targets, errors) {
  THROWS("TypeError", "target: $.arch: ", Target(Map<String, Any>{{"kind", "cuda"}, {"arch", 90}}));
  THROWS("TypeError", "target: $.arch: ", Target(Map<String, Any>{{"kind", "cuda"}, {"arch", nullptr}}));
  THROWS("ValueError", "did you mean \"arch\"?", Target(Map<String, Any>{{"kind", "cuda"}, {"arc", "sm_90"}}));
  THROWS("TypeError", "argument 0: expected a target", Global("target.TargetExport")(String("cuda")));
}

TEST(targets, are_arguments) {
  Target t(String("llvm"));
  auto f = cpp_test::ThroughC(
      Function::FromTyped([](Target target, Map<String, Target> more) { return more.at("it").same_as(target); }));
  CHECK(f(t, Map<String, Target>{{"it", t}}).cast<bool>());
  Map<String, Target> tags = Global("target.TargetTagListTags")().cast<Map<String, Target>>();
  CHECK(tags.size() > 200);
  CHECK(tags.at("raspberry-pi/4b-aarch64")->host.has_value());
}
