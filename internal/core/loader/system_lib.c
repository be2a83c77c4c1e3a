/* The system library: functions linked into the program, which register themselves by name before
 * main, and modules over them. */
#include "loader/loader.h"
#include "object/name_list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct sys_symbol {
  struct sys_symbol* next;
  void* address;
  char name[];
} sys_symbol;

typedef struct sys_module {
  struct sys_module* next;
  tvmgo_module* module;
  char prefix[];
} sys_module;

/* Static initialisers run on one thread, but libraries opened later may register from any. */
pthread_mutex_t tvmgo_system_lib_lock = PTHREAD_MUTEX_INITIALIZER;
static sys_symbol* symbols;
static sys_module* modules; /* live as long as the process */

/* The symbol called lead + prefix + name. */
static void* find(const char* lead, const char* prefix, const char* name, size_t len) {
  size_t llen = strlen(lead), plen = strlen(prefix);
  void* found = NULL;
  pthread_mutex_lock(&tvmgo_system_lib_lock);
  for (sys_symbol* s = symbols; s != NULL && found == NULL; s = s->next)
    if (strncmp(s->name, lead, llen) == 0 && strncmp(s->name + llen, prefix, plen) == 0 &&
        strncmp(s->name + llen + plen, name, len) == 0 && s->name[llen + plen + len] == 0)
      found = s->address;
  pthread_mutex_unlock(&tvmgo_system_lib_lock);
  return found;
}

static int add_symbol(const char* name, void* address) {
  static const char op[] = "register system library symbol";
  if (tvmgo_check_cname(op, "the name", name) != 0) return -1;
  if (address == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s %.99s: the address is NULL", op, name);
  sys_symbol* fresh = malloc(sizeof *fresh + strlen(name) + 1);
  if (fresh == NULL) return tvmgo_raise_oom();
  fresh->address = address;
  strcpy(fresh->name, name);
  pthread_mutex_lock(&tvmgo_system_lib_lock);
  fresh->next = symbols; /* found before an older one with the name: the last registration is used */
  symbols = fresh;
  pthread_mutex_unlock(&tvmgo_system_lib_lock);
  return 0;
}

int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol) {
  return add_symbol(name, symbol);
}

int TVMBackendRegisterSystemLibSymbol(const char* name, void* ptr) { return add_symbol(name, ptr); }

/* Address under the modern spelling, with and without the library's prefix, then the classic one. */
static void* find_function(const char* prefix, const char* name, size_t len, int* is_packed) {
  *is_packed = 0;
  if (memchr(name, 0, len) != NULL) return NULL;
  void* p = find("__tvm_ffi_", prefix, name, len);
  if (p == NULL) p = find("__tvm_ffi_", "", name, len);
  if (p != NULL) return p;
  *is_packed = 1;
  p = find("", prefix, name, len);
  return p != NULL ? p : find("", "", name, len);
}

static int get_function(tvmgo_module* m, const char* name, size_t len, TVMFFIObject** out) {
  int is_packed;
  void* p = find_function(m->self, name, len, &is_packed);
  if (p == NULL) return 0;
  *out = is_packed ? (TVMFFIObject*)tvmgo_function_of_packed((TVMBackendPackedCFunc)p, NULL)
                   : (TVMFFIObject*)tvmgo_function_of_safe_call((TVMFFISafeCallType)p, NULL);
  return *out == NULL ? -1 : 0;
}

/* The argument for find_function: the name without the prefix, for a function that begins with the prefix. NULL for all
 * others. */
static const char* shown_name(const char* symbol, const char* prefix) {
  static const char modern[] = "__tvm_ffi_";
  if (strncmp(symbol, modern, sizeof modern - 1) == 0)
    symbol += sizeof modern - 1;
  else if (symbol[0] == '_' && symbol[1] == '_')
    return NULL; /* slots, blobs */
  size_t n = strlen(prefix);
  return strncmp(symbol, prefix, n) == 0 && symbol[n] != 0 && symbol[0] != '_' ? symbol + n : NULL;
}

static int function_names(tvmgo_module* m, TVMFFIObject** out) {
  tvmgo_name_list names = {0};
  int rc = 0;
  *out = NULL;
  pthread_mutex_lock(&tvmgo_system_lib_lock);
  for (sys_symbol* s = symbols; s != NULL && rc == 0; s = s->next) { /* symbols are never freed */
    const char* name = shown_name(s->name, m->self);
    if (name != NULL) rc = tvmgo_name_list_add(&names, name);
  }
  pthread_mutex_unlock(&tvmgo_system_lib_lock);
  if (rc == 0) *out = tvmgo_name_list_take(&names);
  else free(names.items);
  return *out == NULL ? -1 : 0;
}

static const tvmgo_module_class system_class = {
    .kind = "library",
    .property_mask = TVMGO_MODULE_SERIALIZABLE | TVMGO_MODULE_RUNNABLE,
    .get_function = get_function,
    .function_names = function_names,
};

static sys_module* find_module(const char* prefix, size_t len) {
  for (sys_module* s = modules; s != NULL; s = s->next)
    if (strlen(s->prefix) == len && memcmp(s->prefix, prefix, len) == 0) return s;
  return NULL;
}

/* The context slot is a registered symbol too: generated code finds its imports through it. */
static void bind_context(const char* prefix, tvmgo_module* m) {
  static const char* const names[] = {"__tvm_ffi__library_ctx", "__tvm_module_ctx"};
  for (int i = 0; i < 2; i++) {
    void** slot = find("", prefix, names[i], strlen(names[i]));
    if (slot == NULL) slot = find("", "", names[i], strlen(names[i]));
    if (slot != NULL) __atomic_store_n(slot, (void*)m, __ATOMIC_RELEASE);
  }
}

/* The library itself, or the root of the tree that its blob describes. */
static int load_root(const char* prefix, tvmgo_module* library, tvmgo_module** root) {
  int legacy = 0;
  void* blob = find("", prefix, "__tvm_ffi__library_bin", strlen("__tvm_ffi__library_bin"));
  if (blob == NULL) {
    legacy = 1;
    blob = find("", prefix, "__tvm_dev_mblob", strlen("__tvm_dev_mblob"));
  }
  if (blob == NULL) {
    tvmgo_object_retain(library);
    *root = library;
    return 0;
  }
  if (tvmgo_enter_go("reading the modules that the system library carries") != 0) return -1;
  return tvmgo_blob_load(library, blob, tvmgo_address_extent(blob), legacy, root);
}

int tvmgo_module_system_lib(const char* prefix, size_t len, tvmgo_module** out) {
  *out = NULL;
  if (len > 0) {
    TVMFFIByteArray text = {prefix, len};
    if (tvmgo_check_name("open system library", "the prefix", &text) != 0) return -1;
  }
  pthread_mutex_lock(&tvmgo_system_lib_lock);
  sys_module* known = find_module(prefix, len);
  pthread_mutex_unlock(&tvmgo_system_lib_lock);
  if (known == NULL) {
    sys_module* fresh = malloc(sizeof *fresh + len + 1);
    if (fresh == NULL) return tvmgo_raise_oom();
    memcpy(fresh->prefix, prefix, len);
    fresh->prefix[len] = 0;
    tvmgo_module* library = tvmgo_module_new(&system_class, system_class.kind,
                                             system_class.property_mask, fresh->prefix);
    tvmgo_module* root = NULL;
    if (library == NULL || load_root(fresh->prefix, library, &root) != 0) {
      tvmgo_object_release(library);
      free(fresh);
      return -1;
    }
    tvmgo_object_release(library);
    fresh->module = root;
    pthread_mutex_lock(&tvmgo_system_lib_lock);
    known = find_module(prefix, len);
    if (known == NULL) {
      fresh->next = modules;
      modules = known = fresh;
      fresh = NULL;
    }
    pthread_mutex_unlock(&tvmgo_system_lib_lock);
    if (fresh != NULL) {
      tvmgo_object_release(root);
      free(fresh);
    } else {
      bind_context(known->prefix, library);
    }
  }
  tvmgo_object_retain(known->module);
  *out = known->module;
  return 0;
}
