/* Opens a file as a private copy: no other user of the path shares its memory. The copy's symbol table already holds
 * our addresses, so ld.so itself binds it, however the file was linked (-z now, -fno-plt, constructors that call
 * us). */
#pragma once

#include "loader/elf_check.h"

typedef struct {
  int fd;         /* keeps a file without a name, and with it its path, in existence; -1 = none */
  int is_file;    /* a temporary file with a name: unlink path once it is open */
  char path[256]; /* the path for dlopen */
  char why[160];  /* why it could not be made or opened, for messages */
} tvmgo_elf_copy;

/* Where a copy is. The second and the third are in the folder for temporary files, for systems that forbid the first.
 * The third has a name for a moment: it is for systems without /proc, by which ld.so opens the others. Whoever may
 * write to the folder can give that name to another file: a file whose signature was checked never has one. */
typedef enum { TVMGO_COPY_IN_MEMORY, TVMGO_COPY_NAMELESS, TVMGO_COPY_NAMED, TVMGO_COPY_PLACES } tvmgo_copy_place;

/* Makes the copy. Changes the tables in elf; its sites remain valid. 1, with out->why: it cannot be there, and no error
 * is raised. */
int tvmgo_elf_copy_make(tvmgo_elf* elf, tvmgo_copy_place place, tvmgo_elf_copy* out);

/* Raises the error that no place will do, with why[place], "" for those that were not tried. Returns -1. */
int tvmgo_elf_copy_raise(const tvmgo_elf* elf, char why[TVMGO_COPY_PLACES][160]);

/* Gives a memory file another path, if ld.so takes the present path for a library that was opened earlier. */
int tvmgo_elf_copy_rename(tvmgo_elf_copy* copy);

/* Called once the copy was opened, or could not be. */
void tvmgo_elf_copy_opened(tvmgo_elf_copy* copy);
void tvmgo_elf_copy_close(tvmgo_elf_copy* copy);

/* elf_origin.c: a copy is not in the directory of its original. Opens the dependencies that only $ORIGIN finds, into
 * handles[0..*n); the caller closes them, also after an error. */
int tvmgo_elf_open_origin(const tvmgo_elf* elf, const char* path, void*** handles, size_t* n);

/* elf_origin.c: refuses a file whose signature was checked, if ld.so would open dependencies beside it or below the
 * current folder, which nobody has checked. */
int tvmgo_elf_check_beside(const tvmgo_elf* elf, const char* path);
