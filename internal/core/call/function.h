/* Function objects and the table of global functions. */
#pragma once

#include "object/object.h"
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

/* The object of every function that this library makes. cell.safe_call is a trampoline that reads the rest. It passes
 * on what the function gave, right or wrong, as TVMFFIFunctionCall does. */
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
/* Wraps a classic C callback; fin(self) runs when the last reference is released. */
tvmgo_function* tvmgo_function_of_callback(TVMPackedCFunc entry, void* self,
                                           TVMPackedCFuncFinalizer fin);

static inline TVMFFIFunctionCell* tvmgo_function_cell(void* f) {
  return (TVMFFIFunctionCell*)((TVMFFIObject*)f + 1);
}

/* Returns f (consumed), or, if f is a library function that keeps owner alive, a function that does not: owner can hold
 * that one without a reference cycle. NULL with an error raised. */
TVMFFIObject* tvmgo_function_without_owner(TVMFFIObject* f, TVMFFIObject* owner);

/* The self argument of a function that TVMFFIFunctionCreate made for this entry; NULL for any other. */
void* tvmgo_function_self_of(TVMFFIObject* f, TVMFFISafeCallType entry);

/* Calls f, a Function, for code of this library that uses the result. A result that is wrong for the ABI is an error,
 * every failure leaves an error, also that of a function that raised none, and an error that f handled is dropped.
 * *result must be None before the call. */
int tvmgo_function_call(void* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);

/* Makes the functions that are created from now on check the arguments and results of all their calls, also of those
 * from C. Called at the start of the program for TVMGO_VALIDATE=1. */
void tvmgo_function_validate(void);

/* Guards the table; at_fork.c takes it. */
extern tvmgo_spin tvmgo_global_lock;

/* The table of global functions. Names are any bytes; get is owned or NULL. */
enum {
  TVMGO_GLOBAL_OVERRIDES = 1, /* replaces a function of this name; without it that is an error */
  TVMGO_GLOBAL_BUILTIN = 2    /* described by tvmgo_builtin_metadata */
};
int tvmgo_global_set(const char* name, size_t len, TVMFFIObject* f, int flags);
/* Makes tvmgo_builtin_metadata describe the function of this name, if it has no metadata. */
void tvmgo_global_describe(const char* name, size_t len);
/* Whether the function of this name is one of ours. */
int tvmgo_global_is_builtin(const char* name, size_t len);
TVMFFIObject* tvmgo_global_get(const char* name, size_t len);
int tvmgo_global_remove(const char* name, size_t len); /* 1 when there was one */
/* The JSON metadata of a function, "" if it has none: 1 with *out owned, 0 if there is no such function. */
int tvmgo_global_metadata(const char* name, size_t len, TVMFFIAny* out);
/* Array of Str with every name, sorted; owned. */
TVMFFIObject* tvmgo_global_names(void);
/* Registers a built-in written in C; called by constructors, so it aborts on failure. */
void tvmgo_global_builtin(const char* name, TVMFFISafeCallType entry);
void tvmgo_global_builtin_flag(const char* name, TVMFFISafeCallType entry, int flag);

/* The same after start-up: -1 with an error raised if the name is taken or memory is exhausted. */
int tvmgo_global_builtin_add(const char* name, TVMFFISafeCallType entry, int flag);

/* The self argument of the entry of a built-in. The caller has checked each argument with tvmgo_check_value: every
 * object exists and has the type that its value states, and every text is well formed. */
typedef struct {
  const char* name; /* that was called */
  TVMFFISafeCallType entry;
  int flag;
} tvmgo_builtin;

/* The built-in behind a function; NULL if it is another function. It lives as long as the function. A caller that has
 * checked the arguments calls its entry with it as self, and tvmgo_builtin_end if tvmgo_errors_raised has changed. */
const tvmgo_builtin* tvmgo_builtin_of(TVMFFIObject* function);
/* Ends the call of an entry as tvmgo_function_call does, and returns what that returns. before: tvmgo_errors_raised
 * before the call. */
int tvmgo_builtin_end(int rc, TVMFFIAny* result, uint32_t before);

/* A new function with a name (copied) for its errors; owned, NULL with an error raised. */
TVMFFIObject* tvmgo_builtin_new(const char* name, TVMFFISafeCallType entry, int flag);
