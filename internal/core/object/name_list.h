/* Lists of names on the way to an Array of Str. */
#pragma once

#include "object/object.h"

typedef struct {
  TVMFFIAny* items; /* borrowed C texts */
  int64_t size, cap;
} tvmgo_name_list;

/* Adds a name, which must live until take. -1 with MemoryError raised. */
int tvmgo_name_list_add(tvmgo_name_list* l, const char* name);
/* The names, sorted, each once, as an Array; owned. NULL with an error raised. The list is freed. */
TVMFFIObject* tvmgo_name_list_take(tvmgo_name_list* l);
