/* Built-ins that are registered when they are first used: those about targets. Until then a process has
 * neither their names nor their types, as without this library, and another library may bring its own. */
#pragma once

#include "call/call.h"

#include <pthread.h>

/* Held while they are registered; at_fork.c takes it. */
extern pthread_mutex_t tvmgo_deferred_lock;

/* Declares a built-in whose name begins with TVMGO_DEFERRED_PREFIX. Called by constructors. */
#define TVMGO_DEFERRED_PREFIX "target."
void tvmgo_deferred_builtin(const char* name, TVMFFISafeCallType entry, int flag);
int tvmgo_deferred_is_declared(const char* name, size_t len);

/* Declares types. Called by a constructor; d stays where it is. */
typedef struct {
  const char* names;                            /* for messages */
  int (*has_key)(const TVMFFIByteArray* key);   /* whether a key is that of one of them */
  int (*register_types)(void); /* -1 with an error raised: another library has described them, or memory is out */
} tvmgo_deferred_types;
void tvmgo_deferred_declare_types(const tvmgo_deferred_types* d);

/* Registers all of them, once: types, then functions. What another library has registered by then is left
 * as it is, which one line on stderr says. */
void tvmgo_deferred_register(void);

/* Uses them if this is the name of one, and none was used before: 1 when it is worth looking again. */
int tvmgo_deferred_find(const char* name, size_t len);
