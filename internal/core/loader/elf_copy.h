/* Opening a file as a private copy: no other user of the path shares its memory, and the copy's
 * symbol table already holds our addresses, so that ld.so itself binds it, whatever the file was
 * linked with (-z now, -fno-plt, constructors that call us). */
#pragma once

#include "loader/elf_check.h"

typedef struct {
  int fd;         /* keeps a memory file, and with it its path, in existence; -1 = none */
  int is_file;    /* a temporary file: unlink path once it is open */
  char path[256]; /* what to give to dlopen */
} tvmgo_elf_copy;

/* Makes the copy. in_memory: a memory file, else a temporary file in $TMPDIR or /tmp. Changes the
 * tables that elf holds; the sites stay good. */
int tvmgo_elf_copy_make(tvmgo_elf* elf, int in_memory, tvmgo_elf_copy* out);

/* Gives a memory file another path, when ld.so takes the present one for a library of before. */
int tvmgo_elf_copy_rename(tvmgo_elf_copy* copy);

/* Once the copy is open, or has failed to. */
void tvmgo_elf_copy_opened(tvmgo_elf_copy* copy);
void tvmgo_elf_copy_close(tvmgo_elf_copy* copy);

/* elf_origin.c: a copy is not in the folder of its original. Opens what only $ORIGIN finds, into
 * handles[0..*n), which the caller closes also after an error. */
int tvmgo_elf_open_origin(const tvmgo_elf* elf, const char* path, void*** handles, size_t* n);
