/* Callbacks by type, as structural visits and mutations get them: Arrays of (type index, Function),
 * or of (type index, Function, flag). */
#pragma once

#include "reflect/reflect.h"

/* Argument i, borrowed, when it is such an Array of entries with size items each. */
int tvmgo_callbacks_arg(const char* op, const TVMFFIAny* args, int32_t i, int64_t size,
                        TVMFFIObject** callbacks);
/* The items of the first entry for a type, borrowed, or NULL. callbacks may be NULL. */
const TVMFFIAny* tvmgo_callbacks_find(TVMFFIObject* callbacks, int32_t type);

/* Calls argument 2, a Function, without arguments while *region is argument 1, except that inside a pattern it stays a
 * pattern. The args were counted. */
int tvmgo_call_in_region(const char* op, const TVMFFIAny* args, int32_t* region, TVMFFIAny* result);
