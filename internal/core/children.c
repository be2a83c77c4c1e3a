/* What objects consist of: elements, entries, reflected fields; and the hooks of their types. */
#include "map_internal.h"
#include "recursive.h"
#include "type_internal.h"

#include <stdlib.h>
#include <string.h>

int tvmgo_level_enter(const char* op, int* level) {
  if (*level >= TVMGO_RECURSION_LIMIT)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the value is nested more than %d levels deep", op,
                       TVMGO_RECURSION_LIMIT);
  ++*level;
  return 0;
}

static TVMFFIAny held(const TVMFFIAny* v) {
  if (tvmgo_any_is_object(v)) tvmgo_object_retain(v->v_obj);
  return *v;
}

int tvmgo_seq_step(TVMFFIObject* seq, int64_t i, TVMFFIAny* item) {
  const TVMFFISeqCell* cell = tvmgo_seq_cell(seq);
  if (i >= cell->size) return 0;
  *item = held((const TVMFFIAny*)cell->data + i);
  return 1;
}

int tvmgo_map_step(TVMFFIObject* map, uint64_t* place, TVMFFIAny* key, TVMFFIAny* value) {
  *place = *place == 0 ? tvmgo_map_first(map) : tvmgo_map_after(map, *place);
  const tvmgo_map_entry* e = tvmgo_map_entry_at(map, *place);
  if (e == NULL) return 0;
  *key = held(&e->key);
  *value = held(&e->value);
  return 1;
}

/* ---- Fields -------------------------------------------------------------------------------- */

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

/* What the function that a hook gets reads; state is NULL when the hook is done. */
typedef struct {
  tvmgo_hook_answer answer;
  void* state;
} hook_link;

static int hook_answer(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  hook_link* link = self;
  if (link->state == NULL)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "the function given to a hook was called after the hook");
  return link->answer(link->state, args, n, result);
}

int tvmgo_hook_call_args(const char* op, const TVMFFIAny* hook, const TVMFFIAny* given, int32_t n,
                         tvmgo_hook_answer answer, void* state, TVMFFIAny* result) {
  if (hook->type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: a hook must be a Function, got %s", op,
                       tvmgo_type_name(hook->type_index));
  hook_link* link = malloc(sizeof *link);
  if (link == NULL) return tvmgo_raise_oom();
  *link = (hook_link){answer, state};
  TVMFFIObjectHandle f;
  if (TVMFFIFunctionCreate(link, hook_answer, free, &f) != 0) {
    free(link);
    return -1;
  }
  TVMFFIAny args[3] = {given[0]};
  if (n == 2) args[1] = given[1];
  args[n] = tvmgo_any_object(f);
  *result = tvmgo_any_none();
  int rc = tvmgo_function_call(hook->v_obj, args, n + 1, result);
  link->state = NULL;
  tvmgo_object_release(f);
  return rc;
}

int tvmgo_hook_call(const char* op, const TVMFFIAny* hook, TVMFFIObject* obj, TVMFFIObject* other,
                    tvmgo_hook_answer answer, void* state, TVMFFIAny* result) {
  TVMFFIAny args[2] = {tvmgo_any_object(obj), tvmgo_any_object(other)};
  return tvmgo_hook_call_args(op, hook, args, other == NULL ? 1 : 2, answer, state, result);
}

int tvmgo_hook_call_int(const char* op, const TVMFFIAny* hook, TVMFFIObject* obj,
                        TVMFFIObject* other, tvmgo_hook_answer answer, void* state,
                        int64_t* result) {
  TVMFFIAny r;
  int rc = tvmgo_hook_call(op, hook, obj, other, answer, state, &r);
  if (rc != 0) return rc;
  *result = r.v_int64;
  if (r.type_index != kTVMFFIInt && r.type_index != kTVMFFIBool) {
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
    rc = tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the hook of type %.*s must answer an int, got %s", op,
                     (int)info->type_key.size, info->type_key.data, tvmgo_type_name(r.type_index));
  }
  tvmgo_any_clear(&r);
  return rc;
}
