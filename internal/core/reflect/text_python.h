/* Literals of Python. */
#pragma once

#include "object/text.h"

/* Strings and bytes in double quotes with escapes for all that is
 * not printable ASCII. v is a BigInt; raises MemoryError. */
void tvmgo_text_python_string(tvmgo_text* t, TVMFFIByteArray s);
void tvmgo_text_python_bytes(tvmgo_text* t, TVMFFIByteArray b);
int tvmgo_text_big_int(tvmgo_text* t, const TVMFFIAny* v);
