/* What else the process has loaded, read before a file is opened. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TVMGO_LOADED_ROOM = 128 };

/* Load addresses of everything the dynamic linker holds. */
typedef struct {
  uintptr_t* bases;
  size_t count, cap;
  int has_peer;  /* another TVM runtime is among them */
  int no_memory;
  uintptr_t room[TVMGO_LOADED_ROOM];
} tvmgo_loaded;

int tvmgo_loaded_look(tvmgo_loaded* loaded);
void tvmgo_loaded_release(tvmgo_loaded* loaded);

/* True if something was already loaded at base: a library that dlopen returns there was opened by somebody else. */
int tvmgo_loaded_holds(const tvmgo_loaded* loaded, uintptr_t base);
