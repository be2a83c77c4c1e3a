/* JSON texts and values (ffi.json.Parse, ffi.json.Stringify). Objects are Maps with Str keys, arrays
 * are Arrays; a number is an Int when it is written without fraction and exponent and fits 64 bits,
 * else a Float. NaN, Infinity and -Infinity are read and written, as Python does. */
#pragma once

#include "reflect/reflect.h"

/* One value and nothing else; the last of equal keys wins. Raises ValueError with line, column and
 * byte. */
int tvmgo_json_parse(TVMFFIByteArray text, TVMFFIAny* result);
/* On one line when indent is 0, else each element on its own line, behind indent more spaces if that
 * is positive. Raises ValueError for what JSON has no form for, and for an indent above 1000. */
int tvmgo_json_write(const TVMFFIAny* v, int32_t indent, TVMFFIAny* result);
