/* A file in memory, and the table of those that this library has open.
 *
 * One path is one mapping for ld.so, with one context slot and one set of bound addresses. The table
 * decides who uses the file itself: the first load; later loads share it if the file has no state, or get a separate
 * copy. */
#pragma once

#include <pthread.h>
#include <sys/stat.h>

#include "loader/elf_copy.h"
#include "loader/elf_symbol.h"

typedef struct {
  uintptr_t start, file_end, end;
  int is_writable, is_readable;
} tvmgo_range;

typedef struct tvmgo_mapping {
  struct tvmgo_mapping *prev, *next;
  size_t refs;                /* under the table's lock */
  struct stat file;           /* which file, and which state of it; st_ino 0 for bytes in memory, of which
                               * kept ones have numbers made of their content */
  int is_open;                /* open and bound: may be shared */
  int is_direct;              /* the file itself, not a copy */
  int is_shareable;           /* keeps no state of a module */
  int is_kept;                /* never closed: what it registered points into it, and its constructors
                               * must not run twice; so every load shares it */

  pthread_t opener;           /* the thread that opens it */
  void* handle;               /* of dlopen */
  tvmgo_elf_copy copy;        /* fd -1 unless a memory file is kept */
  void** origin;              /* dependencies opened for a copy */
  size_t num_origin;
  char* base;
  uintptr_t relro, relro_end; /* read-only since it was opened */
  tvmgo_generation generation;
  tvmgo_elf_symbols symbols;
  size_t num_ranges;
  tvmgo_range ranges[];       /* one per PT_LOAD, ascending */
} tvmgo_mapping;

/* Not in the table, nothing open. NULL with MemoryError raised. */
tvmgo_mapping* tvmgo_mapping_new(const tvmgo_elf* elf, const struct stat* file);

/* Puts *m into the table, with is_direct changed to 0 where somebody has the file already; or frees
 * it and puts an open mapping in its place (returns 1), with one reference more. Waits for another
 * thread that is opening a kept one; -1 with an error raised when that cannot end, *m is freed then. */
int tvmgo_mapping_enter(tvmgo_mapping** m, const char* name);

/* Another load may have the file: this one uses a copy. */
void tvmgo_mapping_leave_file(tvmgo_mapping* m);

/* Open and bound: from here on it can be shared. */
void tvmgo_mapping_settle(tvmgo_mapping* m);

/* Gives a reference back; closes with the last one. Destructors of the file run in here, under no
 * lock of ours. */
void tvmgo_mapping_release(tvmgo_mapping* m);

/* Takes an opened handle: fills base, symbols and ranges. 1 = ld.so gave us a library that is not
 * the file we checked; -1 with an error raised. */
int tvmgo_mapping_attach(tvmgo_mapping* m, const tvmgo_elf* elf, void* handle);

/* The range that holds p, or NULL. */
const tvmgo_range* tvmgo_mapping_range(const tvmgo_mapping* m, uintptr_t p);
