/* Where in a value a visit or a mutation failed (ffi.VisitErrorContext): the objects on the way,
 * which errors carry as their extra_context, and the access paths that lead along them. */
#pragma once

#include "reflect/reflect.h"

/* Names a value in the raised error, after those that were named before; only objects are named. If memory is
 * exhausted, the error is left unchanged. */
void tvmgo_visit_context_add(const TVMFFIAny* node);

/* The type and its function; by tvmgo_register_structural_types. */
void tvmgo_register_visit_context(void);
