/* Opens a file as a private copy: no other user of the path shares its memory. The copy's symbol table already holds
 * our addresses, so ld.so itself binds it, however the file was linked (-z now, -fno-plt, constructors that call
 * us). */
#pragma once

#include "loader/elf_check.h"

typedef struct {
  int fd;         /* keeps a memory file, and with it its path, in existence; -1 = none */
  int is_file;    /* a temporary file: unlink path once it is open */
  char path[256]; /* the path for dlopen */
} tvmgo_elf_copy;

/* Makes the copy. in_memory: a memory file, else a temporary file in $TMPDIR or /tmp. Changes the tables in elf; its
 * sites remain valid. */
int tvmgo_elf_copy_make(tvmgo_elf* elf, int in_memory, tvmgo_elf_copy* out);

/* Gives a memory file another path, if ld.so takes the present path for a library that was opened earlier. */
int tvmgo_elf_copy_rename(tvmgo_elf_copy* copy);

/* Called once the copy was opened, or could not be. */
void tvmgo_elf_copy_opened(tvmgo_elf_copy* copy);
void tvmgo_elf_copy_close(tvmgo_elf_copy* copy);

/* elf_origin.c: a copy is not in the directory of its original. Opens the dependencies that only $ORIGIN finds, into
 * handles[0..*n); the caller closes them, also after an error. */
int tvmgo_elf_open_origin(const tvmgo_elf* elf, const char* path, void*** handles, size_t* n);

/* elf_origin.c: refuses a file whose signature was checked, if ld.so would open dependencies beside it or below the
 * current folder, which nobody has checked. in_memory as for tvmgo_elf_copy_make. */
int tvmgo_elf_check_beside(const tvmgo_elf* elf, const char* path, int in_memory);
