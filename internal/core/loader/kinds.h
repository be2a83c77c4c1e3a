/* Module kinds whose modules are read and written without a device. */
#pragma once

#include "loader/loader.h"
#include "loader/kinds_gen.h"

/* The operation of a built-in function of a kind. runtime/kindbuiltin.go has the same numbers. */
enum {
  TVMGO_KIND_LOAD_MODERN = 1, /* (bytes): payload of a blob of v0.22 or newer */
  TVMGO_KIND_LOAD_LEGACY,     /* (bytes): payload of a blob of v0.20 or older */
  TVMGO_KIND_LOAD_FILE,       /* (path[, format]) */
  TVMGO_KIND_CREATE           /* the arguments of TVM's function of this name */
};

/* Whether the global function of this name is still ours, and was not replaced. */
int tvmgo_kind_is_builtin(const char* name, size_t len);

/* Restores our loader, whatever is registered; does nothing for other names. */
int tvmgo_kind_restore(const char* name, size_t len);
