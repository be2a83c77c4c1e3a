/* The table of global functions: a hash table under a spin lock, because a look-up takes a few nanoseconds and must
 * also retain the function. */
#include "call/call.h"
#include "call/builtin.h"
#include "call/deferred.h"
#include "object/usable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  struct entry* next;
  uint64_t hash;
  TVMFFIObject* function;
  TVMFFIObject* metadata; /* Str, or NULL */
  int is_builtin;         /* for which metadata can be written */
  size_t len;
  char name[];
} entry;

tvmgo_spin tvmgo_global_lock;
static entry** buckets; /* count is a power of two */
static size_t num_buckets, num_entries;

static uint64_t hash_name(const char* s, size_t n) {
  uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15);
  while (n >= 8) {
    uint64_t w;
    memcpy(&w, s, 8);
    h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
    s += 8, n -= 8;
  }
  if (n > 0) {
    uint64_t w = 0;
    memcpy(&w, s, n);
    h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
  }
  return h;
}

/* The link that points to the entry, or the NULL link at its position. Under the lock. */
static entry** find(const char* name, size_t len, uint64_t hash) {
  entry** at = &buckets[hash & (num_buckets - 1)];
  while (*at != NULL &&
         !((*at)->hash == hash && (*at)->len == len && memcmp((*at)->name, name, len) == 0))
    at = &(*at)->next;
  return at;
}

static int grow(void) {
  size_t n = num_buckets == 0 ? 256 : num_buckets * 2;
  entry** fresh = calloc(n, sizeof *fresh);
  if (fresh == NULL) return num_buckets == 0 ? -1 : 0;
  for (size_t i = 0; i < num_buckets; i++) {
    for (entry *e = buckets[i], *next; e != NULL; e = next) {
      next = e->next;
      e->next = fresh[e->hash & (n - 1)];
      fresh[e->hash & (n - 1)] = e;
    }
  }
  free(buckets);
  buckets = fresh;
  num_buckets = n;
  return 0;
}

/* As tvmgo_global_set, with metadata (an owned Str object or NULL; consumed). */
static int set_entry(const char* name, size_t len, TVMFFIObject* f, TVMFFIObject* metadata,
                     int flags) {
  entry* fresh = malloc(sizeof *fresh + len + 1);
  if (fresh == NULL) {
    tvmgo_object_release(metadata);
    return tvmgo_raise_oom();
  }
  uint64_t hash = hash_name(name, len);
  *fresh = (entry){.hash = hash, .function = f, .metadata = metadata, .len = len};
  fresh->is_builtin = (flags & TVMGO_GLOBAL_BUILTIN) != 0;
  memcpy(fresh->name, name, len);
  fresh->name[len] = 0;
  tvmgo_object_retain(f);

  TVMFFIObject* unwanted = f; /* released by this call after the lock */
  enum { ADDED, REPLACED, REFUSED, NO_MEMORY } outcome;
  tvmgo_spin_lock(&tvmgo_global_lock);
  if (num_entries >= num_buckets && grow() != 0) {
    outcome = NO_MEMORY;
  } else {
    entry** at = find(name, len, hash);
    if (*at == NULL) {
      *at = fresh;
      num_entries++;
      outcome = ADDED;
    } else if (flags & TVMGO_GLOBAL_OVERRIDES) {
      unwanted = (*at)->function;
      (*at)->function = f;
      fresh->metadata = (*at)->metadata; /* the old one goes with the entry that is not needed */
      (*at)->metadata = metadata;
      (*at)->is_builtin = fresh->is_builtin;
      outcome = REPLACED;
    } else {
      outcome = REFUSED;
    }
  }
  tvmgo_spin_unlock(&tvmgo_global_lock);

  if (outcome == ADDED) return 0;
  tvmgo_object_release(fresh->metadata);
  free(fresh);
  tvmgo_object_release(unwanted);
  if (outcome == NO_MEMORY) return tvmgo_raise_oom();
  if (outcome == REFUSED)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "register global function %.*s: the name is taken already, remove it or "
                       "register with override",
                       tvmgo_quoted(len), name);
  return 0;
}

int tvmgo_global_set(const char* name, size_t len, TVMFFIObject* f, int flags) {
  return set_entry(name, len, f, NULL, flags);
}

void tvmgo_global_describe(const char* name, size_t len) {
  uint64_t hash = hash_name(name, len);
  tvmgo_spin_lock(&tvmgo_global_lock);
  entry* e = num_buckets > 0 ? *find(name, len, hash) : NULL;
  if (e != NULL) e->is_builtin = 1;
  tvmgo_spin_unlock(&tvmgo_global_lock);
}

int tvmgo_global_is_builtin(const char* name, size_t len) {
  uint64_t hash = hash_name(name, len);
  tvmgo_spin_lock(&tvmgo_global_lock);
  entry* e = num_buckets > 0 ? *find(name, len, hash) : NULL;
  int is = e != NULL && e->is_builtin;
  tvmgo_spin_unlock(&tvmgo_global_lock);
  return is;
}

int tvmgo_global_metadata(const char* name, size_t len, TVMFFIAny* out) {
  uint64_t hash = hash_name(name, len);
  int known = 0, is_builtin = 0;
  TVMFFIObject* text = NULL;
  tvmgo_deferred_find(name, len);
  tvmgo_spin_lock(&tvmgo_global_lock);
  if (num_buckets > 0) {
    entry* e = *find(name, len, hash);
    known = e != NULL;
    is_builtin = known && e->is_builtin;
    if (known && e->metadata != NULL) tvmgo_object_retain(text = e->metadata);
  }
  tvmgo_spin_unlock(&tvmgo_global_lock);
  if (!known) return 0;
  if (text == NULL) {
    int rc = is_builtin ? tvmgo_builtin_metadata(name, len, out) : tvmgo_string_make("", 0, out);
    return rc == 0 ? 1 : -1;
  }
  *out = tvmgo_any_object(text);
  return 1;
}

static TVMFFIObject* get(const char* name, size_t len) {
  uint64_t hash = hash_name(name, len);
  TVMFFIObject* f = NULL;
  tvmgo_spin_lock(&tvmgo_global_lock);
  if (num_buckets > 0) {
    entry* e = *find(name, len, hash);
    if (e != NULL) {
      f = e->function;
      tvmgo_object_retain(f);
    }
  }
  tvmgo_spin_unlock(&tvmgo_global_lock);
  return f;
}

TVMFFIObject* tvmgo_global_get(const char* name, size_t len) {
  TVMFFIObject* f = get(name, len);
  return f == NULL && tvmgo_deferred_find(name, len) ? get(name, len) : f;
}

int tvmgo_global_remove(const char* name, size_t len) {
  uint64_t hash = hash_name(name, len);
  entry* gone = NULL;
  tvmgo_deferred_find(name, len); /* because a removed function stays removed */
  tvmgo_spin_lock(&tvmgo_global_lock);
  if (num_buckets > 0) {
    entry** at = find(name, len, hash);
    gone = *at;
    if (gone != NULL) {
      *at = gone->next;
      num_entries--;
    }
  }
  tvmgo_spin_unlock(&tvmgo_global_lock);
  if (gone == NULL) return 0;
  tvmgo_object_release(gone->function);
  tvmgo_object_release(gone->metadata);
  free(gone);
  return 1;
}

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

TVMFFIObject* tvmgo_global_names(void) {
  char** names = NULL;
  size_t cap = 0, n;
  for (;;) { /* copies are made under the lock, the memory for them outside of it */
    size_t bytes = 0;
    char* text = NULL;
    tvmgo_spin_lock(&tvmgo_global_lock);
    n = num_entries;
    for (size_t i = 0; i < num_buckets; i++)
      for (entry* e = buckets[i]; e != NULL; e = e->next) bytes += e->len + 1;
    size_t need = n * sizeof *names + bytes;
    if (need <= cap) {
      text = (char*)(names + n);
      size_t k = 0;
      for (size_t i = 0; i < num_buckets; i++)
        for (entry* e = buckets[i]; e != NULL; e = e->next) {
          memcpy(text, e->name, e->len + 1);
          names[k++] = text;
          text += e->len + 1;
        }
    }
    tvmgo_spin_unlock(&tvmgo_global_lock);
    if (need <= cap) break;
    free(names);
    cap = need + need / 8 + 256;
    names = malloc(cap);
    if (names == NULL) {
      tvmgo_raise_oom();
      return NULL;
    }
  }
  if (n > 0) qsort(names, n, sizeof *names, by_name);
  TVMFFIAny* views = calloc(n + 1, sizeof *views);
  TVMFFIObject* array = NULL;
  if (views == NULL) {
    tvmgo_raise_oom();
  } else {
    for (size_t i = 0; i < n; i++) {
      views[i].type_index = kTVMFFIRawStr;
      views[i].v_c_str = names[i];
    }
    array = tvmgo_array_new(views, (int64_t)n);
  }
  free(views);
  free(names);
  return array;
}

static int builtin_call(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_builtin* b = self;
  if (n < 0 || (args == NULL && n > 0))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %d arguments, but args is %s", b->name, (int)n,
                       n < 0 ? "of a negative length" : "NULL");
  for (int32_t i = 0; i < n; i++)
    if (tvmgo_need_value(&args[i]) != 0)
      return tvmgo_raise_context("%s: argument %d", b->name, (int)i);
  return b->entry(self, args, n, result);
}

const tvmgo_builtin* tvmgo_builtin_of(TVMFFIObject* function) {
  return tvmgo_function_self_of(function, builtin_call);
}

TVMFFIObject* tvmgo_builtin_new(const char* name, TVMFFISafeCallType entry, int flag) {
  TVMFFIObjectHandle f = NULL;
  tvmgo_builtin* b = malloc(sizeof *b + strlen(name) + 1);
  if (b == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  *b = (tvmgo_builtin){strcpy((char*)(b + 1), name), entry, flag};
  if (TVMFFIFunctionCreate(b, builtin_call, free, &f) != 0) free(b);
  return f;
}

int tvmgo_global_builtin_add(const char* name, TVMFFISafeCallType entry, int flag) {
  TVMFFIObject* f = tvmgo_builtin_new(name, entry, flag);
  int rc = f == NULL ? -1 : set_entry(name, strlen(name), f, NULL, TVMGO_GLOBAL_BUILTIN);
  tvmgo_object_release(f);
  return rc;
}

void tvmgo_global_builtin_flag(const char* name, TVMFFISafeCallType entry, int flag) {
  if (tvmgo_global_builtin_add(name, entry, flag) == 0) return;
  fprintf(stderr, "tvmgo: cannot register the built-in %s\n", name);
  abort();
}

void tvmgo_global_builtin(const char* name, TVMFFISafeCallType entry) {
  tvmgo_global_builtin_flag(name, entry, 0);
}

/* Checks the arguments of a registration: a Function, and a name that can be looked up. */
static int check_function(const TVMFFIByteArray* name, const TVMFFIAny* f) {
  static const char op[] = "register global function";
  if (tvmgo_check_usable(op) != 0) return -1;
  if (tvmgo_check_name(op, "the name", name) != 0) return -1;
  if (f->type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s %.*s: the function is %s, not a Function", op,
                       tvmgo_quoted(name->size), name->data, tvmgo_type_name(f->type_index));
  if (tvmgo_check_object(f) != 0)
    return tvmgo_raise_context("%s %.*s: the function", op, tvmgo_quoted(name->size), name->data);
  return 0;
}

int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle f, int allow_override) {
  TVMFFIAny function = tvmgo_any_object(f);
  if (f == NULL && tvmgo_check_name("register global function", "the name", name) == 0)
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "register global function %.*s: the handle is NULL, not a Function",
                       tvmgo_quoted(name->size), name->data);
  if (f == NULL || check_function(name, &function) != 0) return -1;
  return tvmgo_global_set(name->data, name->size, f, allow_override ? TVMGO_GLOBAL_OVERRIDES : 0);
}

/* The JSON as a Str object; NULL when there is none. */
static int metadata_of(const TVMFFIByteArray* text, TVMFFIObject** out) {
  TVMFFIAny v;
  *out = NULL;
  if (text->data == NULL && text->size > 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register global function: the metadata has %zu bytes, but its data is NULL",
                       text->size);
  if (text->size <= 7) return 0; /* too short for metadata */
  if (tvmgo_string_make(text->data, text->size, &v) != 0) return -1;
  *out = v.v_obj;
  return 0;
}

int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* method_info, int allow_override) {
  static const char op[] = "register global function";
  TVMFFIObject* metadata;
  if (method_info == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the method is NULL", op);
  if (check_function(&method_info->name, &method_info->method) != 0) return -1;
  if (metadata_of(&method_info->metadata, &metadata) != 0) return -1;
  return set_entry(method_info->name.data, method_info->name.size, method_info->method.v_obj,
                   metadata, allow_override ? TVMGO_GLOBAL_OVERRIDES : 0);
}

int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out) {
  if (out == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "get global function: out is NULL");
  *out = NULL;
  if (tvmgo_check_usable("get global function") != 0) return -1;
  if (tvmgo_check_name("get global function", "the name", name) != 0) return -1;
  *out = tvmgo_global_get(name->data, name->size);
  return 0;
}

/* ---- Custom dtypes (dtype.c) --------------------------------------------------------------- */

static int call_first(const char* const names[2], const TVMFFIAny* arg, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  for (int i = 0; i < 2; i++) {
    TVMFFIObject* f = tvmgo_global_get(names[i], strlen(names[i]));
    if (f == NULL) continue;
    int rc = tvmgo_function_call(f, arg, 1, result);
    tvmgo_object_release(f);
    return rc == 0 ? 1 : -1;
  }
  return 0;
}

__attribute__((constructor(102))) static void serve_dtypes(void) { tvmgo_dtype_call_first = call_first; }
