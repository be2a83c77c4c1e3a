/* Enumerations as objects (ffi.Enum): a member is one object, known by a number and by a text. */
#pragma once

#include "container/map_internal.h"
#include "record/record.h"

typedef struct {
  TVMFFIObject header;
  int64_t number;
  TVMFFIAny text; /* Str or SmallStr */
} tvmgo_enum;

typedef struct {
  TVMFFIObject header;
  TVMFFIObject *entries, *indexes, *attrs; /* a List and two Dicts */
} tvmgo_enum_state;

int tvmgo_is_enum(int32_t type_index);
int tvmgo_is_int_enum(int32_t type_index);
/* The member of an enumeration with a number or a text, owned. Raises ValueError. */
int tvmgo_enum_find(const char* op, int32_t type_index, const TVMFFIAny* index, TVMFFIAny* member);
