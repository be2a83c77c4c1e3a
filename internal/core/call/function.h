/* Function objects and the table of global functions. */
#pragma once

#include "object/object.h"
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

/* Object behind every function that we make. cell.safe_call is a trampoline that reads the rest. */
typedef struct {
  TVMFFIObject header;
  TVMFFIFunctionCell cell;
  void* entry;   /* TVMFFISafeCallType, TVMBackendPackedCFunc or TVMPackedCFunc */
  void* self;    /* first argument of a safe call; resource handle of a classic callback */
  void (*deleter)(void* self);
  TVMFFIObject* owner; /* kept alive by this function: its module; may be NULL */
} tvmgo_function;

/* A function of a loaded library: keeps owner alive. entry is a safe call (self = NULL). */
tvmgo_function* tvmgo_function_of_safe_call(TVMFFISafeCallType entry, TVMFFIObject* owner);
/* The same for a classic 6-argument function. */
tvmgo_function* tvmgo_function_of_packed(TVMBackendPackedCFunc entry, TVMFFIObject* owner);
/* Wraps a classic C callback; fin(self) runs when the last reference goes. */
tvmgo_function* tvmgo_function_of_callback(TVMPackedCFunc entry, void* self,
                                           TVMPackedCFuncFinalizer fin);

static inline TVMFFIFunctionCell* tvmgo_function_cell(void* f) {
  return (TVMFFIFunctionCell*)((TVMFFIObject*)f + 1);
}

/* f (consumed), or, when f is a library function kept alive by owner, one that does not keep it:
 * what owner itself may hold without holding itself. NULL with an error raised. */
TVMFFIObject* tvmgo_function_without_owner(TVMFFIObject* f, TVMFFIObject* owner);

/* Calls f; result must be None beforehand. */
static inline int tvmgo_function_call(void* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return tvmgo_function_cell(f)->safe_call(f, args, n, result);
}

/* Under this lock the table is read and changed; at_fork.c takes it. */
extern tvmgo_spin tvmgo_global_lock;

/* The table of global functions. Names are any bytes; get is owned or NULL. */
enum {
  TVMGO_GLOBAL_OVERRIDES = 1, /* replaces a function of this name, which is an error otherwise */
  TVMGO_GLOBAL_BUILTIN = 2    /* described by tvmgo_builtin_metadata */
};
int tvmgo_global_set(const char* name, size_t len, TVMFFIObject* f, int flags);
/* Makes the function of a name one that tvmgo_builtin_metadata describes, if it has no metadata. */
void tvmgo_global_describe(const char* name, size_t len);
TVMFFIObject* tvmgo_global_get(const char* name, size_t len);
int tvmgo_global_remove(const char* name, size_t len); /* 1 when there was one */
/* JSON that came with a function, or describes a built-in; "" when there is none: 1 with *out owned, 0 without such a
 * function. */
int tvmgo_global_metadata(const char* name, size_t len, TVMFFIAny* out);
/* Array of Str with every name, sorted; owned. */
TVMFFIObject* tvmgo_global_names(void);
/* Registers a built-in written in C; called by constructors, so it aborts on failure. */
void tvmgo_global_builtin(const char* name, TVMFFISafeCallType entry);
void tvmgo_global_builtin_flag(const char* name, TVMFFISafeCallType entry, int flag);

/* The same for later: -1 with an error raised when the name is taken, or memory is out. */
int tvmgo_global_builtin_add(const char* name, TVMFFISafeCallType entry, int flag);

/* What the entry of a built-in gets as its self. Before that each argument was checked with
 * tvmgo_check_value: no object is NULL or of another type than it says, no text is malformed. */
typedef struct {
  const char* name; /* that was called */
  TVMFFISafeCallType entry;
  int flag;
} tvmgo_builtin;

/* A function of ours under a name (copied) for its errors; owned, NULL with an error raised. */
TVMFFIObject* tvmgo_builtin_new(const char* name, TVMFFISafeCallType entry, int flag);
