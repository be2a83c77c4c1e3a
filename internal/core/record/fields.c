/* Reflected fields of objects: listing those of a type, reading and writing one; and the hooks of a type. */
#include "record/record.h"
#include "object/type_internal.h"

#include <string.h>

tvmgo_field_walk tvmgo_fields(int32_t type_index, int64_t skip) {
  return (tvmgo_field_walk){.info = TVMFFIGetTypeInfo(type_index), .skip = skip};
}

const TVMFFIFieldInfo* tvmgo_field_next(tvmgo_field_walk* w) {
  while (w->info != NULL && w->depth <= w->info->type_depth) {
    const TVMFFITypeInfo* t =
        w->depth == w->info->type_depth ? w->info : w->info->type_ancestors[w->depth];
    /* The count grows after the fields, which may move. */
    while (w->at < __atomic_load_n(&t->num_fields, __ATOMIC_ACQUIRE)) {
      const TVMFFIFieldInfo* f = __atomic_load_n(&t->fields, __ATOMIC_ACQUIRE) + w->at++;
      if ((f->flags & w->skip) == 0) return f;
    }
    w->depth++;
    w->at = 0;
  }
  return NULL;
}

static int no_access(const char* op, const TVMFFIObject* obj, const TVMFFIFieldInfo* f,
                     const char* what) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: field %.*s of type %.*s has no %s", op,
                     (int)f->name.size, f->name.data, (int)info->type_key.size,
                     info->type_key.data, what);
}

int tvmgo_field_get(const char* op, TVMFFIObject* obj, const TVMFFIFieldInfo* f, TVMFFIAny* value) {
  *value = tvmgo_any_none();
  if (f->getter == NULL) return no_access(op, obj, f, "getter");
  return f->getter((char*)obj + f->offset, value);
}

int tvmgo_field_set(const char* op, TVMFFIObject* obj, const TVMFFIFieldInfo* f,
                    const TVMFFIAny* value) {
  void* at = (char*)obj + f->offset;
  if (f->setter == NULL) return no_access(op, obj, f, "setter");
  if ((f->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) == 0)
    return ((TVMFFIFieldSetter)f->setter)(at, value);
  TVMFFIAny args[2] = {tvmgo_any_ptr(at), *value}, ignored = tvmgo_any_none();
  int rc = tvmgo_function_call(f->setter, args, 2, &ignored);
  tvmgo_any_clear(&ignored);
  return rc;
}

/* ---- Hooks --------------------------------------------------------------------------------- */

int tvmgo_hook_find(const char* column, int32_t type_index, TVMFFIAny* hook) {
  TVMFFIByteArray name = {column, strlen(column)};
  const TVMFFITypeAttrColumn* c = TVMFFIGetTypeAttrColumn(&name);
  return c != NULL && tvmgo_type_attr_get((const tvmgo_type_column*)c, type_index, hook);
}

_Static_assert(offsetof(tvmgo_type_column, column) == 0, "a column begins with what is public");
