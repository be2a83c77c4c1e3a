/* The base types of enumerations, from which front ends derive theirs. The data of an enumeration is in the EnumState
 * that its type has in the column __ffi_enum__. */
#include "reflect/builtins.h"
#include "reflect/enum.h"
#include "container/list.h"

#include <stddef.h>

_Static_assert(sizeof(tvmgo_enum) == 48 && offsetof(tvmgo_enum, text) == 32, "ffi.Enum");
_Static_assert(sizeof(tvmgo_enum_state) == 48, "ffi.EnumState");

static int32_t state_type, enum_type, int_enum_type, str_enum_type;
static const int32_t text_type = kTVMFFIStr, dict_type = kTVMFFIDict;

static int make_state(TVMFFIObjectHandle* out) {
  tvmgo_enum_state* s = tvmgo_record_new(state_type, sizeof *s);
  if (s == NULL) return -1;
  s->entries = tvmgo_list_new(NULL, 0);
  s->indexes = tvmgo_map_new(kTVMFFIDict);
  s->attrs = tvmgo_map_new(kTVMFFIDict);
  if (s->entries == NULL || s->indexes == NULL || s->attrs == NULL) {
    tvmgo_object_release(s);
    return -1;
  }
  *out = s;
  return 0;
}

static int init_state(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObjectHandle state;
  if (tvmgo_check_count("ffi.EnumState", n, 0, 0) != 0 || make_state(&state) != 0) return -1;
  *result = tvmgo_any_object(state);
  return 0;
}

static int make_enum(int32_t type, TVMFFIObjectHandle* out) {
  tvmgo_enum* e = tvmgo_record_new(type, sizeof *e);
  if (e == NULL) return -1;
  e->text.type_index = kTVMFFISmallStr;
  *out = e;
  return 0;
}
static int make_plain(TVMFFIObjectHandle* out) { return make_enum(enum_type, out); }
static int make_int(TVMFFIObjectHandle* out) { return make_enum(int_enum_type, out); }
static int make_str(TVMFFIObjectHandle* out) { return make_enum(str_enum_type, out); }

#define OBJECT "{\"type\":\"ffi.Object\"}"
#define ANY "{\"type\":\"Any\"}"
#define INT "{\"type\":\"int\"}"
#define STR "{\"type\":\"ffi.String\"}"
#define DICT(k, v) "{\"type\":\"ffi.Dict\",\"args\":[" k "," v "]}"
#define IGNORED kTVMFFIFieldFlagBitMaskSEqHashIgnore
#define INTERNAL kTVMFFIFieldFlagBitMaskInitOff

static const tvmgo_record_field state_fields[] = {
    {"entries", "{\"type\":\"ffi.List\",\"args\":[" OBJECT "]}", "The members, oldest first.",
     kTVMFFIList, 8, 24, INTERNAL, NULL},
    {"indexes", DICT(ANY, OBJECT), "Members by their number and by their text.", kTVMFFIObject, 8,
     32, INTERNAL, &dict_type},
    {"attrs", DICT(STR, DICT(OBJECT, ANY)), "Further values of members, by name and member.",
     kTVMFFIObject, 8, 40, INTERNAL, &dict_type},
    {0},
};
static const tvmgo_record_method state_methods[] = {
    {"__ffi_init__", init_state, 1, OBJECT, "", NULL},
    {0},
};
static const tvmgo_record_field enum_fields[] = {
    {"_int_index", INT, "The number of the member.", kTVMFFIInt, 8, 24, IGNORED, NULL},
    {"_str_index", STR, "The text of the member.", kTVMFFIAny, 16, 32, 0, &text_type},
    {0},
};
static const tvmgo_record_field int_enum_fields[] = {
    {"value", INT, "The number of the member.", kTVMFFIInt, 8, 24, IGNORED | INTERNAL, NULL},
    {0},
};
static const tvmgo_record_field str_enum_fields[] = {
    {"value", STR, "The text of the member.", kTVMFFIAny, 16, 32, IGNORED | INTERNAL, &text_type},
    {0},
};

static void describe(int32_t* type, const char* key, int32_t parent, int is_final,
                     TVMFFISEqHashKind kind, TVMFFIObjectCreator creator,
                     const tvmgo_record_field* fields, const tvmgo_record_method* methods) {
  tvmgo_record_description d = {key, parent, 48, kind, is_final, creator, fields, methods};
  *type = tvmgo_record_describe(&d);
}

void tvmgo_register_enum_types(void) {
  const TVMFFISEqHashKind unique = kTVMFFISEqHashKindUniqueInstance;
  describe(&state_type, "ffi.EnumState", kTVMFFIObject, 1, kTVMFFISEqHashKindUnsupported,
           make_state, state_fields, state_methods);
  describe(&enum_type, "ffi.Enum", kTVMFFIObject, 0, unique, make_plain, enum_fields, NULL);
  describe(&int_enum_type, "ffi.IntEnum", enum_type, 0, unique, make_int, int_enum_fields, NULL);
  describe(&str_enum_type, "ffi.StrEnum", enum_type, 0, unique, make_str, str_enum_fields, NULL);
}

int tvmgo_is_enum(int32_t type_index) { return tvmgo_type_derived_from(type_index, enum_type); }

int tvmgo_is_int_enum(int32_t type_index) {
  return tvmgo_type_derived_from(type_index, int_enum_type);
}

int tvmgo_enum_find(const char* op, int32_t type_index, const TVMFFIAny* index, TVMFFIAny* member) {
  TVMFFIAny state;
  const TVMFFIAny* found = NULL;
  if (tvmgo_hook_find("__ffi_enum__", type_index, &state) && state.type_index == state_type) {
    /* NULL: a front end has taken the error. */
    TVMFFIObject* indexes = ((tvmgo_enum_state*)state.v_obj)->indexes;
    if (indexes != NULL && tvmgo_map_find(indexes, index, &found) < 0) return -1;
  }
  if (found != NULL && tvmgo_type_derived_from(found->type_index, enum_type)) {
    *member = *found;
    tvmgo_object_retain(member->v_obj);
    return 0;
  }
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  TVMFFIByteArray text;
  if (tvmgo_any_text(index, &text))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: enumeration %.*s has no member \"%.*s\"", op,
                       (int)info->type_key.size, info->type_key.data, (int)text.size, text.data);
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: enumeration %.*s has no member %lld", op,
                     (int)info->type_key.size, info->type_key.data, (long long)index->v_int64);
}
