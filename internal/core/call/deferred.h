/* Built-ins that are registered when they are first used: those about targets. Until then the process has neither their
 * names nor their types, and another library may register its own. */
#pragma once

#include "call/call.h"

#include <pthread.h>

/* Held while they are registered; at_fork.c takes it. */
extern pthread_mutex_t tvmgo_deferred_lock;

/* Declares a built-in whose name begins with TVMGO_DEFERRED_PREFIX. Called by constructors. */
#define TVMGO_DEFERRED_PREFIX "target."
void tvmgo_deferred_builtin(const char* name, TVMFFISafeCallType entry, int flag);
int tvmgo_deferred_is_declared(const char* name, size_t len);

/* Declares types. Called by a constructor; d must stay valid. */
typedef struct {
  const char* names;                            /* for messages */
  int (*has_key)(const TVMFFIByteArray* key);   /* whether one of the types has this key */
  int (*register_types)(void); /* -1 with an error raised: another library has described them, or memory is out */
} tvmgo_deferred_types;
void tvmgo_deferred_declare_types(const tvmgo_deferred_types* d);

/* Registers all of them, once: types, then functions. Names and types that another library has registered by then are
 * left unchanged; one line on stderr reports this. */
void tvmgo_deferred_register(void);

/* Registers them if one of them has this name and they are not registered yet: 1 when the caller should look the name
 * up again. */
int tvmgo_deferred_find(const char* name, size_t len);
