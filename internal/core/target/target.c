/* The objects of targets and their kinds. */
#include "target/target.h"
#include "call/deferred.h"
#include "record/record.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(tvmgo_target_kind, default_device_type) == 40 && sizeof(tvmgo_target_kind) == 56,
    "target.TargetKind");
_Static_assert(offsetof(tvmgo_target, tag) == 40 && offsetof(tvmgo_target, attrs) == 64, "target.Target");

int32_t tvmgo_target_type = -1, tvmgo_target_kind_type = -1;
static const int32_t text_type = kTVMFFIStr;

static _Atomic(tvmgo_target_hold*) dropped;

static void target_delete(void* self, int flags) {
  tvmgo_target_hold* hold = ((tvmgo_target*)self)->hold;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && hold != NULL) {
    ((tvmgo_target*)self)->hold = NULL;
    hold->next = atomic_load_explicit(&dropped, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&dropped, &hold->next, hold, memory_order_release,
        memory_order_relaxed)) {
    }
  }
  tvmgo_record_delete(self, flags);
}

tvmgo_target_hold* tvmgo_bridge_target_dropped(void) {
  return atomic_exchange_explicit(&dropped, NULL, memory_order_acquire);
}

/* An owned copy of a borrowed value. */
static TVMFFIAny held(const TVMFFIAny* v) {
  if (tvmgo_any_is_object(v)) tvmgo_object_retain(v->v_obj);
  return *v;
}

static TVMFFIObject* held_object(const TVMFFIAny* v) { return tvmgo_any_is_object(v) ? held(v).v_obj : NULL; }

/* Raises an error when objects of targets can't be made. */
static int have_types(void) {
  tvmgo_deferred_register();
  if (tvmgo_target_type >= 0) return 0;
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                     "targets are not passed as objects here: another library has registered the types "
                         "target.Target and "
                     "target.TargetKind, or memory was out: use targets before loading it, or pass them as text");
}

tvmgo_ret tvmgo_bridge_target_kind(const TVMFFIAny* parts) {
  if (have_types() != 0) return (tvmgo_ret){0, (uintptr_t)tvmgo_error_take()};
  tvmgo_target_kind* k = tvmgo_record_new(tvmgo_target_kind_type, sizeof *k);
  if (k == NULL) return (tvmgo_ret){0, (uintptr_t)tvmgo_error_take()};
  k->name = held(&parts[0]);
  k->default_device_type = (int32_t)parts[1].v_int64;
  k->default_keys = held_object(&parts[2]);
  return (tvmgo_ret){(uintptr_t)k, 0};
}

tvmgo_ret tvmgo_bridge_target(const TVMFFIAny* parts, uintptr_t handle) {
  if (have_types() != 0) return (tvmgo_ret){0, (uintptr_t)tvmgo_error_take()};
  tvmgo_target_hold* hold = malloc(sizeof *hold);
  tvmgo_target* t = hold == NULL ? NULL : tvmgo_object_new(sizeof *t, tvmgo_target_type, target_delete);
  if (hold == NULL) tvmgo_raise_oom();
  if (t == NULL) {
    free(hold);
    return (tvmgo_ret){0, (uintptr_t)tvmgo_error_take()};
  }
  t->kind = held_object(&parts[0]);
  t->host = held_object(&parts[1]);
  t->tag = held(&parts[2]);
  t->keys = held_object(&parts[3]);
  t->attrs = held_object(&parts[4]);
  *hold = (tvmgo_target_hold){NULL, handle};
  t->hold = hold;
  return (tvmgo_ret){(uintptr_t)t, 0};
}

/* A target whose fields are not set yet, made by reflection. */
static int make_target(TVMFFIObjectHandle* out) {
  tvmgo_target* t = tvmgo_record_new(tvmgo_target_type, sizeof *t);
  if (t == NULL) return -1;
  t->tag.type_index = kTVMFFISmallStr;
  t->keys = tvmgo_array_new(NULL, 0);
  t->attrs = tvmgo_map_new(kTVMFFIMap);
  if (t->keys == NULL || t->attrs == NULL) {
    tvmgo_object_release(t);
    return -1;
  }
  *out = t;
  return 0;
}

/* ---- Reflected fields ---------------------------------------------------------- */

#define STR "{\"type\":\"ffi.String\"}"
#define STRINGS "{\"type\":\"ffi.Array\",\"args\":[" STR "]}"

static const tvmgo_record_field kind_fields[] = {
    {"name", STR, "What a target's kind says.", kTVMFFIAny, 16, 24, 0, &text_type},
    {"default_device_type", "{\"type\":\"int\"}", "The device that code runs on.", kTVMFFIInt, 4, 40, 0, NULL},
    {"default_keys", STRINGS, "The keys of targets that name none.", kTVMFFIArray, 8, 48, 0, NULL},
    {0},
};
static const tvmgo_record_field target_fields[] = {
    {"kind", "{\"type\":\"target.TargetKind\"}", "The code generator.", kTVMFFIObject, 8, 24, 0,
        &tvmgo_target_kind_type},
    {"tag", STR, "The name that the target was made from, or none.", kTVMFFIAny, 16, 40, 0, &text_type},
    {"keys", STRINGS, "Names that schedules are chosen by.", kTVMFFIArray, 8, 56, 0, NULL},
    {"attrs", "{\"type\":\"ffi.Map\",\"args\":[" STR ",{\"type\":\"Any\"}]}", "Values of options, and features.",
        kTVMFFIMap,
     8, 64, 0, NULL},
    {"host", "{\"type\":\"Optional\",\"args\":[{\"type\":\"ffi.Object\"}]}", "What launches the kernels.",
        kTVMFFIAny, 8, 32, 0,
     &tvmgo_target_type},
    {0},
};

static int kind_text(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void* kind;
  if (tvmgo_check_count("target.TargetKind", n, 1, 2) != 0 ||
      tvmgo_arg_object("target.TargetKind", args, 0, tvmgo_target_kind_type, &kind) != 0)
    return -1;
  *result = held(&((tvmgo_target_kind*)kind)->name);
  return 0;
}

static const char target_key[] = "target.Target", kind_key[] = "target.TargetKind";

static int is_target_type_key(const TVMFFIByteArray* key) {
  return (key->size == sizeof target_key - 1 && memcmp(key->data, target_key, key->size) == 0) ||
         (key->size == sizeof kind_key - 1 && memcmp(key->data, kind_key, key->size) == 0);
}

/* Whether another library has described the type of a key. A library that only uses the layout has registered just an
 * index, which this library then uses. */
static int is_foreign(const char* key) {
  TVMFFIByteArray text = {key, strlen(key)};
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 0, kTVMFFIObject));
  return info == NULL || info->type_depth != 1 || info->num_fields > 0 || info->num_methods > 0 ||
      info->metadata != NULL;
}

static int register_types(void) {
  if (is_foreign(kind_key) || is_foreign(target_key))
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "the types of targets are another library's");
  const tvmgo_record_description kind = {kind_key, kTVMFFIObject, sizeof(tvmgo_target_kind),
                                         kTVMFFISEqHashKindUniqueInstance, 1, NULL, kind_fields, NULL};
  const tvmgo_record_description target = {target_key, kTVMFFIObject, sizeof(tvmgo_target),
                                           kTVMFFISEqHashKindTreeNode, 1, make_target, target_fields, NULL};
  int32_t kind_type = tvmgo_record_try_describe(&kind), target_type;
  /* a deep copy copies the kind, too */
  if (kind_type < 0 || tvmgo_record_type(kind_type, sizeof(tvmgo_target_kind)) != 0 ||
      tvmgo_record_try_hook(kind_type, "__ffi_repr__", kind_text) != 0 ||
      tvmgo_record_try_hook(kind_type, "__data_to_json__", kind_text) != 0 ||
      (target_type = tvmgo_record_try_describe(&target)) < 0 || tvmgo_register_target_hooks(target_type,
          kind_type) != 0)
    return -1;
  tvmgo_target_kind_type = kind_type;
  tvmgo_target_type = target_type;
  return 0;
}

__attribute__((constructor(112))) static void declare_types(void) {
  static const tvmgo_deferred_types types = {"the types target.Target and target.TargetKind", is_target_type_key,
                                             register_types};
  tvmgo_deferred_declare_types(&types);
}
