/* Modules: a kind, functions by name, imports. Library modules are made here; other kinds give a
 * table of functions. */
#pragma once

#include "loader/image.h"
#include "object/thread.h"

typedef struct tvmgo_module tvmgo_module;

/* Property bits of a module (docs/abi.md B.7). */
enum { TVMGO_MODULE_SERIALIZABLE = 1, TVMGO_MODULE_RUNNABLE = 2, TVMGO_MODULE_EXPORTABLE = 4 };

/* The operations of a module kind. NULL means "not supported". All may be called from any thread. */
typedef struct {
  const char* kind; /* NULL: taken from the module */
  int property_mask;
  /* Owned function, or *out = NULL when there is none of this name (no error). */
  int (*get_function)(tvmgo_module* m, const char* name, size_t len, TVMFFIObject** out);
  int (*implements)(tvmgo_module* m, const char* name, size_t len); /* NULL: calls get_function */
  /* Owned text, or None when there is none. */
  int (*metadata)(tvmgo_module* m, const char* name, size_t len, int doc, TVMFFIAny* out);
  int (*function_names)(tvmgo_module* m, TVMFFIObject** out); /* Array of Str, owned */
  int (*write_formats)(tvmgo_module* m, TVMFFIObject** out);  /* Array of Str, owned */
  int (*source)(tvmgo_module* m, const char* format, TVMFFIAny* out);
  int (*save_bytes)(tvmgo_module* m, TVMFFIAny* out);
  int (*write_file)(tvmgo_module* m, const char* path, const char* format);
  void (*imports_changed)(tvmgo_module* m); /* after each change, under no lock */
  void (*destroy)(void* self);
} tvmgo_module_class;

struct tvmgo_module {
  TVMFFIObject header;
  TVMFFIObject* imports;         /* Array of Module, never NULL; changes under lock, or is replaced */
  TVMFFIObject* lookup_cache;    /* Map, never NULL: part of the layout in the C++ headers */
  const tvmgo_module_class* cls;
  char* kind;
  int property_mask;
  _Atomic int is_imported;       /* whether any module has ever imported it */
  void* self;                    /* of the class */
  tvmgo_image* image;            /* library modules and holders of views */
  tvmgo_spin lock;               /* guards imports, env and functions */
  struct tvmgo_env_entry* env;   /* functions handed to generated code: name -> function */
  struct tvmgo_symbol_cache* functions;
};

/* Makes a module of a kind, owned; destroy gets self when the module is freed. NULL with an error raised: destroy was
 * not called. */
tvmgo_module* tvmgo_module_new(const tvmgo_module_class* cls, const char* kind, int property_mask,
                               void* self);

/* Loads a library file, or bytes: root module of its import tree, owned. */
int tvmgo_module_load(const char* path, const void* bytes, size_t nbytes, unsigned flags,
                      tvmgo_module** out);

/* Loads a library that another file contains, owned. The modules in its own blob are ignored: the import tree of that
 * file has its imports. */
int tvmgo_module_load_carried(const void* bytes, size_t nbytes, tvmgo_module** out);

/* Why a file cannot be opened for reading: an errno, or 0. image.c */
int tvmgo_unreadable(const char* name);

/* Loads a file of any registered format; "" or NULL selects the format by the suffix. flags are TVMGO_IMAGE_*, for
 * shared libraries. Owned. builtins_module.c */
int tvmgo_load_from_file(const char* path, const char* format, unsigned flags, tvmgo_module** out);

/* Calls visit(ctx, m) for root and everything it imports, each module once, depth first, until it
 * returns non-zero, which is the result; -1 also when memory is out. module_walk.c */
int tvmgo_module_walk(tvmgo_module* root, int (*visit)(void* ctx, tvmgo_module* m), void* ctx);

/* The lists of imports that a walk has read. They keep their modules alive. */
typedef struct {
  TVMFFIObject** lists; /* owned */
  size_t count, capacity;
} tvmgo_walked;

/* The same for a caller that holds a lock. It releases the lists (owned) after the lock, because that may free
 * modules. */
int tvmgo_module_walk_keep(tvmgo_module* root, int (*visit)(void* ctx, tvmgo_module* m), void* ctx, tvmgo_walked* out);
void tvmgo_walked_release(tvmgo_walked* w);

/* Replaces the imports by an Array of Module (consumed) that is known to hold no cycle. */
void tvmgo_module_set_imports(tvmgo_module* m, TVMFFIObject* imports);

/* Whether an object of type Module was made by tvmgo_module_new: others have their own layout. */
int tvmgo_module_is_ours(const void* object);
/* A handle that must be a module of ours; raises an error "op: what must be ...". */
int tvmgo_module_need(const void* handle, const char* op, const char* what);

/* Searches m's own functions first, then, with query_imports, its imports depth first. *out = NULL when absent. */
int tvmgo_module_get_function(tvmgo_module* m, const char* name, size_t len, int query_imports,
                              TVMFFIObject** out);
/* Whether m itself has a function of this name. */
int tvmgo_module_implements(tvmgo_module* m, const char* name, size_t len);
/* Metadata (or doc) of the function that a look-up through the imports finds: an owned text, or None
 * when there is none. */
int tvmgo_module_describe(tvmgo_module* m, const char* name, size_t len, int doc, TVMFFIAny* out);
int tvmgo_module_import(tvmgo_module* m, tvmgo_module* dep);
int tvmgo_module_clear_imports(tvmgo_module* m);
/* Array of Module, owned: a snapshot. */
TVMFFIObject* tvmgo_module_imports(tvmgo_module* m);
int tvmgo_module_function_names(tvmgo_module* m, TVMFFIObject** out);
/* The function names of a module and of all its imports, sorted, each once. */
int tvmgo_module_all_function_names(tvmgo_module* m, TVMFFIObject** out);

/* Borrowed function for generated code: imports, then globals; cached while m lives. */
int tvmgo_module_env_lookup(tvmgo_module* m, const char* name, TVMFFIObject** out);

/* Writes m into the context slot of its library. */
void tvmgo_module_bind_context(tvmgo_module* m);

/* Clears the context slot and the cached addresses of a library module. library.c */
void tvmgo_library_forget(tvmgo_module* m);

/* Builds the modules of a blob at `blob`, of which extent bytes may be read; library stands for its
 * "_lib" entry. *root is owned. library.c */
int tvmgo_blob_load(tvmgo_module* library, void* blob, size_t extent, int legacy,
                    tvmgo_module** root);

/* Bytes from p to the end of the file-backed part of the loaded object that contains it; else 0. */
size_t tvmgo_address_extent(const void* p);

/* Process-wide singleton per prefix, over symbols registered by linked-in code; owned. */
int tvmgo_module_system_lib(const char* prefix, size_t len, tvmgo_module** out);
