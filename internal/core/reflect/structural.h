/* Values compared by structure: as ffi.RecursiveEq does, but in the way that each type chose
 * (TVMFFISEqHashKind), with a mapping of variables, and tensors by their content.
 *
 * A variable is one that a field with a "Def" flag defines: below such a field two variables with equal fields of their
 * own are then considered the same variable. Any other variable equals only itself, unless map_free_vars is set. */
#pragma once

#include "reflect/access_path.h"

typedef struct {
  int map_free_vars;        /* every variable may be a definition */
  int skip_tensor_content;  /* tensors of one shape and dtype are equal */
} tvmgo_structural_options;

/* Borrowed values without views of text. Where they differ and paths is not NULL, paths has the two
 * places of the first difference (owned), else NULLs. */
int tvmgo_structural_equal(const char* op, const TVMFFIAny* a, const TVMFFIAny* b,
                           tvmgo_structural_options options, int* equal,
                           tvmgo_access_path* paths[2]);
/* Structurally equal values have one hash, under the same options. */
int tvmgo_structural_hash(const char* op, const TVMFFIAny* v, tvmgo_structural_options options,
                          uint64_t* hash);

/* Shared by both. The kind of a type; TVMFFISEqHashKindUnsupported is an error. */
int tvmgo_structural_kind(const char* op, const TVMFFIObject* obj, TVMFFISEqHashKind* kind);
/* The region inside a field, a part of a region. */
TVMFFIDefRegionKind tvmgo_structural_region(TVMFFIDefRegionKind outside, int64_t field_flags);
/* The region in a call of a hook: 0 is the current one. */
TVMFFIDefRegionKind tvmgo_structural_hook_region(TVMFFIDefRegionKind outside, int64_t number);
/* Raises an error for tensors whose content can't be read here. */
int tvmgo_structural_tensor(const char* op, const DLTensor* t, size_t* nbytes);
