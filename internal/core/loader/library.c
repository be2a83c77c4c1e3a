/* Library modules: the functions of a shared library, and loading one with the modules in its blob. */
#include "loader/loader.h"
#include "object/name_list.h"

#include <stdlib.h>
#include <string.h>

#define MODERN_PREFIX "__tvm_ffi_"
#define CLASSIC_ENTRY "__tvm_main__"

/* Addresses found before, by name: a second look-up does not search the file. */
typedef struct symbol {
  struct symbol* next;
  void* address;
  uint32_t hash;
  uint32_t len;
  int is_packed;
  char name[];
} symbol;

enum { NUM_BUCKETS = 32 };
struct tvmgo_symbol_cache {
  symbol* buckets[NUM_BUCKETS];
};

static uint32_t hash_name(const char* s, size_t n) {
  uint64_t h = n;
  for (; n >= 8; s += 8, n -= 8) {
    uint64_t w;
    memcpy(&w, s, 8);
    h = (h ^ w) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
  }
  uint64_t w = 0;
  memcpy(&w, s, n);
  h = (h ^ w) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(h >> 32);
}

/* Address of prefix + name when the file defines it; functions only. */
static void* prefixed(const tvmgo_image* image, const char* prefix, const char* name, size_t len) {
  char buf[256];
  char* whole = buf;
  size_t plen = strlen(prefix);
  if (len > 4096) return NULL;
  if (plen + len + 1 > sizeof buf) {
    whole = malloc(plen + len + 1);
    if (whole == NULL) return NULL;
  }
  memcpy(whole, prefix, plen);
  memcpy(whole + plen, name, len);
  whole[plen + len] = 0;
  int type = 0;
  void* p = tvmgo_image_symbol(image, whole, plen + len, &type);
  if (whole != buf) free(whole);
  return p != NULL && (type == 2 /* STT_FUNC */ || type == 0) ? p : NULL;
}

/* Names that a classic file exports without meaning them as functions to call. */
static int is_private_name(const char* name, size_t len) {
  return (len >= 2 && name[0] == '_' && name[1] == '_') ||
         (len == 5 && (memcmp(name, "_init", 5) == 0 || memcmp(name, "_fini", 5) == 0));
}

static void* find_symbol(const tvmgo_image* image, const char* name, size_t len, int* is_packed) {
  *is_packed = 0;
  if (len == 0 || memchr(name, 0, len) != NULL) return NULL;
  int entry = len == sizeof CLASSIC_ENTRY - 1 && memcmp(name, CLASSIC_ENTRY, len) == 0;
  if (image->generation != TVMGO_GENERATION_CLASSIC) {
    void* p = entry ? prefixed(image, MODERN_PREFIX, "main", 4)
                    : prefixed(image, MODERN_PREFIX, name, len);
    if (p != NULL || image->generation == TVMGO_GENERATION_MODERN) return p;
  }
  *is_packed = 1;
  if (entry) { /* LLVM: text that names the function. C: the function itself */
    int type = 0;
    const char* text = tvmgo_image_symbol(image, name, len, &type);
    if (text == NULL || type == 2) return (void*)text;
    size_t room = tvmgo_image_extent(image, text), n = strnlen(text, room);
    return n == 0 || n == room ? NULL : prefixed(image, "", text, n);
  }
  return is_private_name(name, len) ? NULL : prefixed(image, "", name, len);
}

static symbol* cached(const struct tvmgo_symbol_cache* c, const char* name, size_t len,
                      uint32_t hash) {
  symbol* s = c == NULL ? NULL : c->buckets[hash % NUM_BUCKETS];
  while (s != NULL && !(s->hash == hash && s->len == len && memcmp(s->name, name, len) == 0))
    s = s->next;
  return s;
}

/* Caches what was found. If memory is exhausted, the next call searches again. */
static void keep(tvmgo_module* m, const char* name, size_t len, uint32_t hash, void* address,
                 int is_packed) {
  symbol* s = malloc(sizeof *s + len);
  struct tvmgo_symbol_cache* fresh = calloc(1, sizeof *fresh);
  if (s != NULL && fresh != NULL) {
    *s = (symbol){NULL, address, hash, (uint32_t)len, is_packed};
    memcpy(s->name, name, len);
    tvmgo_spin_lock(&m->lock);
    if (m->functions == NULL) m->functions = fresh, fresh = NULL;
    if (cached(m->functions, name, len, hash) == NULL) {
      s->next = m->functions->buckets[hash % NUM_BUCKETS];
      m->functions->buckets[hash % NUM_BUCKETS] = s;
      s = NULL;
    }
    tvmgo_spin_unlock(&m->lock);
  }
  free(s);
  free(fresh);
}

static int get_function(tvmgo_module* m, const char* name, size_t len, TVMFFIObject** out) {
  uint32_t hash = hash_name(name, len);
  void* address = NULL;
  int is_packed = 0;
  tvmgo_spin_lock(&m->lock);
  symbol* s = cached(m->functions, name, len, hash);
  if (s != NULL) address = s->address, is_packed = s->is_packed;
  tvmgo_spin_unlock(&m->lock);
  if (address == NULL) {
    address = find_symbol(m->image, name, len, &is_packed);
    if (address == NULL) return 0;
    keep(m, name, len, hash, address, is_packed);
  }
  *out = is_packed ? (TVMFFIObject*)tvmgo_function_of_packed((TVMBackendPackedCFunc)address, &m->header)
                   : (TVMFFIObject*)tvmgo_function_of_safe_call((TVMFFISafeCallType)address, &m->header);
  return *out == NULL ? -1 : 0;
}

static int implements(tvmgo_module* m, const char* name, size_t len) {
  int is_packed;
  return find_symbol(m->image, name, len, &is_packed) != NULL;
}

/* A producer's function must return text; anything else is an error of the function. */
static int metadata(tvmgo_module* m, const char* name, size_t len, int doc, TVMFFIAny* out) {
  const char* prefix = doc ? "__tvm_ffi__doc_" : "__tvm_ffi__metadata_";
  *out = tvmgo_any_none();
  void* p = memchr(name, 0, len) == NULL ? prefixed(m->image, prefix, name, len) : NULL;
  if (p == NULL) return 0;
  TVMFFIAny text = tvmgo_any_none();
  int rc = ((TVMFFISafeCallType)p)(NULL, NULL, 0, &text);
  if (rc != 0) {
    const tvmgo_thread* t = tvmgo_thread_get();
    if (rc == -2 || t->error != NULL || t->python_error != NULL) return rc == -2 ? rc : -1;
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s%.*s of %s returned %d without setting an error",
                       prefix, (int)len, name, m->image->name, rc);
  }
  if (text.type_index == kTVMFFIRawStr && text.v_c_str != NULL)
    return TVMFFIAnyViewToOwnedAny(&text, out);
  if (text.type_index == kTVMFFIStr || text.type_index == kTVMFFISmallStr) {
    *out = text;
    return 0;
  }
  const char* type = tvmgo_type_name(text.type_index);
  tvmgo_any_clear(&text);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s%.*s of %s returned %s instead of a text", prefix,
                     (int)len, name, m->image->name, type);
}

/* ---- names ---- */

typedef struct {
  const tvmgo_image* image;
  tvmgo_name_list names;
} listing;

static int starts_with(const char* s, const char* prefix) {
  return strncmp(s, prefix, strlen(prefix)) == 0;
}

static int add_name(void* ctx, const char* name, int type, void* address) {
  listing* l = ctx;
  if (type != 2) return 0;
  int modern = starts_with(name, MODERN_PREFIX);
  if (modern) {
    if (name[sizeof MODERN_PREFIX - 1] == '_') return 0; /* metadata, docs */
    name += sizeof MODERN_PREFIX - 1;
  } else if (l->image->generation == TVMGO_GENERATION_MODERN ||
             is_private_name(name, strlen(name))) {
    return 0;
  }
  return tvmgo_name_list_add(&l->names, name);
}

static int function_names(tvmgo_module* m, TVMFFIObject** out) {
  listing l = {m->image, {0}};
  *out = NULL;
  if (tvmgo_image_each(m->image, add_name, &l) != 0) {
    free(l.names.items);
    return -1;
  }
  *out = tvmgo_name_list_take(&l.names);
  return *out == NULL ? -1 : 0;
}

static int save_bytes(tvmgo_module* m, TVMFFIAny* out) {
  return tvmgo_image_file_bytes(m->image, out);
}

static const tvmgo_module_class library_class = {
    .kind = "library",
    .property_mask = TVMGO_MODULE_SERIALIZABLE | TVMGO_MODULE_RUNNABLE,
    .get_function = get_function,
    .implements = implements,
    .metadata = metadata,
    .function_names = function_names,
    .save_bytes = save_bytes,
};

/* ---- the context slot ---- */

static void** context_slot(const tvmgo_image* image) {
  const char* name = image->generation == TVMGO_GENERATION_CLASSIC ? "__tvm_module_ctx"
                                                                   : "__tvm_ffi__library_ctx";
  return tvmgo_image_slot(image, name, strlen(name));
}

void tvmgo_module_bind_context(tvmgo_module* m) {
  if (m->image == NULL) return;
  void** slot = context_slot(m->image);
  if (slot != NULL) __atomic_store_n(slot, (void*)m, __ATOMIC_RELEASE);
}

void tvmgo_library_forget(tvmgo_module* m) {
  if (m->cls == &library_class && m->image != NULL) {
    void** slot = context_slot(m->image);
    void* mine = m;
    if (slot != NULL)
      __atomic_compare_exchange_n(slot, &mine, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
  struct tvmgo_symbol_cache* c = m->functions;
  for (int i = 0; c != NULL && i < NUM_BUCKETS; i++)
    for (symbol *s = c->buckets[i], *next; s != NULL; s = next) {
      next = s->next;
      free(s);
    }
  free(c);
}

/* ---- loading ---- */

/* Go: reads the blob and builds the modules it lists; *root is owned. Absent in programs that link
 * the core alone. */
__attribute__((weak)) int tvmgoLoadBlob(tvmgo_module* library, void* blob, size_t extent, int legacy,
                                        tvmgo_module** root);

int tvmgo_blob_load(tvmgo_module* library, void* blob, size_t extent, int legacy,
                    tvmgo_module** root) {
  if (tvmgoLoadBlob == NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "the file carries other modules in a blob, which this build of the core "
                       "cannot read: link the whole library");
  if (tvmgo_enter_go("reading the modules that the file carries") != 0) return -1;
  return tvmgoLoadBlob(library, blob, extent, legacy, root);
}

static int load_blob(tvmgo_module* library, tvmgo_module** out) {
  const tvmgo_image* image = library->image;
  int legacy = image->generation == TVMGO_GENERATION_CLASSIC;
  const char* name = legacy ? "__tvm_dev_mblob" : "__tvm_ffi__library_bin";
  void* blob = tvmgo_image_symbol(image, name, strlen(name), NULL);
  if (blob == NULL) {
    tvmgo_module_bind_context(library);
    tvmgo_object_retain(library);
    *out = library;
    return 0;
  }
  return tvmgo_blob_load(library, blob, tvmgo_image_extent(image, blob), legacy, out);
}

/* The module of a library's own functions. Owned. */
static int open_library(const char* path, const void* bytes, size_t nbytes, unsigned flags,
                        tvmgo_module** out) {
  tvmgo_image* image = NULL;
  if (tvmgo_image_open(path, bytes, nbytes, flags, &image) != 0) return -1;
  if (image->generation == TVMGO_GENERATION_V21) {
    tvmgo_object_release(image);
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: it was exported by TVM v0.21, whose calling convention no other "
                       "version shares: export it again with v0.20 or older, or v0.22 or newer",
                       path);
  }
  tvmgo_context_symbols_fill(image);
  *out = tvmgo_module_new(&library_class, library_class.kind, library_class.property_mask, NULL);
  if (*out == NULL) {
    tvmgo_object_release(image);
    return -1;
  }
  (*out)->image = image;
  return 0;
}

int tvmgo_module_load(const char* path, const void* bytes, size_t nbytes, unsigned flags,
                      tvmgo_module** out) {
  tvmgo_module* library = NULL;
  *out = NULL;
  if (tvmgo_check_path("load module", path) != 0) return -1;
  if (open_library(path, bytes, nbytes, flags, &library) != 0) return -1;
  int rc = load_blob(library, out);
  tvmgo_object_release(library);
  if (rc != 0) return tvmgo_raise_context("load %s", path);
  return 0;
}

int tvmgo_module_load_carried(const void* bytes, size_t nbytes, tvmgo_module** out) {
  *out = NULL;
  if (open_library("a library inside of a file", bytes, nbytes, 0, out) != 0) return -1;
  tvmgo_module_bind_context(*out);
  return 0;
}
