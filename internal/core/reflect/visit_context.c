#include "reflect/visit_context.h"
#include "reflect/access_path.h"
#include "reflect/builtins.h"
#include "container/list.h"

/* C++ code makes and fills in these objects, too. */
typedef struct {
  TVMFFIObject header;
  TVMFFIObject* pattern;  /* List of objects, the innermost one first */
  TVMFFIObject* previous; /* what the error carried before, or NULL */
} visit_context;

_Static_assert(sizeof(visit_context) == 40, "ffi.VisitErrorContext");

static int32_t context_type;

static int make_context(TVMFFIObjectHandle* out) {
  *out = NULL;
  visit_context* c = tvmgo_record_new(context_type, sizeof *c);
  if (c == NULL) return -1;
  c->pattern = tvmgo_list_new(NULL, 0);
  if (c->pattern == NULL) {
    tvmgo_object_release(c);
    return -1;
  }
  *out = c;
  return 0;
}

static int append(TVMFFIObject* list, const TVMFFIAny* item) {
  int64_t end = tvmgo_seq_cell(list)->size;
  return tvmgo_list_replace(list, end, end, item, 1);
}

static int add_to(TVMFFIErrorCell* error, const TVMFFIAny* node) {
  visit_context* c = (visit_context*)error->extra_context;
  if (c == NULL || c->header.type_index != context_type) {
    TVMFFIObjectHandle made;
    if (make_context(&made) != 0) return -1;
    c = made;
    c->previous = (TVMFFIObject*)error->extra_context;
    error->extra_context = c;
  }
  return append(c->pattern, node);
}

void tvmgo_visit_context_add(const TVMFFIAny* node) {
  TVMFFIObject* error = tvmgo_any_is_object(node) ? tvmgo_error_raised() : NULL;
  if (error == NULL) return;
  tvmgo_object_retain(error);
  if (add_to(tvmgo_error_cell(error), node) != 0) TVMFFIErrorSetRaised(error);
  tvmgo_object_release(error);
}

/* ---- Access paths -------------------------------------------------------------------------- */

typedef struct {
  const char* op;
  TVMFFIObject* wanted; /* List: the pattern from the outermost object on, without repetitions */
  int takes_prefix;     /* a path that ends before the whole pattern was matched counts, too */
  TVMFFIObject* found;  /* List of paths */
  int level;
} finder;

static int find_in(finder* f, const TVMFFIAny* v, tvmgo_access_path* path, int64_t met);

static int find_below(finder* f, const TVMFFIAny* v, tvmgo_access_path* path, tvmgo_step_kind kind,
                      const TVMFFIAny* key, int64_t met) {
  if (!tvmgo_any_is_object(v)) return 0;
  tvmgo_access_step* step = tvmgo_access_step_new(kind, key);
  tvmgo_access_path* below = step == NULL ? NULL : tvmgo_access_path_extend(path, step);
  int rc = below == NULL ? -1 : find_in(f, v, below, met);
  tvmgo_object_release(below);
  tvmgo_object_release(step);
  return rc;
}

static int find_in_seq(finder* f, TVMFFIObject* seq, tvmgo_access_path* path, int64_t met) {
  TVMFFIAny item;
  int rc = 0;
  for (int64_t i = 0; rc == 0 && tvmgo_seq_step(seq, i, &item); i++) {
    TVMFFIAny at = tvmgo_any_int(i);
    rc = find_below(f, &item, path, TVMGO_STEP_ELEMENT, &at, met);
    tvmgo_any_clear(&item);
  }
  return rc;
}

static int find_in_map(finder* f, TVMFFIObject* map, tvmgo_access_path* path, int64_t met) {
  TVMFFIAny key, value;
  uint64_t place = 0;
  int rc = 0;
  while (rc == 0 && tvmgo_map_step(map, &place, &key, &value)) {
    rc = find_below(f, &value, path, TVMGO_STEP_KEY, &key, met);
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
  }
  return rc;
}

static int find_in_fields(finder* f, TVMFFIObject* obj, tvmgo_access_path* path, int64_t met) {
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, 0);
  int rc = 0;
  for (const TVMFFIFieldInfo* field; rc == 0 && (field = tvmgo_field_next(&w)) != NULL;) {
    TVMFFIAny value, name = tvmgo_any_none();
    rc = tvmgo_field_get(f->op, obj, field, &value);
    if (rc == 0) rc = tvmgo_string_make(field->name.data, field->name.size, &name);
    if (rc == 0) rc = find_below(f, &value, path, TVMGO_STEP_FIELD, &name, met);
    tvmgo_any_clear(&name);
    tvmgo_any_clear(&value);
  }
  return rc;
}

static int64_t count(TVMFFIObject* list) { return tvmgo_seq_cell(list)->size; }

/* Objects of types without metadata have no parts and are no part of a pattern. */
static int find_in_object(finder* f, TVMFFIObject* obj, tvmgo_access_path* path, int64_t met) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  if (info == NULL || info->metadata == NULL) return 0;
  TVMFFIAny found = tvmgo_any_object(path);
  int64_t before = count(f->found);
  const TVMFFIAny* wanted = tvmgo_seq_cell(f->wanted)->data;
  if (met < count(f->wanted) && wanted[met].v_obj == obj && ++met == count(f->wanted))
    return append(f->found, &found);
  int rc = find_in_fields(f, obj, path, met);
  if (rc != 0 || !f->takes_prefix || met == 0 || path->depth == 0 || count(f->found) > before)
    return rc;
  return append(f->found, &found);
}

static int find_in(finder* f, const TVMFFIAny* v, tvmgo_access_path* path, int64_t met) {
  if (tvmgo_level_enter(f->op, &f->level) != 0) return -1;
  int rc;
  switch (v->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: rc = find_in_seq(f, v->v_obj, path, met); break;
    case kTVMFFIMap:
    case kTVMFFIDict: rc = find_in_map(f, v->v_obj, path, met); break;
    default: rc = find_in_object(f, v->v_obj, path, met); break;
  }
  f->level--;
  return rc;
}

/* The reversed pattern; code that rethrows may have added an object twice. */
static TVMFFIObject* wanted_of(const visit_context* c) {
  TVMFFIObject* wanted = tvmgo_list_new(NULL, 0);
  for (int64_t i = c->pattern == NULL ? 0 : count(c->pattern); wanted != NULL && i-- > 0;) {
    const TVMFFIAny* node = (const TVMFFIAny*)tvmgo_seq_cell(c->pattern)->data + i;
    const TVMFFISeqCell* cell = tvmgo_seq_cell(wanted);
    if (!tvmgo_any_is_object(node)) continue;
    if (cell->size > 0 && ((const TVMFFIAny*)cell->data)[cell->size - 1].v_obj == node->v_obj)
      continue;
    if (append(wanted, node) == 0) continue;
    tvmgo_object_release(wanted);
    wanted = NULL;
  }
  return wanted;
}

static int paths_along(const char* name, const TVMFFIAny* root, const visit_context* c, int prefix,
                       TVMFFIAny* result) {
  finder f = {.op = name, .takes_prefix = prefix, .wanted = wanted_of(c)};
  f.found = tvmgo_list_new(NULL, 0);
  tvmgo_access_path* path = tvmgo_access_path_root();
  int rc = f.wanted == NULL || f.found == NULL || path == NULL ? -1 : 0;
  if (rc == 0 && root->type_index != kTVMFFINone) rc = find_in_object(&f, root->v_obj, path, 0);
  if (rc == 0) {
    const TVMFFISeqCell* found = tvmgo_seq_cell(f.found);
    rc = tvmgo_give_new(tvmgo_array_new(found->data, found->size), result);
  }
  tvmgo_object_release(path);
  tvmgo_object_release(f.found);
  tvmgo_object_release(f.wanted);
  return rc;
}

static int find_paths(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void* context;
  int64_t prefix;
  TVMFFIAny root;
  if (tvmgo_check_count(name, n, 3, 3) != 0 ||
      tvmgo_arg_object(name, args, 1, context_type, &context) != 0 ||
      tvmgo_arg_int(name, args, 2, &prefix) != 0 || TVMFFIAnyViewToOwnedAny(&args[0], &root) != 0)
    return -1;
  int rc;
  if (root.type_index != kTVMFFINone && !tvmgo_any_is_object(&root))
    rc = tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument 0 must be an object, got %s", name,
                     tvmgo_type_name(root.type_index));
  else
    rc = paths_along(name, &root, context, prefix != 0, result);
  tvmgo_any_clear(&root);
  return rc;
}

TVMGO_REFLECT_VISIT_CONTEXT(TVMGO_BUILTIN_DEFINE)

void tvmgo_register_visit_context(void) {
#define OBJECT "{\"type\":\"ffi.Object\"}"
  static const tvmgo_record_field fields[] = {
      {"reverse_visit_pattern", "{\"type\":\"ffi.List\",\"args\":[" OBJECT "]}", NULL, kTVMFFIList,
       8, 24, 0, NULL},
      {"prev_error_context", "{\"type\":\"Optional\",\"args\":[" OBJECT "]}", NULL, kTVMFFIAny, 8,
       32, 0, NULL},
      {0},
  };
  const tvmgo_record_description d = {"ffi.VisitErrorContext", kTVMFFIObject, sizeof(visit_context),
                                      kTVMFFISEqHashKindUnsupported, 1, make_context, fields, NULL};
  context_type = tvmgo_record_describe(&d);
  TVMGO_REFLECT_VISIT_CONTEXT(TVMGO_BUILTIN_REGISTER)
}
