/* Places inside values: from the root by fields, elements and keys (ffi.reflection.AccessPath). */
#pragma once

#include "record/record.h"
#include "reflect/recursive.h"

typedef enum {
  TVMGO_STEP_FIELD,
  TVMGO_STEP_ELEMENT,
  TVMGO_STEP_KEY,
  TVMGO_STEP_FIELD_MISSING,
  TVMGO_STEP_ELEMENT_MISSING,
  TVMGO_STEP_KEY_MISSING
} tvmgo_step_kind;

typedef struct {
  TVMFFIObject header;
  int32_t kind; /* tvmgo_step_kind */
  TVMFFIAny key;
} tvmgo_access_step;

typedef struct tvmgo_access_path {
  TVMFFIObject header;
  struct tvmgo_access_path* parent; /* NULL: the root */
  tvmgo_access_step* step;          /* from the parent to here */
  int32_t depth;
} tvmgo_access_path;

/* Owned; NULL with an error raised. key is a view. */
tvmgo_access_step* tvmgo_access_step_new(tvmgo_step_kind kind, const TVMFFIAny* key);
tvmgo_access_path* tvmgo_access_path_root(void);
tvmgo_access_path* tvmgo_access_path_extend(tvmgo_access_path* path, tvmgo_access_step* step);
