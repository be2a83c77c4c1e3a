/* The module kinds that need no device, as global functions: loaders of modules in files, loaders of files by suffix,
 * and the functions that make such modules. They are registered before Go runs; their bodies are in Go
 * (runtime/kindbuiltin.go). */
#include "loader/kinds.h"

#include <stdlib.h>
#include <string.h>

/* Absent in programs that link the core alone. */
__attribute__((weak)) int tvmgoKindCall(int action, const char* subject, const TVMFFIAny* args,
                                        int32_t n, TVMFFIAny* result);

typedef struct {
  int action;
  const char* subject; /* kind or suffix of files */
  const char* name;    /* of the global function */
} kind_builtin;

static const kind_builtin table[] = {
#define KIND(kind)                                                                   \
  {TVMGO_KIND_LOAD_MODERN, kind, "ffi.Module.load_from_bytes." kind},                \
  {TVMGO_KIND_LOAD_LEGACY, kind, "runtime.module.loadbinary_" kind},
#define SUFFIX(suffix)                                                               \
  {TVMGO_KIND_LOAD_FILE, suffix, "ffi.Module.load_from_file." suffix},               \
  {TVMGO_KIND_LOAD_FILE, suffix, "runtime.module.loadfile_" suffix},
#define OLD_KIND(kind) {TVMGO_KIND_LOAD_LEGACY, kind, "runtime.module.loadbinary_" kind},
#define CREATOR(kind, function) {TVMGO_KIND_CREATE, kind, function},
    TVMGO_KINDS(KIND)
    TVMGO_OLD_KINDS(OLD_KIND)
    TVMGO_KIND_SUFFIXES(SUFFIX)
    TVMGO_KIND_CREATORS(CREATOR)
};

static int call_kind(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const kind_builtin* b = &table[((const tvmgo_builtin*)self)->flag];
  if (tvmgoKindCall == NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "%s: this build of the core has no module kinds: link the whole library",
                       b->name);
  if (tvmgo_enter_go("a module kind written in Go") != 0) return -1;
  return tvmgoKindCall(b->action, b->subject, args, n, result);
}

enum { NUM_BUILTINS = sizeof table / sizeof *table };
static TVMFFIObject* functions[NUM_BUILTINS]; /* one reference each, for good */

static int index_of(const char* name, size_t len) {
  for (int i = 0; i < NUM_BUILTINS; i++)
    if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0) return i;
  return -1;
}

int tvmgo_kind_is_builtin(const char* name, size_t len) {
  int i = index_of(name, len);
  if (i < 0) return 0;
  TVMFFIObject* f = tvmgo_global_get(name, len);
  tvmgo_object_release(f);
  return f == functions[i];
}

int tvmgo_kind_restore(const char* name, size_t len) {
  int i = index_of(name, len);
  return i < 0 ? 0 : tvmgo_global_set(name, len, functions[i], TVMGO_GLOBAL_OVERRIDES | TVMGO_GLOBAL_BUILTIN);
}

__attribute__((constructor(110))) static void register_kinds(void) {
  for (int i = 0; i < NUM_BUILTINS; i++) {
    TVMFFIObject* f = tvmgo_builtin_new(table[i].name, call_kind, i);
    if (f == NULL || tvmgo_global_set(table[i].name, strlen(table[i].name), f, TVMGO_GLOBAL_BUILTIN) != 0)
      abort();
    functions[i] = f;
  }
}
