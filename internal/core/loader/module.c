#include "loader/loader.h"
#include "object/name_list.h"
#include "object/type_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A function handed to generated code, which keeps the bare pointer as long as the module lives. */
struct tvmgo_env_entry {
  struct tvmgo_env_entry* next;
  TVMFFIObject* function;
  char name[];
};

static void module_delete(void* self, int flags) {
  tvmgo_module* m = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    if (m->cls->destroy != NULL) m->cls->destroy(m->self);
    for (struct tvmgo_env_entry *e = m->env, *next; e != NULL; e = next) {
      next = e->next;
      tvmgo_object_release(e->function);
      free(e);
    }
    tvmgo_object_release(m->imports);
    tvmgo_object_release(m->lookup_cache);
    tvmgo_library_forget(m);
    tvmgo_object_release(m->image);
    free(m->kind);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

int tvmgo_module_is_ours(const void* object) {
  return ((const TVMFFIObject*)object)->deleter == module_delete;
}

int tvmgo_module_need(const void* handle, const char* op, const char* what) {
  const TVMFFIObject* obj = handle;
  if (obj == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is a NULL Module: check the call that should have returned it",
                       op, what);
  if (obj->type_index != kTVMFFIModule)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: %s is of type %s, not Module", op, what,
                       tvmgo_type_name(obj->type_index));
  if (tvmgo_module_is_ours(obj)) return 0;
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                     "%s: %s is a Module that another runtime made: load its file with this one", op,
                     what);
}

static void discard(void* self) { (void)self; }
static const tvmgo_module_class unfinished = {.destroy = discard};

tvmgo_module* tvmgo_module_new(const tvmgo_module_class* cls, const char* kind, int property_mask,
                               void* self) {
  tvmgo_module* m = tvmgo_object_new(sizeof *m, kTVMFFIModule, module_delete);
  if (m == NULL) return NULL;
  m->cls = &unfinished;
  m->imports = tvmgo_array_new(NULL, 0);
  m->lookup_cache = tvmgo_map_new(kTVMFFIMap);
  m->kind = strdup(kind);
  if (m->imports == NULL || m->lookup_cache == NULL || m->kind == NULL) {
    tvmgo_object_release(m);
    tvmgo_raise_oom();
    return NULL;
  }
  m->cls = cls;
  m->property_mask = property_mask;
  m->self = self;
  return m;
}

TVMFFIObject* tvmgo_module_imports(tvmgo_module* m) {
  tvmgo_spin_lock(&m->lock);
  TVMFFIObject* imports = m->imports;
  tvmgo_object_retain(imports);
  tvmgo_spin_unlock(&m->lock);
  return imports;
}

static void note_import(tvmgo_module* dep) {
  atomic_store_explicit(&dep->is_imported, 1, memory_order_relaxed);
}

void tvmgo_module_set_imports(tvmgo_module* m, TVMFFIObject* owned) {
  const TVMFFISeqCell* seq = tvmgo_seq_cell(owned);
  for (int64_t i = 0; i < seq->size; i++) {
    const TVMFFIAny* dep = (const TVMFFIAny*)seq->data + i;
    if (dep->type_index == kTVMFFIModule && tvmgo_module_is_ours(dep->v_obj)) note_import((tvmgo_module*)dep->v_obj);
  }
  tvmgo_spin_lock(&m->lock);
  TVMFFIObject* old = m->imports;
  m->imports = owned;
  tvmgo_spin_unlock(&m->lock);
  tvmgo_object_release(old);
}

/* Adds an import in place where no snapshot is alive, so that many imports take linear time. */
static int add_import(tvmgo_module* m, tvmgo_module* dep) {
  TVMFFIAny item = tvmgo_any_object(dep);
  tvmgo_spin_lock(&m->lock);
  int done = tvmgo_array_push_alone(m->imports, &item);
  tvmgo_spin_unlock(&m->lock);
  if (done) {
    note_import(dep);
    return 0;
  }
  TVMFFIObject* longer = tvmgo_array_append(m->imports, &item);
  if (longer == NULL) return -1;
  tvmgo_module_set_imports(m, longer);
  return 0;
}

static int is_target(void* target, tvmgo_module* m) { return m == target; }

pthread_mutex_t tvmgo_import_lock = PTHREAD_MUTEX_INITIALIZER;

int tvmgo_module_import(tvmgo_module* m, tvmgo_module* dep) {
  if (m == dep)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "import module: Cyclic dependency detected during import: module \"%s\" "
                       "imports itself",
                       m->kind);
  TVMFFIObject* earlier = tvmgo_error_take();
  pthread_mutex_lock(&tvmgo_import_lock); /* the check and the change belong together */
  /* A module that was never imported cannot be reached. */
  int was_imported = atomic_load_explicit(&m->is_imported, memory_order_relaxed);
  tvmgo_walked walked = {NULL, 0, 0};
  int found = was_imported ? tvmgo_module_walk_keep(dep, is_target, m, &walked) : 0, rc = 0;
  if (found < 0) {
    rc = -1;
  } else if (found) {
    rc = tvmgo_raise(TVMGO_VALUE_ERROR,
                     "import module: Cyclic dependency detected during import: module \"%s\" "
                     "already imports \"%s\", directly or through others",
                     dep->kind, m->kind);
  } else {
    rc = add_import(m, dep);
  }
  pthread_mutex_unlock(&tvmgo_import_lock);
  tvmgo_walked_release(&walked);
  tvmgo_error_put_back(earlier);
  if (rc == 0 && m->cls->imports_changed != NULL) m->cls->imports_changed(m);
  return rc;
}

int tvmgo_module_clear_imports(tvmgo_module* m) {
  TVMFFIObject* none = tvmgo_array_new(NULL, 0);
  if (none == NULL) return -1;
  pthread_mutex_lock(&tvmgo_import_lock);
  TVMFFIObject* old = tvmgo_module_imports(m);
  tvmgo_module_set_imports(m, none);
  pthread_mutex_unlock(&tvmgo_import_lock);
  tvmgo_object_release(old); /* outside of the lock: modules may die, and a dying one may import */
  if (m->cls->imports_changed != NULL) m->cls->imports_changed(m);
  return 0;
}

typedef struct {
  tvmgo_module* skip; /* already searched */
  const char* name;
  size_t len;
  TVMFFIObject* found;
} lookup;

/* 1 when found, -1 on an error. */
static int lookup_in(void* ctx, tvmgo_module* m) {
  lookup* l = ctx;
  if (m == l->skip || m->cls->get_function == NULL) return 0;
  if (m->cls->get_function(m, l->name, l->len, &l->found) != 0) return -1;
  return l->found != NULL;
}

int tvmgo_module_get_function(tvmgo_module* m, const char* name, size_t len, int query_imports,
                              TVMFFIObject** out) {
  *out = NULL;
  if (m->cls->get_function != NULL && m->cls->get_function(m, name, len, out) != 0) return -1;
  if (*out != NULL || !query_imports) return 0;
  lookup l = {m, name, len, NULL};
  if (tvmgo_module_walk(m, lookup_in, &l) < 0) return -1;
  *out = l.found;
  return 0;
}

int tvmgo_module_implements(tvmgo_module* m, const char* name, size_t len) {
  if (m->cls->implements != NULL) return m->cls->implements(m, name, len);
  TVMFFIObject* f = NULL;
  if (tvmgo_module_get_function(m, name, len, 0, &f) != 0)
    tvmgo_object_release(tvmgo_error_take());
  tvmgo_object_release(f);
  return f != NULL;
}

typedef struct {
  const char* name;
  size_t len;
  int doc;
  TVMFFIAny* out;
} description;

/* Stops at the module at which a look-up of the function would stop. */
static int describe_in(void* ctx, tvmgo_module* m) {
  const description* d = ctx;
  if (m->cls->metadata != NULL && m->cls->metadata(m, d->name, d->len, d->doc, d->out) != 0)
    return -1;
  return d->out->type_index != kTVMFFINone || tvmgo_module_implements(m, d->name, d->len);
}

int tvmgo_module_describe(tvmgo_module* m, const char* name, size_t len, int doc, TVMFFIAny* out) {
  description d = {name, len, doc, out};
  *out = tvmgo_any_none();
  return tvmgo_module_walk(m, describe_in, &d) < 0 ? -1 : 0;
}

int tvmgo_module_function_names(tvmgo_module* m, TVMFFIObject** out) {
  if (m->cls->function_names != NULL) return m->cls->function_names(m, out);
  *out = tvmgo_array_new(NULL, 0);
  return *out == NULL ? -1 : 0;
}

/* The names of a tree, with the objects that own their text. */
typedef struct {
  tvmgo_name_list names;
  TVMFFIObject** lists; /* owned */
  size_t num_lists;
} tree_names;

static int names_in(void* ctx, tvmgo_module* m) {
  tree_names* t = ctx;
  TVMFFIObject** grown = realloc(t->lists, (t->num_lists + 1) * sizeof *grown);
  if (grown == NULL) return tvmgo_raise_oom();
  t->lists = grown;
  TVMFFIObject* list = NULL;
  if (tvmgo_module_function_names(m, &list) != 0) return -1;
  t->lists[t->num_lists++] = list;
  TVMFFISeqCell* seq = tvmgo_seq_cell(list);
  for (int64_t i = 0; i < seq->size; i++) {
    TVMFFIByteArray name;
    if (tvmgo_arg_text("list functions", seq->data, (int32_t)i, &name) != 0 ||
        tvmgo_name_list_add(&t->names, name.data) != 0) /* texts end with a NUL */
      return -1;
  }
  return 0;
}

int tvmgo_module_all_function_names(tvmgo_module* m, TVMFFIObject** out) {
  tree_names t = {{0}, NULL, 0};
  *out = NULL;
  if (tvmgo_module_walk(m, names_in, &t) == 0) *out = tvmgo_name_list_take(&t.names);
  else free(t.names.items);
  for (size_t i = 0; i < t.num_lists; i++) tvmgo_object_release(t.lists[i]);
  free(t.lists);
  return *out == NULL ? -1 : 0;
}

/* ---- look-ups of generated code ---- */

static TVMFFIObject* env_cached(tvmgo_module* m, const char* name) {
  for (struct tvmgo_env_entry* e = m->env; e != NULL; e = e->next)
    if (strcmp(e->name, name) == 0) return e->function;
  return NULL;
}

/* Takes over f. If another thread was first, its function is returned. */
static TVMFFIObject* env_keep(tvmgo_module* m, const char* name, TVMFFIObject* f) {
  struct tvmgo_env_entry* e = malloc(sizeof *e + strlen(name) + 1);
  if (e == NULL) {
    tvmgo_object_release(f);
    tvmgo_raise_oom();
    return NULL;
  }
  strcpy(e->name, name);
  e->function = f;
  tvmgo_spin_lock(&m->lock);
  TVMFFIObject* first = env_cached(m, name);
  if (first == NULL) {
    e->next = m->env;
    m->env = e;
  }
  tvmgo_spin_unlock(&m->lock);
  if (first == NULL) return f;
  tvmgo_object_release(f);
  free(e);
  return first;
}

int tvmgo_module_env_lookup(tvmgo_module* m, const char* name, TVMFFIObject** out) {
  tvmgo_spin_lock(&m->lock);
  *out = env_cached(m, name);
  tvmgo_spin_unlock(&m->lock);
  if (*out != NULL) return 0;
  lookup l = {m, name, strlen(name), NULL}; /* imports only: not m's own functions */
  if (tvmgo_module_walk(m, lookup_in, &l) < 0) return -1;
  TVMFFIObject* f = l.found;
  if (f == NULL) f = tvmgo_global_get(name, l.len);
  if (f == NULL)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "Cannot find function %.999s in the imported modules or global registry. Import "
                       "the module that has it, or register it as a global function",
                       name);
  f = tvmgo_function_without_owner(f, &m->header); /* else m would keep itself alive */
  if (f == NULL) return -1;
  *out = env_keep(m, name, f);
  return *out == NULL ? -1 : 0;
}

static int env_lookup(void* ctx, const char* name, TVMFFIObjectHandle* out) {
  if (out == NULL || name == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "look up function: %s is NULL",
                       name == NULL ? "the name" : "out");
  *out = NULL;
  if (ctx == NULL) { /* no module: only global functions exist */
    TVMFFIObject* f = tvmgo_global_get(name, strlen(name));
    if (f == NULL)
      return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                         "Cannot find function %.999s in the imported modules or global registry.",
                         name);
    *out = f;
    tvmgo_object_release(f); /* borrowed from the table, as this convention wants it */
    return 0;
  }
  if (strnlen(name, TVMGO_MAX_NAME + 1) > TVMGO_MAX_NAME)
    return tvmgo_check_cname("look up function", "the name", name);
  if (tvmgo_module_need(ctx, "look up function", "the context") != 0) return -1;
  return tvmgo_module_env_lookup(ctx, name, (TVMFFIObject**)out);
}

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name,
                                  TVMFFIObjectHandle* out) {
  return env_lookup(library_ctx, func_name, out);
}

int TVMBackendGetFuncFromEnv(void* mod_node, const char* func_name, TVMFunctionHandle* out) {
  return env_lookup(mod_node, func_name, out);
}

/* ---- Attributes of the type ----------------------------------------------------------------- */

/* A snapshot under the module's lock, because imports may be replaced by another thread. */
static int get_imports(void* field, TVMFFIAny* result) {
  tvmgo_module* m = (tvmgo_module*)((char*)field - offsetof(tvmgo_module, imports));
  *result = tvmgo_any_object(tvmgo_module_imports(m));
  return 0;
}

_Static_assert(offsetof(tvmgo_module, imports) == 24, "ffi.Module.imports_");

#define TEXT(s) {s, sizeof s - 1}
static const TVMFFIFieldInfo module_fields[] = {{
    .name = TEXT("imports_"),
    .metadata = TEXT("{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Array\\\","
                     "\\\"args\\\":[{\\\"type\\\":\\\"Any\\\"}]}\"}"),
    .size = 8,
    .alignment = 8,
    .offset = 24,
    .getter = get_imports,
    .field_static_type_index = kTVMFFIArray,
}};
static const TVMFFITypeMetadata module_metadata = {.total_size = 48};

__attribute__((constructor(102))) static void describe_type(void) {
  tvmgo_type_reflect_builtin(kTVMFFIModule, module_fields, 1, &module_metadata);
}
