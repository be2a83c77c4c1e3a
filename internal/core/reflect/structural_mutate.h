/* Rebuilds a value by structure (ffi.StructuralMap, ffi.StructuralMutate).
 *
 * A mutation of a value returns its replacement, or kTVMFFIUnchanged to keep the value. Shared objects are never
 * changed, but replaced by copies. A value without other owners may be changed in place, if everything on the way to it
 * from the root may (TVMGO_IN_PLACE).
 *
 * A mutator is an object that C++ code can call and derive from too. The functions of its table return the same, or an
 * owned Error. */
#pragma once

#include "reflect/structural.h"

typedef struct tvmgo_mutator tvmgo_mutator;
typedef TVMFFIAny (*tvmgo_mutate_call)(tvmgo_mutator* m, TVMFFIAny value);

typedef struct {
  tvmgo_mutate_call mutate, mutate_in_place;
  /* The replacement of a variable, or None; and: sets the replacement (returns None). */
  tvmgo_mutate_call remap_get;
  TVMFFIAny (*remap_set)(tvmgo_mutator* m, TVMFFIAny variable, TVMFFIAny mapped);
} tvmgo_mutator_table;

struct tvmgo_mutator {
  TVMFFIObject header;
  const tvmgo_mutator_table* table;
  int32_t region; /* TVMFFIDefRegionKind */
};

typedef enum { TVMGO_COPY, TVMGO_IN_PLACE } tvmgo_mutate_mode; /* the numbers of callbacks */

/* Values are borrowed and without views of text; *out is owned, and None when -1 is returned. */

/* Mutates through the table. mode is what the caller is allowed to do. */
int tvmgo_mutate(tvmgo_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode, TVMFFIAny* out);
/* What the value's type registers for its parts, or its reflected fields; the mode is settled. An
 * error names the value in its context. */
int tvmgo_mutate_parts(tvmgo_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode,
                       TVMFFIAny* out);
int tvmgo_mutate_remap_get(tvmgo_mutator* m, const TVMFFIAny* variable, TVMFFIAny* mapped);
int tvmgo_mutate_remap_set(tvmgo_mutator* m, const TVMFFIAny* variable, const TVMFFIAny* mapped);

/* Converts a result to a return code, and back. */
int tvmgo_mutate_take(TVMFFIAny answer, TVMFFIAny* out);
TVMFFIAny tvmgo_mutate_give(int rc, TVMFFIAny out);

static inline TVMFFIAny tvmgo_unchanged(void) {
  return (TVMFFIAny){.type_index = kTVMFFIUnchanged};
}
static inline int tvmgo_is_unchanged(const TVMFFIAny* v) {
  return v->type_index == kTVMFFIUnchanged;
}
/* The same object, or the same bits. */
static inline int tvmgo_is_same(const TVMFFIAny* a, const TVMFFIAny* b) {
  return a->type_index == b->type_index && a->zero_padding == b->zero_padding &&
         a->v_uint64 == b->v_uint64;
}
/* An object to which only the caller has a reference. */
static inline int tvmgo_is_unique(const TVMFFIAny* v) {
  return tvmgo_any_is_object(v) &&
         __atomic_load_n(&v->v_obj->combined_ref_count, __ATOMIC_ACQUIRE) == TVMGO_REF_UNIQUE;
}

/* structural_mutate_parts.c: __s_mutate__ and __s_maybe_inplace_mutate__ of our types. */
void tvmgo_register_mutate_attributes(void);
