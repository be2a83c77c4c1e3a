/* ffi.Module* and runtime.Module*: modules through the table of global functions, both generations. */
#include "call/builtin.h"
#include "loader/kinds.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int arg_module(const char* f, const TVMFFIAny* args, int32_t i, tvmgo_module** out) {
  char what[32];
  if (tvmgo_arg_object(f, args, i, kTVMFFIModule, (void**)out) != 0) return -1;
  if (TVMGO_LIKELY(tvmgo_module_is_ours(*out))) return 0; /* without the text: making it takes a third of a lookup */
  snprintf(what, sizeof what, "argument %d", (int)i);
  return tvmgo_module_need(*out, f, what);
}

/* NUL-terminated copy of a text argument; the caller frees it. */
static int arg_cstr(const char* f, const TVMFFIAny* args, int32_t i, char** out) {
  TVMFFIByteArray t;
  if (tvmgo_arg_text(f, args, i, &t) != 0) return -1;
  if (memchr(t.data, 0, t.size) != NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument %d has a NUL inside", f, (int)i);
  *out = strndup(t.data, t.size);
  return *out == NULL ? tvmgo_raise_oom() : 0;
}

/* Distinguishes files by suffix, as TVM does: dll, dylib and dso are shared libraries too; any other suffix needs a
 * registered loader. */
int tvmgo_load_from_file(const char* path, const char* format, unsigned flags, tvmgo_module** out) {
  if (strlen(path) > 0 && tvmgo_check_path("load module", path) != 0) return -1;
  int why;
  const char* dot = strrchr(path, '.');
  if (dot != NULL && strchr(dot, '/') != NULL) dot = NULL; /* of a directory, not of the file */
  const char* fmt = format != NULL && format[0] != 0 ? format : dot == NULL ? "" : dot + 1;
  if (fmt[0] == 0 && path[0] != 0 && (why = tvmgo_unreadable(path)) != 0)
    return tvmgo_raise_system(why, TVMGO_VALUE_ERROR, "load %s: %s, and the name has no suffix: check the path", path,
                              why == ENOENT ? "no such file" : strerror(why));
  if (fmt[0] == 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "load %s: the file has no suffix: rename it, as in model.so, or give the format, for example "
                       "\"so\"",
                       path);
  if (strcmp(fmt, "so") == 0 || strcmp(fmt, "dll") == 0 || strcmp(fmt, "dylib") == 0 ||
      strcmp(fmt, "dso") == 0)
    return tvmgo_module_load(path, NULL, 0, flags, out);
  static const char* const tables[] = {"ffi.Module.load_from_file.", "runtime.module.loadfile_"};
  for (int i = 0; i < 2; i++) {
    char name[128];
    if (strlen(tables[i]) + strlen(fmt) >= sizeof name) continue;
    strcpy(name, tables[i]);
    strcat(name, fmt);
    TVMFFIObject* loader = tvmgo_global_get(name, strlen(name));
    if (loader == NULL) continue;
    if (tvmgo_trust_is_needed() && !tvmgo_global_is_builtin(name, strlen(name)) &&
        !tvmgo_kind_is_builtin(name, strlen(name))) {
      tvmgo_object_release(loader);
      return tvmgo_raise(TVMGO_UNTRUSTED_ERROR,
                         "load %s: the program's own loader %s opens it, so that its signature cannot be checked: put "
                         "its module into a shared library (.so), and sign that",
                         path, name);
    }
    TVMFFIAny args[2] = {{0}}, result = tvmgo_any_none();
    args[0].type_index = args[1].type_index = kTVMFFIRawStr;
    args[0].v_c_str = path;
    args[1].v_c_str = fmt;
    int rc = tvmgo_function_call(loader, args, 2, &result);
    tvmgo_object_release(loader);
    if (rc != 0) return rc;
    if (result.type_index != kTVMFFIModule || !tvmgo_module_is_ours(result.v_obj)) {
      int32_t got = result.type_index;
      tvmgo_any_clear(&result);
      return tvmgo_raise(TVMGO_TYPE_ERROR, "load %s: %s returned no module of this runtime, but %s",
                         path, name, got == kTVMFFIModule ? "another's" : tvmgo_type_name(got));
    }
    *out = (tvmgo_module*)result.v_obj;
    return 0;
  }
  why = tvmgo_unreadable(path);
  return tvmgo_raise_system(why, TVMGO_NOT_FOUND_ERROR,
                            "load %s: %s%sno loader for files of format \"%.99s\": register "
                            "\"ffi.Module.load_from_file.%.99s\", or link the device that brings it",
                            path, why == 0 ? "" : why == ENOENT ? "no such file" : strerror(why),
                            why == 0 ? "" : ", and ", fmt, fmt);
}

TVMGO_BUILTIN(load_file) {
  char *path = NULL, *fmt = NULL;
  tvmgo_module* m = NULL;
  int rc = tvmgo_check_count(f, n, 1, 2);
  if (rc == 0) rc = arg_cstr(f, args, 0, &path);
  if (rc == 0 && n == 2) rc = arg_cstr(f, args, 1, &fmt);
  if (rc == 0) rc = tvmgo_load_from_file(path, fmt, 0, &m);
  if (rc == 0) *result = tvmgo_any_object(m);
  free(path);
  free(fmt);
  return rc;
}

TVMGO_BUILTIN(load_so) {
  char* path = NULL;
  tvmgo_module* m = NULL;
  int rc = tvmgo_check_count(f, n, 1, 2);
  if (rc == 0) rc = arg_cstr(f, args, 0, &path);
  if (rc == 0) rc = tvmgo_module_load(path, NULL, 0, 0, &m);
  if (rc == 0) *result = tvmgo_any_object(m);
  free(path);
  return rc;
}

/* Libraries inside libraries: only in blobs of v0.22 and newer, where payloads have lengths. */
TVMGO_BUILTIN(load_library) {
  TVMFFIByteArray bytes;
  tvmgo_module* m = NULL;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_text(f, args, 0, &bytes) != 0 ||
      tvmgo_module_load_carried(bytes.size == 0 ? "" : bytes.data, bytes.size, &m) != 0)
    return -1;
  *result = tvmgo_any_object(m);
  return 0;
}

/* (module, name[, query_imports]) */
static int module_and_name(const char* f, const TVMFFIAny* args, int32_t n, tvmgo_module** m,
                           TVMFFIByteArray* name, int64_t* query) {
  *query = 0;
  if (tvmgo_check_count(f, n, 2, 3) != 0 || arg_module(f, args, 0, m) != 0 ||
      tvmgo_arg_text(f, args, 1, name) != 0)
    return -1;
  return n == 3 ? tvmgo_arg_int(f, args, 2, query) : 0;
}

TVMGO_BUILTIN(get_function) {
  tvmgo_module* m;
  TVMFFIByteArray name;
  int64_t query;
  TVMFFIObject* found;
  if (module_and_name(f, args, n, &m, &name, &query) != 0 ||
      tvmgo_module_get_function(m, name.data, name.size, query != 0, &found) != 0)
    return -1;
  *result = tvmgo_any_object(found);
  return 0;
}

static int implements_in(void* ctx, tvmgo_module* m) {
  const TVMFFIByteArray* name = ctx;
  return tvmgo_module_implements(m, name->data, name->size);
}

TVMGO_BUILTIN(implements_function) {
  tvmgo_module* m;
  int64_t query;
  TVMFFIByteArray name;
  if (module_and_name(f, args, n, &m, &name, &query) != 0) return -1;
  int found = query ? tvmgo_module_walk(m, implements_in, &name) : implements_in(&name, m);
  if (found < 0) return -1;
  *result = tvmgo_any_bool(found);
  return 0;
}

typedef struct {
  TVMFFIByteArray name;
  int doc;
  TVMFFIAny* out;
} metadata_query;

static int metadata_in(void* ctx, tvmgo_module* m) {
  metadata_query* q = ctx;
  if (m->cls->metadata == NULL) return 0;
  if (m->cls->metadata(m, q->name.data, q->name.size, q->doc, q->out) != 0) return -1;
  return q->out->type_index != kTVMFFINone;
}

static int function_metadata(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_module* m;
  int64_t query;
  const tvmgo_builtin* b = self;
  metadata_query q = {{NULL, 0}, b->flag, result};
  if (module_and_name(b->name, args, n, &m, &q.name, &query) != 0)
    return -1;
  return (query ? tvmgo_module_walk(m, metadata_in, &q) : metadata_in(&q, m)) < 0 ? -1 : 0;
}

TVMGO_BUILTIN(get_kind) {
  tvmgo_module* m;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || arg_module(f, args, 0, &m) != 0) return -1;
  return tvmgo_string_make(m->kind, strlen(m->kind), result);
}

/* (module[, with those of imports]): an Array of Str, sorted. */
TVMGO_BUILTIN(list_functions) {
  tvmgo_module* m;
  int64_t query = 0;
  TVMFFIObject* names = NULL;
  if (tvmgo_check_count(f, n, 1, 2) != 0 || arg_module(f, args, 0, &m) != 0 ||
      (n == 2 && tvmgo_arg_int(f, args, 1, &query) != 0) ||
      (query ? tvmgo_module_all_function_names : tvmgo_module_function_names)(m, &names) != 0)
    return -1;
  *result = tvmgo_any_object(names);
  return 0;
}

TVMGO_BUILTIN(property_mask) {
  tvmgo_module* m;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || arg_module(f, args, 0, &m) != 0) return -1;
  *result = tvmgo_any_int(m->property_mask);
  return 0;
}

static int not_supported(const tvmgo_module* m, const char* what) {
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "a module of kind \"%s\" cannot %s", m->kind, what);
}

TVMGO_BUILTIN(inspect_source) {
  tvmgo_module* m;
  char* format = NULL;
  if (tvmgo_check_count(f, n, 1, 2) != 0 || arg_module(f, args, 0, &m) != 0 ||
      (n == 2 && arg_cstr(f, args, 1, &format) != 0))
    return -1;
  int rc = m->cls->source != NULL ? m->cls->source(m, format == NULL ? "" : format, result)
                                  : not_supported(m, "show its source");
  free(format);
  return rc;
}

TVMGO_BUILTIN(write_formats) {
  tvmgo_module* m;
  TVMFFIObject* formats = NULL;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || arg_module(f, args, 0, &m) != 0) return -1;
  if (m->cls->write_formats != NULL) {
    if (m->cls->write_formats(m, &formats) != 0) return -1;
  } else if ((formats = tvmgo_array_new(NULL, 0)) == NULL) {
    return -1;
  }
  *result = tvmgo_any_object(formats);
  return 0;
}

/* runtime.ModuleGetFormat: the first of the formats, "" when there is none. */
TVMGO_BUILTIN(get_format) {
  if (write_formats_body(f, args, n, result) != 0) return -1;
  TVMFFIObject* formats = result->v_obj;
  TVMFFISeqCell* seq = tvmgo_seq_cell(formats);
  *result = tvmgo_any_none();
  int rc = seq->size > 0 ? TVMFFIAnyViewToOwnedAny(seq->data, result)
                         : tvmgo_string_make("", 0, result);
  tvmgo_object_release(formats);
  return rc;
}

TVMGO_BUILTIN(write_file) {
  tvmgo_module* m;
  char *path = NULL, *format = NULL;
  int rc = tvmgo_check_count(f, n, 2, 3);
  if (rc == 0) rc = arg_module(f, args, 0, &m);
  if (rc == 0) rc = arg_cstr(f, args, 1, &path);
  if (rc == 0 && n == 3) rc = arg_cstr(f, args, 2, &format);
  if (rc == 0)
    rc = m->cls->write_file != NULL ? m->cls->write_file(m, path, format == NULL ? "" : format)
                                    : not_supported(m, "be saved to a file");
  free(path);
  free(format);
  return rc;
}

TVMGO_BUILTIN(import_module) {
  tvmgo_module *m, *dep;
  if (tvmgo_check_count(f, n, 2, 2) != 0 || arg_module(f, args, 0, &m) != 0 ||
      arg_module(f, args, 1, &dep) != 0)
    return -1;
  return tvmgo_module_import(m, dep);
}

TVMGO_BUILTIN(clear_imports) {
  tvmgo_module* m;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || arg_module(f, args, 0, &m) != 0) return -1;
  return tvmgo_module_clear_imports(m);
}

TVMGO_BUILTIN(imports_size) {
  tvmgo_module* m;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || arg_module(f, args, 0, &m) != 0) return -1;
  TVMFFIObject* imports = tvmgo_module_imports(m);
  *result = tvmgo_any_int(tvmgo_seq_cell(imports)->size);
  tvmgo_object_release(imports);
  return 0;
}

TVMGO_BUILTIN(get_import) {
  tvmgo_module* m;
  int64_t i;
  if (tvmgo_check_count(f, n, 2, 2) != 0 || arg_module(f, args, 0, &m) != 0 ||
      tvmgo_arg_int(f, args, 1, &i) != 0)
    return -1;
  TVMFFIObject* imports = tvmgo_module_imports(m);
  TVMFFISeqCell* seq = tvmgo_seq_cell(imports);
  int rc = i >= 0 && i < seq->size
               ? TVMFFIAnyViewToOwnedAny((TVMFFIAny*)seq->data + i, result)
               : tvmgo_raise(TVMGO_INDEX_ERROR, "%s: index %lld, but the module has %lld imports", f,
                             (long long)i, (long long)seq->size);
  tvmgo_object_release(imports);
  return rc;
}

/* Kept alive by the process until removed: modules whose functions outlive their handles. */
static TVMFFIObject* kept; /* Map from the module to itself, under tvmgo_kept_lock */
pthread_mutex_t tvmgo_kept_lock = PTHREAD_MUTEX_INITIALIZER;

static int globals_change(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_builtin* b = self;
  const char* f = b->name;
  int add = b->flag;
  tvmgo_module* m;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || arg_module(f, args, 0, &m) != 0) return -1;
  TVMFFIObject* fresh = tvmgo_map_new(kTVMFFIMap);
  if (fresh == NULL) return -1;
  int rc = 0;
  pthread_mutex_lock(&tvmgo_kept_lock);
  TVMFFIObject* old = kept;
  void* cursor = NULL;
  const TVMFFIAny *key, *value;
  while (old != NULL && rc == 0 && tvmgo_map_next(old, &cursor, &key, &value))
    if (key->v_obj != &m->header) rc = tvmgo_map_set(&fresh, key, value);
  TVMFFIAny item = tvmgo_any_object(m);
  if (rc == 0 && add) rc = tvmgo_map_set(&fresh, &item, &item);
  if (rc == 0) kept = fresh, fresh = old;
  pthread_mutex_unlock(&tvmgo_kept_lock);
  tvmgo_object_release(fresh); /* the map that is not needed, outside of the lock */
  return rc;
}

TVMGO_BUILTIN(system_lib) {
  TVMFFIByteArray prefix = {"", 0};
  tvmgo_module* m;
  if (tvmgo_check_count(f, n, 0, 1) != 0 || (n == 1 && tvmgo_arg_text(f, args, 0, &prefix) != 0) ||
      tvmgo_module_system_lib(prefix.data, prefix.size, &m) != 0)
    return -1;
  *result = tvmgo_any_object(m);
  return 0;
}

__attribute__((constructor(110))) static void register_builtins(void) {
  static const struct {
    const char* name;
    TVMFFISafeCallType entry;
  } table[] = {
      {"ffi.ModuleLoadFromFile", load_file},
      {"ffi.Module.load_from_file.so", load_so},
      {"ffi.Module.load_from_bytes.library", load_library},
      {"ffi.ModuleGetFunction", get_function},
      {"ffi.ModuleImplementsFunction", implements_function},
      {"ffi.ModuleListFunctions", list_functions},
      {"ffi.ModuleGetKind", get_kind},
      {"ffi.ModuleGetPropertyMask", property_mask},
      {"ffi.ModuleInspectSource", inspect_source},
      {"ffi.ModuleGetWriteFormats", write_formats},
      {"ffi.ModuleWriteToFile", write_file},
      {"ffi.ModuleImportModule", import_module},
      {"ffi.ModuleClearImports", clear_imports},
      {"ffi.SystemLib", system_lib},
      {"runtime.ModuleLoadFromFile", load_file},
      {"runtime.module.loadfile_so", load_so},
      {"runtime.ModuleGetFunction", get_function},
      {"runtime.ModuleImplementsFunction", implements_function},
      {"runtime.ModuleListFunctions", list_functions},
      {"runtime.ModuleGetTypeKey", get_kind},
      {"runtime.ModuleGetPropertyMask", property_mask},
      {"runtime.ModuleGetSource", inspect_source},
      {"runtime.ModuleGetFormat", get_format},
      {"runtime.ModuleSaveToFile", write_file},
      {"runtime.ModuleImport", import_module},
      {"runtime.ModuleClearImports", clear_imports},
      {"runtime.ModuleImportsSize", imports_size},
      {"runtime.ModuleGetImport", get_import},
      {"runtime.SystemLib", system_lib},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    tvmgo_global_builtin(table[i].name, table[i].entry);
  tvmgo_global_builtin_flag("ffi.ModuleGetFunctionMetadata", function_metadata, 0);
  tvmgo_global_builtin_flag("ffi.ModuleGetFunctionDoc", function_metadata, 1);
  tvmgo_global_builtin_flag("ffi.ModuleGlobalsAdd", globals_change, 1);
  tvmgo_global_builtin_flag("ffi.ModuleGlobalsRemove", globals_change, 0);
}
