/* Opens a vendor's library when one of its functions is first called. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

typedef struct {
  const char* name;
  void** slot; /* the address of the function; NULL when the library does not have it */
} tvmgo_dl_symbol;

enum { TVMGO_DL_CLOSED, TVMGO_DL_OPEN, TVMGO_DL_MISSING, TVMGO_DL_FORKED };

typedef struct {
  const char* title;        /* "OpenCL" */
  const char* variable;     /* the environment variable that names another library to open */
  const char* cure;         /* advice for a user who does not have the library */
  const char* const* names; /* the names to try in order; NULL-terminated */
  const char* first;        /* a function that every version of the library has */
  void (*start)(void);      /* called once after the library is opened, before all other functions; may be NULL */
  const tvmgo_dl_symbol* symbols;
  size_t num_symbols;
  _Atomic int state;
  char path[512]; /* the path of the open file */
  char why[512];  /* the reason why the library cannot be used */
} tvmgo_dl_library;

/* Opens the library if no call has tried to open it. Returns 1 if the library can be used, otherwise 0. It is never
 * closed. In a child of fork, a library that the parent opened cannot be used, because the child does not have the
 * driver's threads. Thread-safe. */
int tvmgo_dl_open(tvmgo_dl_library* lib);

/* Whether the open library has a function; older versions do not have all functions. */
int tvmgo_dl_has(const tvmgo_dl_library* lib, const char* name);

/* The error code of a call of a function that cannot be called. If the library is open and does not have the function,
 * this is a code that no API uses, for which tvmgo_dl_lacked returns the function's name. Otherwise it is `code`, and
 * lib->why has the reason. */
int tvmgo_dl_lacks(tvmgo_dl_library* lib, const char* name, int code);
/* The name of the function for a code of tvmgo_dl_lacks; NULL for codes of the API. */
const char* tvmgo_dl_lacked(const tvmgo_dl_library* lib, int code);

static inline int tvmgo_dl_is_open(tvmgo_dl_library* lib) {
  return atomic_load_explicit(&lib->state, memory_order_acquire) == TVMGO_DL_OPEN;
}

static inline int tvmgo_dl_use(tvmgo_dl_library* lib) {
  return __builtin_expect(tvmgo_dl_is_open(lib), 1) || tvmgo_dl_open(lib);
}

/* Called before and after calls in which a driver may replace signal handlers of the program. Calls may be nested and
 * concurrent: the last end restores the handlers that the first begin saw. signals.c */
void tvmgo_dl_quiet_begin(void);
void tvmgo_dl_quiet_end(void);
void tvmgo_dl_quiet_forked(void); /* in a child of fork */

/* Opens the library with a name, and writes the path of its file to path. Returns NULL and writes the dynamic linker's
 * error to why if it cannot be opened. */
void* tvmgo_dl_handle(const char* name, char* path, size_t path_size, char* why, size_t why_size);
void* tvmgo_dl_address(void* handle, const char* name); /* NULL if it does not have the symbol */
void tvmgo_dl_drop(void* handle);

extern tvmgo_dl_library tvmgo_dl_cuda;   /* cuda_gen.c */
extern tvmgo_dl_library tvmgo_dl_opencl; /* opencl_gen.c */
extern tvmgo_dl_library tvmgo_dl_vulkan; /* vulkan_gen.c */
