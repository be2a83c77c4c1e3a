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
  struct stat file;           /* the file and its state; st_ino 0 for bytes in memory. Kept bytes have numbers
                               * computed from their content */
  int is_open;                /* open and bound: may be shared */
  int is_direct;              /* the file itself, not a copy */
  int is_checked;             /* its signature was checked */
  int is_shareable;           /* keeps no state of a module */
  int is_kept;                /* never closed, and shared by every load: registered functions point into it, and
                               * its constructors must not run twice */

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

/* Makes a mapping that is not in the table and has nothing open. NULL with MemoryError raised. */
tvmgo_mapping* tvmgo_mapping_new(const tvmgo_elf* elf, const struct stat* file);

/* Puts *m into the table, and sets is_direct to 0 if somebody has the file already. Or frees *m, replaces it by an open
 * mapping with an additional reference, and returns 1. Waits if another thread is opening a mapping that is never
 * closed; if that wait cannot end, frees *m and returns -1 with an error raised. */
int tvmgo_mapping_enter(tvmgo_mapping** m, const char* name);

/* Another load may have the file: this one uses a copy. */
void tvmgo_mapping_leave_file(tvmgo_mapping* m);

/* Open and bound: from here on it can be shared. */
void tvmgo_mapping_settle(tvmgo_mapping* m);

/* Releases a reference; the last one closes the file. Its destructors run here, under no lock of ours. */
void tvmgo_mapping_release(tvmgo_mapping* m);

/* Takes an opened handle: fills base, symbols and ranges. 1: ld.so returned a library that is not the checked file. -1:
 * an error was raised. */
int tvmgo_mapping_attach(tvmgo_mapping* m, const tvmgo_elf* elf, void* handle);

/* The range that holds p, or NULL. */
const tvmgo_range* tvmgo_mapping_range(const tvmgo_mapping* m, uintptr_t p);
