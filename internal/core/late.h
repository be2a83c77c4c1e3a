/* Built-ins that are registered when they are first used: those about targets. Until then a process has
 * neither their names nor their types, as without this library, and another library may bring its own. */
#ifndef TVMGO_LATE_H_
#define TVMGO_LATE_H_

#include "core.h"

/* Declares a built-in whose name begins with TVMGO_LATE_PREFIX. Called by constructors. */
#define TVMGO_LATE_PREFIX "target."
void tvmgo_late_builtin(const char* name, TVMFFISafeCallType entry, int flag);
int tvmgo_late_declared(const char* name, size_t len);

/* Registers all of them, once: types, then functions. What another library has registered by then is left
 * as it is, which one line on stderr says. */
void tvmgo_late_use(void);

/* Uses them if this is the name of one, and none was used before: 1 when it is worth looking again. */
int tvmgo_late_find(const char* name, size_t len);

/* target.c: registers the types; -1 with an error raised when another library has described them, or
 * memory is out. */
int tvmgo_register_target_types(void);
int tvmgo_is_target_type_key(const TVMFFIByteArray* key);

#endif
