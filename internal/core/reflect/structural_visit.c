/* Visits a value by structure, with callbacks (ffi.StructuralVisit, ffi.StructuralWalk).
 *
 * A visitor is an object that C++ code can call and derive from too: its table has one function,
 * which returns None, an owned VisitInterrupt that ends the visit, or an owned Error. */
#include "reflect/builtins.h"
#include "container/map_internal.h"
#include "reflect/structural.h"
#include "reflect/structural_callbacks.h"
#include "reflect/visit_context.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct visitor visitor;
typedef TVMFFIAny (*visit_call)(visitor* v, TVMFFIAny value);

struct visitor {
  TVMFFIObject header;
  const visit_call* table;
  int32_t region; /* TVMFFIDefRegionKind */
};

_Static_assert(offsetof(visitor, table) == 24, "ffi.StructuralVisitor");
_Static_assert(offsetof(visitor, region) == 32, "ffi.StructuralVisitor");

typedef enum { WALK_BEFORE, WALK_AFTER, OWN_DESCENT } order;

/* A visitor of ours. callbacks are Arrays of (type index, Function). */
typedef struct {
  visitor base;
  const char* op;
  order order;
  int level;
  TVMFFIObject *callbacks, *region_callbacks; /* owned; the latter may be NULL */
} our_visitor;

static int32_t visitor_type;

static TVMFFIAny call_ours(visitor* v, TVMFFIAny value);
static const visit_call our_table[] = {call_ours};

static int is_interrupt(const TVMFFIAny* v) {
  return tvmgo_type_derived_from(v->type_index, kTVMFFIVisitInterrupt);
}

/* ---- Answers ------------------------------------------------------------------------------- */

/* Converts the result of a table's function or an attribute to a return code; *out is None or an interrupt. */
static int take_answer(const char* op, TVMFFIAny answer, TVMFFIAny* out) {
  *out = tvmgo_any_none();
  if (answer.type_index == kTVMFFIError) {
    TVMFFIErrorSetRaised(answer.v_obj);
    tvmgo_any_clear(&answer);
    return -1;
  }
  if (answer.type_index == kTVMFFINone || is_interrupt(&answer)) {
    *out = answer;
    return 0;
  }
  tvmgo_raise(TVMGO_TYPE_ERROR, "%s: a visit answers None or a VisitInterrupt, got %s", op,
              tvmgo_type_name(answer.type_index));
  tvmgo_any_clear(&answer);
  return -1;
}

static TVMFFIAny give_answer(int rc, TVMFFIAny out) {
  if (rc == 0) return out;
  TVMFFIObject* error = tvmgo_error_take();
  if (error == NULL) { /* a front end keeps it: what calls us here only knows errors */
    tvmgo_raise(TVMGO_RUNTIME_ERROR, "visit: stopped by the front end");
    error = tvmgo_error_take();
  }
  return tvmgo_any_object(error);
}

/* ---- Descent ------------------------------------------------------------------------------- */

static int visit_value(our_visitor* v, const TVMFFIAny* value, TVMFFIAny* out);

static int visit_child(visitor* v, const TVMFFIAny* value, TVMFFIAny* out) {
  if (v->table == our_table) return visit_value((our_visitor*)v, value, out);
  return take_answer("visit", v->table[0](v, *value), out);
}

static int visit_seq(visitor* v, TVMFFIObject* seq, TVMFFIAny* out) {
  TVMFFIAny item;
  int rc = 0;
  for (int64_t i = 0; rc == 0 && out->type_index == kTVMFFINone && tvmgo_seq_step(seq, i, &item);
       i++) {
    rc = visit_child(v, &item, out);
    tvmgo_any_clear(&item);
  }
  return rc;
}

/* Keys are names, not parts. */
static int visit_map(visitor* v, TVMFFIObject* map, TVMFFIAny* out) {
  TVMFFIAny key, value;
  uint64_t place = 0;
  int rc = 0;
  while (rc == 0 && out->type_index == kTVMFFINone && tvmgo_map_step(map, &place, &key, &value)) {
    rc = visit_child(v, &value, out);
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
  }
  return rc;
}

static int visit_fields(visitor* v, TVMFFIObject* obj, TVMFFIAny* out) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  int32_t outside = v->region;
  int rc = 0;
  if (outside == kTVMFFIDefRegionKindSimple && info != NULL && info->metadata != NULL &&
      info->metadata->structural_eq_hash_kind == kTVMFFISEqHashKindFreeVar)
    v->region = kTVMFFIDefRegionKindNone;
  int32_t inside = v->region;
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  for (const TVMFFIFieldInfo* f;
       rc == 0 && out->type_index == kTVMFFINone && (f = tvmgo_field_next(&w)) != NULL;) {
    TVMFFIAny value;
    rc = tvmgo_field_get("visit", obj, f, &value);
    if (rc != 0) break;
    v->region = tvmgo_structural_region(inside, f->flags);
    rc = visit_child(v, &value, out);
    v->region = inside;
    tvmgo_any_clear(&value);
  }
  v->region = outside;
  return rc;
}

/* Visits the parts that a value's type registers, or its reflected fields. */
static int visit_parts(visitor* v, const TVMFFIAny* value, TVMFFIAny* out) {
  TVMFFIAny hook, answer = tvmgo_any_none();
  *out = answer;
  switch (value->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: return visit_seq(v, value->v_obj, out);
    case kTVMFFIMap:
    case kTVMFFIDict: return visit_map(v, value->v_obj, out);
    default: break;
  }
  if (!tvmgo_hook_find("__s_visit__", value->type_index, &hook))
    return tvmgo_any_is_object(value) ? visit_fields(v, value->v_obj, out) : 0;
  if (hook.type_index == kTVMFFIOpaquePtr)
    return take_answer("__s_visit__", ((visit_call)hook.v_ptr)(v, *value), out);
  if (hook.type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "__s_visit__ must be a function, got %s",
                       tvmgo_type_name(hook.type_index));
  TVMFFIAny args[2] = {tvmgo_any_object(v), *value};
  int rc = tvmgo_function_call(hook.v_obj, args, 2, &answer);
  return rc == 0 ? take_answer("__s_visit__", answer, out) : rc;
}

/* As attributes of the containers, for visitors of C++ code. */
static TVMFFIAny seq_attribute(visitor* v, TVMFFIAny value) {
  TVMFFIAny out = tvmgo_any_none();
  int rc = visit_seq(v, value.v_obj, &out);
  return give_answer(rc, out);
}

static TVMFFIAny map_attribute(visitor* v, TVMFFIAny value) {
  TVMFFIAny out = tvmgo_any_none();
  int rc = visit_map(v, value.v_obj, &out);
  return give_answer(rc, out);
}

/* ---- Our visitors -------------------------------------------------------------------------- */

/* Returns 0 with *skip set if the parts are to be omitted, and *out for an interrupt. */
static int call_walk_callback(our_visitor* v, const TVMFFIAny* value, int* skip, TVMFFIAny* out) {
  TVMFFIAny args[2] = {*value, tvmgo_any_int(v->base.region)}, answer = tvmgo_any_none();
  int32_t n = 1;
  const TVMFFIAny* entry = tvmgo_callbacks_find(v->callbacks, value->type_index);
  if (entry == NULL) {
    entry = tvmgo_callbacks_find(v->region_callbacks, value->type_index);
    n = 2;
  }
  *skip = 0;
  if (entry == NULL) return 0;
  int rc = tvmgo_function_call(entry[1].v_obj, args, n, &answer);
  if (rc != 0) return rc;
  if (answer.type_index != kTVMFFIInt && answer.type_index != kTVMFFIBool)
    return take_answer(v->op, answer, out);
  *skip = answer.v_int64 == 1;
  return 0;
}

static int walk_value(our_visitor* v, const TVMFFIAny* value, TVMFFIAny* out) {
  int skip = 0, rc = 0;
  if (v->order == WALK_BEFORE) rc = call_walk_callback(v, value, &skip, out);
  if (rc != 0 || skip || out->type_index != kTVMFFINone) return rc;
  rc = visit_parts(&v->base, value, out);
  if (rc != 0 || out->type_index != kTVMFFINone || v->order == WALK_BEFORE) return rc;
  return call_walk_callback(v, value, &skip, out);
}

static int visit_own_descent(our_visitor* v, const TVMFFIAny* value, TVMFFIAny* out) {
  const TVMFFIAny* entry = tvmgo_callbacks_find(v->callbacks, value->type_index);
  if (entry == NULL) return visit_parts(&v->base, value, out);
  TVMFFIAny args[2] = {*value, tvmgo_any_object(v)}, answer = tvmgo_any_none();
  int rc = tvmgo_function_call(entry[1].v_obj, args, 2, &answer);
  return rc == 0 ? take_answer(v->op, answer, out) : rc;
}

static int visit_value(our_visitor* v, const TVMFFIAny* value, TVMFFIAny* out) {
  *out = tvmgo_any_none();
  if (value->type_index == kTVMFFINone) return 0;
  if (tvmgo_level_enter(v->op, &v->level) != 0) return -1;
  int32_t region = v->base.region;
  int rc = v->order == OWN_DESCENT ? visit_own_descent(v, value, out) : walk_value(v, value, out);
  if (rc != 0) tvmgo_visit_context_add(value);
  v->base.region = region;
  v->level--;
  return rc;
}

static TVMFFIAny call_ours(visitor* v, TVMFFIAny value) {
  TVMFFIAny out;
  int rc = visit_value((our_visitor*)v, &value, &out);
  return give_answer(rc, out);
}

static void delete_visitor(void* self, int flags) {
  our_visitor* v = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_object_release(v->callbacks);
    tvmgo_object_release(v->region_callbacks);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

static int visit_root(const char* op, order order, const TVMFFIAny* root, TVMFFIObject* callbacks,
                      TVMFFIObject* region_callbacks, TVMFFIAny* result) {
  TVMFFIAny value;
  our_visitor* v = tvmgo_object_new(sizeof *v, visitor_type, delete_visitor);
  if (v == NULL) return -1;
  v->base.table = our_table;
  v->op = op;
  v->order = order;
  tvmgo_object_retain(v->callbacks = callbacks);
  if (region_callbacks != NULL) tvmgo_object_retain(v->region_callbacks = region_callbacks);
  int rc = TVMFFIAnyViewToOwnedAny(root, &value);
  if (rc == 0) {
    rc = visit_value(v, &value, result);
    tvmgo_any_clear(&value);
  }
  tvmgo_object_release(v);
  return rc;
}

/* ---- Functions ----------------------------------------------------------------------------- */

static int structural_visit(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* callbacks;
  if (tvmgo_check_count(name, n, 2, 2) != 0 ||
      tvmgo_callbacks_arg(name, args, 1, 2, &callbacks) != 0)
    return -1;
  return visit_root(name, OWN_DESCENT, &args[0], callbacks, NULL, result);
}

static int structural_walk(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject *callbacks, *region_callbacks;
  int64_t order;
  if (tvmgo_check_count(name, n, 4, 4) != 0 ||
      tvmgo_callbacks_arg(name, args, 1, 2, &callbacks) != 0 ||
      tvmgo_callbacks_arg(name, args, 2, 2, &region_callbacks) != 0 ||
      tvmgo_arg_int(name, args, 3, &order) != 0)
    return -1;
  return visit_root(name, order == 0 ? WALK_BEFORE : WALK_AFTER, &args[0], callbacks,
                    region_callbacks, result);
}

static int visitor_arg(const char* name, const TVMFFIAny* args, int32_t n, int32_t want,
                       visitor** v) {
  if (tvmgo_check_count(name, n, want, want) != 0) return -1;
  if (!tvmgo_type_derived_from(args[0].type_index, visitor_type))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument 0 must be a StructuralVisitor, got %s", name,
                       tvmgo_type_name(args[0].type_index));
  *v = (visitor*)args[0].v_obj;
  return 0;
}

static int visit_by(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result,
                    int (*how)(visitor*, const TVMFFIAny*, TVMFFIAny*)) {
  visitor* v;
  TVMFFIAny value;
  if (visitor_arg(name, args, n, 2, &v) != 0 || TVMFFIAnyViewToOwnedAny(&args[1], &value) != 0)
    return -1;
  int rc = how(v, &value, result);
  tvmgo_any_clear(&value);
  return rc;
}

static int visitor_visit(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return visit_by(name, args, n, result, visit_child);
}

static int visitor_default(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return visit_by(name, args, n, result, visit_parts);
}

static int visitor_region(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  visitor* v;
  if (visitor_arg(name, args, n, 1, &v) != 0) return -1;
  *result = tvmgo_any_int(v->region);
  return 0;
}

static int visitor_with_region(const char* name, const TVMFFIAny* args, int32_t n,
                               TVMFFIAny* result) {
  visitor* v;
  if (visitor_arg(name, args, n, 3, &v) != 0) return -1;
  return tvmgo_call_in_region(name, args, &v->region, result);
}

TVMGO_REFLECT_VISIT(TVMGO_BUILTIN_DEFINE)

void tvmgo_register_visit_types(void) {
  static const TVMFFIByteArray column = {"__s_visit__", 11};
  static const int32_t containers[] = {kTVMFFIArray, kTVMFFIList, kTVMFFIMap, kTVMFFIDict};
  const tvmgo_record_description d = {"ffi.StructuralVisitor", kTVMFFIObject, 40,
                                      kTVMFFISEqHashKindUnsupported, 0, NULL, NULL, NULL};
  visitor_type = tvmgo_record_describe(&d);
  for (size_t i = 0; i < 4; i++) {
    TVMFFIAny call = tvmgo_any_ptr(i < 2 ? (void*)seq_attribute : (void*)map_attribute);
    if (TVMFFITypeRegisterAttr(containers[i], &column, &call) != 0) abort();
  }
  TVMGO_REFLECT_VISIT(TVMGO_BUILTIN_REGISTER)
}
