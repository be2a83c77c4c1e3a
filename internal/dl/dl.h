/* Opening a vendor's library when one of its functions is first called. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

typedef struct {
  const char* name;
  void** slot; /* where the address goes; NULL when the library lacks it */
} tvmgo_dl_symbol;

enum { TVMGO_DL_CLOSED, TVMGO_DL_OPEN, TVMGO_DL_MISSING, TVMGO_DL_FORKED };

typedef struct {
  const char* title;        /* "OpenCL" */
  const char* variable;     /* of the environment: another library to open instead */
  const char* cure;         /* what to do when there is none */
  const char* const* names; /* what to open, the first that can be; NULL-terminated */
  const char* first;        /* the function without which a library is not the right one */
  void (*start)(void);      /* called once when it is open, before anything else of it; NULL for none */
  const tvmgo_dl_symbol* symbols;
  size_t num_symbols;
  _Atomic int state;
  char path[512]; /* of the file, once open */
  char why[512];  /* why it cannot be used */
} tvmgo_dl_library;

/* Opens the library if that has not been tried; not 0 when it can be used. It is never closed. In a child of
 * fork a library that the parent opened cannot be used: the driver's threads are not there. Any thread. */
int tvmgo_dl_open(tvmgo_dl_library* lib);

/* Whether the library, which is open, has a function; older ones lack some. */
int tvmgo_dl_has(const tvmgo_dl_library* lib, const char* name);

/* What a call of a function answers that cannot be called: where the library is open and lacks it, a code of no API,
 * from which tvmgo_dl_lacked tells its name; otherwise `code`, and lib->why says why. */
int tvmgo_dl_lacks(tvmgo_dl_library* lib, const char* name, int code);
/* The function that a code stands for; NULL for codes of the API. */
const char* tvmgo_dl_lacked(const tvmgo_dl_library* lib, int code);

static inline int tvmgo_dl_is_open(tvmgo_dl_library* lib) {
  return atomic_load_explicit(&lib->state, memory_order_acquire) == TVMGO_DL_OPEN;
}

static inline int tvmgo_dl_use(tvmgo_dl_library* lib) {
  return __builtin_expect(tvmgo_dl_is_open(lib), 1) || tvmgo_dl_open(lib);
}

/* Around calls in which a driver may replace signal handlers of the program: the last of nested or concurrent
 * ones puts back those that were in force before the first. signals.c */
void tvmgo_dl_quiet_begin(void);
void tvmgo_dl_quiet_end(void);
void tvmgo_dl_quiet_forked(void); /* in a child of fork */

/* Opens a library of any name. NULL when that fails, with the linker's words in why; else its file in path. */
void* tvmgo_dl_handle(const char* name, char* path, size_t path_size, char* why, size_t why_size);
void* tvmgo_dl_address(void* handle, const char* name); /* NULL when it lacks the symbol */
void tvmgo_dl_drop(void* handle);

extern tvmgo_dl_library tvmgo_dl_cuda;   /* cuda_gen.c */
extern tvmgo_dl_library tvmgo_dl_opencl; /* opencl_gen.c */
extern tvmgo_dl_library tvmgo_dl_vulkan; /* vulkan_gen.c */
